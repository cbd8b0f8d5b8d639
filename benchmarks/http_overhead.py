"""What HTTP adds to a search: processor time and round trips by process, the ways taking turns.

    python -m benchmarks.http_overhead [--size 20000] [--questions 60] [--rounds 3]
                                        [--beside CHECKOUT]

Ways: the pipeline in process as the page asks it, the same with the marks that the API asks for,
and the API of a server of one process, as ASGI (the default) and as threads. `--beside` is a
checkout of another commit, whose servers take turns with those of this one on the same database.
The corpus of `benchmarks.search_speed` of this size, built once and kept.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.cpu_profile import build
from benchmarks.open_streams import server
from benchmarks.processes import postmaster, running_seconds
from benchmarks.search_process import over_http
from benchmarks.temporary_site import ROOT, set_up

# A way may wait longer for its turn than the product keeps a connection.
CONFIGURED = ("--config", "python:kbsite.gunicorn", "--keep-alive", "75")
# What a server does after its response belongs to its request.
SETTLED = 0.004

Way = tuple[Callable[[int], Any], int]
"""What asks a question, and the process id of its web server; 0: this process."""


def main() -> None:
    chosen = _arguments()
    os.environ |= {"THROTTLE": "anonymous=100000000/min", "DATABASE_POOL": "4"}
    set_up(ROOT / "var" / "bench" / str(chosen.size))
    build(chosen.size)

    from benchmarks.texts import questions
    from kbsite.apps import spare_collections

    texts = questions(chosen.questions)
    with ExitStack() as stack:
        ways: dict[str, Way] = {
            "pipeline": (_pipeline(texts), 0),
            "pipeline, folded marked": (_pipeline(texts, mark_folded=True), 0),
        }
        for where in filter(None, (chosen.beside, ROOT)):
            beside = "" if where is ROOT else ", beside"
            port, pid = stack.enter_context(_serving(where))
            ways[f"API{beside}"] = over_http(texts, port), pid
        for run, _ in ways.values():
            for i in range(len(texts)):
                run(i)
        spare_collections()
        _print(ways, _measured(ways, len(texts), chosen.rounds))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beside", type=Path)
    return parser.parse_args()


@contextmanager
def _serving(where: Path) -> Iterator[tuple[int, int]]:
    """The port of a server of that checkout, and its process id."""
    with server(*CONFIGURED, "kbsite.asgi", cwd=where) as target:
        yield target.port, target.process.pid


def _pipeline(questions: Sequence[str], *, mark_folded: bool = False) -> Callable[[int], Any]:
    from search.pipeline import search

    return lambda i: search(questions[i], viewer=None, mark_folded=mark_folded)


Spent = dict[str, list[float]]
"""Milliseconds of each call by what spent them."""


def _measured(ways: dict[str, Way], count: int, rounds: int) -> dict[str, Spent]:
    shuffled = random.Random(1)
    others = {"Postgres": postmaster(), "Valkey": _valkey()}
    times: dict[str, Spent] = {name: {} for name in ways}
    gc.disable()
    for _ in range(rounds):
        for i in shuffled.sample(range(count), count):
            for name in shuffled.sample(list(ways), len(ways)):
                run, web = ways[name]
                for part, seconds in _spent(lambda: run(i), others, web).items():  # noqa: B023
                    times[name].setdefault(part, []).append(seconds * 1e3)
    return times


def _spent(run: Callable[[], Any], others: dict[str, int], web: int) -> dict[str, float]:
    roots = others | ({"web": web} if web else {})
    before = {name: running_seconds([root]) for name, root in roots.items()}
    ours, started = time.process_time(), time.perf_counter()
    run()
    elapsed, ours = time.perf_counter() - started, time.process_time() - ours
    time.sleep(SETTLED)
    spent = {name: running_seconds([root]) - before[name] for name, root in roots.items()}
    spent["asking"] = ours
    return {"clock": elapsed, "all": sum(spent.values()), **spent}


def _valkey() -> int:
    from django.core.cache import cache

    client: Any = cache._cache.get_client(None, write=True)  # type: ignore[attr-defined]
    return int(client.info("server")["process_id"])


def _print(ways: dict[str, Way], times: dict[str, Spent]) -> None:
    parts = ("clock", "all", "Postgres", "Valkey", "web", "asking")
    calls = len(next(iter(times.values()))["all"])
    print(
        f"medians of {calls} calls, milliseconds; all: of processor; load {os.getloadavg()[0]:.1f}"
    )
    print(f"{'':<30}" + "".join(f"{part:>10}" for part in parts))
    for name in ways:
        print(f"{name:<30}" + "".join(_cell(times[name].get(part)) for part in parts))


def _cell(spent: list[float] | None) -> str:
    return f"{statistics.median(spent):>10.2f}" if spent else f"{'':>10}"


if __name__ == "__main__":
    main()
