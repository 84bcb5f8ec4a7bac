"""Round trips over a pipe with nothing between: the measure for all clients."""
import json
import subprocess
import sys
import time

binary, config, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
process = subprocess.Popen([binary, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
ids = 0


def ask(method, params):
    global ids
    ids += 1
    message = {"jsonrpc": "2.0", "id": ids, "method": method, "params": params}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    while True:
        answer = json.loads(process.stdout.readline())
        if answer.get("id") == ids:
            return answer["result"]


def median(work):
    times = []
    for _ in range(count + count // 5):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return round(sorted(times[count // 5 :])[count // 2] * 1e6, 1)


ask("initialize", {"protocolVersion": 1, "config": {"path": config}})
digest = ask("assembleTools", {"contextLength": 32_000, "waitMs": 20_000})["digest"]
unchanged = {"contextLength": 32_000, "knownDigest": digest}
assert ask("assembleTools", unchanged)["unchanged"]
print(json.dumps({
    "status": median(lambda: ask("status", {})),
    "assembleTools": median(lambda: ask("assembleTools", unchanged)),
}))
process.stdin.close()
process.wait()
