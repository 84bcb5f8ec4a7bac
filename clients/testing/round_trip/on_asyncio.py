"""Round trips over the Python client on asyncio."""
import asyncio
import json
import sys
import time

from toolcrib import AsyncToolcrib

binary, config, count = sys.argv[1], sys.argv[2], int(sys.argv[3])


async def median(work):
    times = []
    for _ in range(count + count // 5):
        started = time.perf_counter()
        await work()
        times.append(time.perf_counter() - started)
    return round(sorted(times[count // 5 :])[count // 2] * 1e6, 1)


async def main():
    async with AsyncToolcrib(binary=binary, config=config) as client:
        digest = (await client.assemble_tools(context_length=32_000, wait_ms=20_000)).digest
        assert (await client.assemble_tools(context_length=32_000, known_digest=digest)).unchanged
        print(json.dumps({
            "status": await median(client.status),
            "assembleTools": await median(
                lambda: client.assemble_tools(context_length=32_000, known_digest=digest)
            ),
        }))


asyncio.run(main())
