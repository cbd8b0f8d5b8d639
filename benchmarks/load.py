"""More readers than the site serves in time: what they get, and what uploads cost them.

    python -m benchmarks.load [--readers 64] [--seconds 60] [--chunks 5000] [--documents 50]

Three parts on one database: the site without refusals, as it is, and as it is with
eight readers while documents are ingested. A refused reader waits as long as Retry-After says.
Runs on servers of its own under var/bench; generator and site share the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import urlencode

import psutil

from benchmarks.open_streams import HOST, Server, server
from benchmarks.temporary_site import receive, site, wait_until_finished, worker

FEW = 8
SAMPLES = 10  # of the memory, during each part


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--chunks", type=int, default=5000)
    parser.add_argument("--documents", type=int, default=50)
    chosen = parser.parse_args()
    os.environ |= {"THROTTLE": "anonymous=1000000/min", "SEARCH_EVENTS": "0"}
    with site("load"):
        from benchmarks import corpus, texts

        corpus.build(chosen.chunks)
        questions = texts.questions(200)
        with serving("benchmarks.site_without_refusals") as target:
            read(target, questions, FEW, 5)  # the model, the views and the caches
            read(target, questions, chosen.readers, chosen.seconds).show("without refusals")
        with serving() as target:
            read(target, questions, FEW, 5)
            read(target, questions, chosen.readers, chosen.seconds).show("as it is")
            alone = read(target, questions, FEW, 20)
            alone.show(f"{FEW} readers")
            with ingesting(chosen.documents) as is_done:
                under = read(target, questions, FEW, 300, until=is_done)
            under.show(f"{FEW} readers, {chosen.documents} documents ingested")
            print(f"  p50 with documents / without: {under.p50 / alone.p50:.2f}")


@contextmanager
def serving(application: str = "kbsite.asgi") -> Iterator[Server]:
    """The site with its default number of processes."""
    with server("--config", "python:kbsite.gunicorn", application, workers=2) as target:
        yield target


@contextmanager
def ingesting(documents: int) -> Iterator[threading.Event]:
    """Receive and process documents; the event is set when they are ready."""
    from tests.support.factories import make_collection

    done = threading.Event()
    shelf = make_collection("Ingested meanwhile")
    texts = [
        f"# Document {number}\n\n".encode()
        + b"\n\n".join(
            f"Paragraph {each} of document {number} on pumps, valves and pressure.".encode() * 8
            for each in range(20)
        )
        for number in range(documents)
    ]
    with worker(2):
        receive(shelf, texts, "meanwhile.md")
        waiting = threading.Thread(target=lambda: (wait_until_finished(), done.set()))
        waiting.start()
        yield done
        waiting.join()


@dataclass
class Read:
    """The statuses, times and memory that readers measured."""

    readers: int
    milliseconds: list[float] = field(default_factory=list)
    statuses: Counter[int | str] = field(default_factory=Counter)
    seconds: float = 0.0
    # The memory of each process of the site, measured ten times: a leak goes on rising, a warm-up
    # ends.
    megabytes: list[list[float]] = field(default_factory=list)

    @property
    def p50(self) -> float:
        return statistics.median(self.milliseconds)

    def show(self, title: str) -> None:
        print(f"\n{title}: {self.readers} readers, {self.seconds:.0f} s")
        print(f"  {dict(self.statuses)}; answered {self.statuses[200] / self.seconds:.1f}/s")
        if len(self.milliseconds) > 1:
            p95, p99 = (statistics.quantiles(self.milliseconds, n=100)[at] for at in (94, 98))
            print(f"  p50 {self.p50:.0f} ms  p95 {p95:.0f} ms  p99 {p99:.0f} ms")
        if len({len(sample) for sample in self.megabytes}) == 1:
            for process in zip(*self.megabytes, strict=True):
                print("  memory of a process, MB:", *(f"{each:.0f}" for each in process))
        if self.megabytes:
            print("  of all, MB:", *(f"{sum(each):.0f}" for each in self.megabytes), flush=True)


def read(
    target: Server,
    questions: Sequence[str],
    readers: int,
    seconds: float,
    until: threading.Event | None = None,
) -> Read:
    """The measurements of readers that ask one question after another, each over a lasting
    connection.
    """
    load = Read(readers)
    asyncio.run(_read(target, questions, load, seconds, until))
    return load


async def _read(
    target: Server,
    questions: Sequence[str],
    load: Read,
    seconds: float,
    until: threading.Event | None,
) -> None:
    numbers = count()
    began = time.perf_counter()
    load.megabytes.append(_megabytes(target))

    def is_over() -> bool:
        over = time.perf_counter() - began > seconds
        return over or (until is not None and until.is_set())

    async def reader() -> None:
        asker = Asker(target.port)
        while not is_over():
            question = questions[next(numbers) % len(questions)]
            started = time.perf_counter()
            try:
                status, wait = await asker.ask(question)
            except (OSError, asyncio.IncompleteReadError, KeyError, ValueError) as error:
                load.statuses[type(error).__name__] += 1
                await asyncio.sleep(1)
                continue
            load.statuses[status] += 1
            if status == 200:
                load.milliseconds.append((time.perf_counter() - started) * 1000)
            else:
                await asyncio.sleep(wait)
        asker.close()

    async def weigh() -> None:
        while True:
            await asyncio.sleep(seconds / SAMPLES)
            load.megabytes.append(_megabytes(target))

    weighing = asyncio.create_task(weigh())
    await asyncio.gather(*(reader() for _ in range(load.readers)))
    weighing.cancel()
    load.seconds = time.perf_counter() - began
    load.megabytes.append(_megabytes(target))


class Asker:
    """One reader of a site on this machine; connects again where the site closed the connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, question: str) -> tuple[int, float]:
        """The status, and the seconds to wait if it is not 200."""
        if self._streams is None or self._streams[0].at_eof():
            self.close()
            self._streams = await asyncio.open_connection(HOST, self._port)
        reader, writer = self._streams
        try:
            path = "/api/v1/search/?" + urlencode({"q": question})
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            headers = dict(line.partition(": ")[::2] for line in head.splitlines()[1:])
            await reader.readexactly(int(headers["content-length"]))
        except BaseException:
            self.close()
            raise
        if headers.get("connection") == "close":
            self.close()
        return int(head.split()[1]), float(headers.get("retry-after", 1))

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def _megabytes(target: Server) -> list[float]:
    """The unshared memory of each process of the site, by its number."""
    processes: list[psutil.Process] = sorted(target.process.children(), key=lambda one: one.pid)
    return [each.memory_full_info().uss / 1e6 for each in processes]


if __name__ == "__main__":
    main()
