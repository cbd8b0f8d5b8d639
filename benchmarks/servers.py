"""Web servers with 16 readers: ASGI and threads, by number of processes and threads.

    python -m benchmarks.servers [--readers 16] [--seconds 8] [--rounds 3] [--size 10000]

All servers run on one database and take turns; refusals are off. The processor's time a search is
that of the server's own processes: what else the machine does changes it little. Without kept
results, but for the last one, whose readers ask the same 100 questions. The corpus of
`benchmarks.processor` at this size, built once and kept.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil

from benchmarks.load import Read, read
from benchmarks.processor import build
from benchmarks.site import ROOT, set_up
from benchmarks.streams import Server, server

GTHREAD = ("--worker-class", "gthread", "--threads")
# By name: processes, arguments, environment. The first is the default.
KINDS: dict[str, tuple[int, tuple[str, ...], dict[str, str]]] = {
    "asgi, 2 of 8 threads": (2, ("kbsite.asgi",), {}),
    "asgi, 2 of 4": (2, ("kbsite.asgi",), {"WEB_THREADS": "4"}),
    "asgi, 1 of 8": (1, ("kbsite.asgi",), {}),
    "gthread, 2 of 8": (2, (*GTHREAD, "8", "kbsite.wsgi"), {}),
    "gthread, 2 of 4": (2, (*GTHREAD, "4", "kbsite.wsgi"), {}),
    "gthread, 1 of 8": (1, (*GTHREAD, "8", "kbsite.wsgi"), {}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=int, default=10_000)
    chosen = parser.parse_args()
    os.environ |= {"THROTTLE": "anonymous=100000000/min", "WEB_PATIENCE": "0"}
    set_up(ROOT / "var" / "bench" / str(chosen.size))
    build(chosen.size)

    from benchmarks import texts

    questions = texts.questions(100)
    with ExitStack() as stack:
        servers = {name: stack.enter_context(_serving(name)) for name in KINDS}
        for target in servers.values():
            read(target, questions, chosen.readers, chosen.seconds)
        found: dict[str, list[tuple[Read, float]]] = {name: [] for name in servers}
        for _ in range(chosen.rounds):
            for name, target in servers.items():
                before = _spent(target)
                part = read(target, questions, chosen.readers, chosen.seconds)
                found[name].append((part, _spent(target) - before))
    _show(found)


@contextmanager
def _serving(name: str) -> Iterator[Server]:
    processes, arguments, environment = KINDS[name]
    before = dict(os.environ)
    os.environ |= environment
    try:
        config = ("--config", "python:kbsite.gunicorn")
        with server(*config, *arguments, workers=processes) as target:
            yield target
    finally:
        os.environ.clear()
        os.environ.update(before)


def _spent(target: Server) -> float:
    """Seconds of processor of the server's processes."""
    processes: list[psutil.Process] = target.process.children()
    return float(sum(sum(each.cpu_times()[:2]) for each in processes))


def _show(found: dict[str, list[tuple[Read, float]]]) -> None:
    base = 0.0
    print(f"{'':<28}{'a second':>9}{'to the first':>14}{'p50 ms':>8}{'p95 ms':>8}{'cpu ms':>8}")
    for name, parts in found.items():
        times = [each for part, _ in parts for each in part.milliseconds]
        rate = len(times) / sum(part.seconds for part, _ in parts)
        base = base or rate
        p95 = statistics.quantiles(times, n=20)[-1]
        spent = 1000 * sum(seconds for _, seconds in parts) / len(times)
        middle = statistics.median(times)
        print(f"{name:<28}{rate:>9.1f}{rate / base:>14.2f}{middle:>8.0f}{p95:>8.0f}{spent:>8.1f}")
        others = {status for part, _ in parts for status in part.statuses if status != 200}
        if others:
            print(f"  not answered: {others}")


if __name__ == "__main__":
    main()
