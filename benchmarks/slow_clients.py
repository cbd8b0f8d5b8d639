"""Clients that send slowly for as long as they like: does the site go on answering?

    python -m benchmarks.slow_clients [--headers 200] [--bodies 16] [--seconds 60]

The connections send a line or a byte every five seconds and are opened anew when they are closed,
while one reader searches once a second. The short form is tests/faults/test_slow_clients.py.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections import Counter

from benchmarks.load import Asker, Read, read, serving
from benchmarks.site import site
from benchmarks.streams import HOST

PAUSE = 5.0
HEADERS = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
BODY = (
    b"POST /api/v1/search/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100000\r\n\r\n{"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--headers", type=int, default=200)
    parser.add_argument("--bodies", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60)
    chosen = parser.parse_args()
    os.environ |= {"THROTTLE": "anonymous=1000000/min", "SEARCH_EVENTS": "0"}
    with site("slow_clients"):
        from benchmarks import corpus

        corpus.build(500)
        with serving() as target:
            read(target, ["pressure of a valve"], 1, 5)  # the model, the views and the caches
            for headers, bodies in ((0, 0), (chosen.headers, chosen.bodies)):
                found, closed = asyncio.run(_run(target.port, headers, bodies, chosen.seconds))
                found.show(f"{headers} partial headers, {bodies} slow bodies")
                print(f"  connections closed by the site: {dict(closed)}")


async def _run(port: int, headers: int, bodies: int, seconds: float) -> tuple[Read, Counter[str]]:
    found, closed = Read(1), Counter[str]()
    slow = [_slow(port, HEADERS, b"X-Slow: 1\r\n", "headers", closed) for _ in range(headers)]
    slow += [_slow(port, BODY, b" ", "bodies", closed) for _ in range(bodies)]
    tasks = [asyncio.create_task(each) for each in slow]
    loop = asyncio.get_running_loop()
    began = loop.time()
    while loop.time() - began < seconds:
        asked = loop.time()
        asker = Asker(port)  # a new connection must find its place among the slow ones
        try:
            status, _ = await asyncio.wait_for(asker.ask("pressure of a valve"), 30)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            found.statuses[type(error).__name__] += 1
            await asyncio.sleep(1)
            continue
        finally:
            asker.close()
        found.statuses[status] += 1
        found.milliseconds.append((loop.time() - asked) * 1000)
        await asyncio.sleep(1)
    found.seconds = loop.time() - began
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return found, closed


async def _slow(port: int, first: bytes, then: bytes, kind: str, closed: Counter[str]) -> None:
    """One connection that never ends its request, opened again whenever it is closed."""
    while True:
        try:
            reader, writer = await asyncio.open_connection(HOST, port)
        except OSError:  # as many as the site keeps
            closed["refused"] += 1
            await asyncio.sleep(PAUSE)
            continue
        try:
            writer.write(first)
            while not reader.at_eof():
                try:
                    await asyncio.wait_for(reader.read(1000), PAUSE)
                except TimeoutError:
                    writer.write(then)
        except OSError:
            pass
        finally:
            writer.close()
        closed[kind] += 1


if __name__ == "__main__":
    main()
