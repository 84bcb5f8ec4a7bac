"""Round trips over the Python client that waits."""
import json
import sys
import time

from toolcrib import Toolcrib

binary, config, count = sys.argv[1], sys.argv[2], int(sys.argv[3])


def median(work):
    times = []
    for _ in range(count + count // 5):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return round(sorted(times[count // 5 :])[count // 2] * 1e6, 1)


with Toolcrib(binary=binary, config=config) as client:
    digest = client.assemble_tools(context_length=32_000, wait_ms=20_000).digest
    assert client.assemble_tools(context_length=32_000, known_digest=digest).unchanged
    print(json.dumps({
        "status": median(client.status),
        "assembleTools": median(lambda: client.assemble_tools(context_length=32_000, known_digest=digest)),
    }))
