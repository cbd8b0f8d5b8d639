"""Searches of one web process, alone and while 200 streams are open.

    python -m benchmarks.open_streams [--streams 200] [--queries 60] [--chunks 5000]

Runs on servers of its own under var/bench.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import psutil

from benchmarks.temporary_site import ROOT, site

HOST = "127.0.0.1"
ASKERS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--chunks", type=int, default=5000)
    chosen = parser.parse_args()
    os.environ |= {"THROTTLE": "anonymous=1000000/min", "SEARCH_EVENTS": "0"}
    os.environ |= {"SLOW_SECONDS": "600"}
    with site("streams"), ExitStack() as stack:
        from benchmarks import corpus, texts

        corpus.build(chosen.chunks)
        questions = texts.questions(chosen.queries)
        target = stack.enter_context(
            server("--config", "python:kbsite.gunicorn", "benchmarks.slow_site")
        )
        alone = ask(target, questions)
        show("one asker", alone)
        show(f"{ASKERS} askers", crowd(target, questions))
        with streams(target, chosen.streams, questions[0]) as open_streams:
            open_streams.wait_until_open()
            under = ask(target, questions)
            show(f"one asker, {chosen.streams} streams open", under)
        open_streams.report(target, alone, under)


@dataclass
class Server:
    name: str
    port: int
    process: psutil.Popen

    @property
    def worker(self) -> psutil.Process:
        worker: psutil.Process = self.process.children()[0]
        return worker

    def ask(self, question: str) -> float:
        """Milliseconds of a search over a connection of its own."""
        started = time.perf_counter()
        client = http.client.HTTPConnection(HOST, self.port, timeout=60)
        try:
            client.request("GET", "/api/v1/search/?" + urlencode({"q": question}))
            response = client.getresponse()
            body = response.read()
        finally:
            client.close()
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {body[:300]!r}")
        return (time.perf_counter() - started) * 1000


@contextmanager
def server(*arguments: str, workers: int = 1, cwd: Path = ROOT) -> Iterator[Server]:
    """A gunicorn of the checkout `cwd`, by default with one process, until the block ends."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", *arguments[:-1]]
    command += ["--workers", str(workers)]
    command += ["--bind", f"{HOST}:{port}", "--log-level", "error", "--access-logfile", "/dev/null"]
    name = f"web on {port}"
    environment = os.environ | {"PGAPPNAME": name}
    process = psutil.Popen([*command, f"{arguments[-1]}:application"], cwd=cwd, env=environment)
    try:
        while True:
            with socket.socket() as probe:
                if probe.connect_ex((HOST, port)) == 0:
                    break
            if process.poll() is not None:
                raise RuntimeError("The server has ended.")
            time.sleep(0.2)
        yield Server(name, port, process)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except (psutil.TimeoutExpired, subprocess.TimeoutExpired):
            process.kill()


def ask(target: Server, questions: Sequence[str]) -> list[float]:
    """Milliseconds of each search, after one round that is not measured."""
    for question in questions:
        target.ask(question)
    return [target.ask(question) for question in questions]


def crowd(target: Server, questions: Sequence[str]) -> list[float]:
    """Milliseconds of each search of several askers at once."""
    with ThreadPoolExecutor(ASKERS) as askers:
        return list(askers.map(target.ask, [*questions] * 3))


def show(title: str, times: list[float]) -> None:
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    print(f"{title}: {len(times)} searches, p50 {p50:.1f} ms, p95 {p95:.1f} ms", flush=True)


@dataclass
class Streams:
    """Open streams: their start times, the gaps between their frames, the server's resources."""

    count: int
    opened: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    ticking: int = 0
    threads: int = 0
    connections: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def wait_until_open(self) -> None:
        started = time.perf_counter()
        while self.ticking < self.count and not self.failed:
            if time.perf_counter() - started > 300:
                raise RuntimeError(f"{self.ticking} of {self.count} streams after five minutes")
            time.sleep(0.1)
        print(f"\n{self.ticking} streams open after {time.perf_counter() - started:.1f} s")

    def stop(self) -> None:
        self._stop.set()

    def run(self, port: int, question: str) -> None:
        asyncio.run(self._all(port, question))

    async def _all(self, port: int, question: str) -> None:
        tasks = [asyncio.create_task(self._one(port, question)) for _ in range(self.count)]
        while not self._stop.is_set():
            await asyncio.sleep(0.1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, port: int, question: str) -> None:
        started = time.perf_counter()
        reader, writer = await asyncio.open_connection(HOST, port)
        path = "/slow/?" + urlencode({"q": question})
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        last = 0.0
        try:
            while line := await reader.readline():
                if not line.startswith(b"event: token"):
                    continue
                now = time.perf_counter()
                if last:
                    self.gaps.append((now - last) * 1000)
                else:
                    self.opened.append(now - started)
                    self.ticking += 1
                last = now
            self.failed.append("a stream ended")
        finally:
            writer.close()

    def report(self, target: Server, alone: Sequence[float], under: Sequence[float]) -> None:
        late = statistics.quantiles(self.gaps, n=20)[-1] - 500
        ratio = statistics.median(under) / statistics.median(alone)
        print(f"  failed: {len(self.failed)}; frames {len(self.gaps)}, p95 {late:.0f} ms late")
        print(f"  p50 with streams / without: {ratio:.2f}")
        print(f"  worker: {self.threads} threads, {self.connections} connections to the database")
        print(f"  memory of the worker: {target.worker.memory_info().rss / 1e6:.0f} MB")


def connections(target: Server) -> int:
    """The server's connections to the database."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [target.name]
        )
        return int(cursor.fetchone()[0])


@contextmanager
def streams(target: Server, count: int, question: str) -> Iterator[Streams]:
    open_streams = Streams(count)
    thread = threading.Thread(target=open_streams.run, args=(target.port, question))
    before = target.worker.num_threads()
    print(f"\nworker before the streams: {before} threads")
    thread.start()
    try:
        yield open_streams
    finally:
        open_streams.threads = target.worker.num_threads()
        open_streams.connections = connections(target)
        open_streams.stop()
        thread.join()


if __name__ == "__main__":
    main()
