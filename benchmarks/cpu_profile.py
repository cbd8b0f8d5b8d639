"""The processor time of one search: where it goes, by part and by function.

    python -m benchmarks.cpu_profile [--size 10000] [--questions 100] [--rounds 3] [--functions 25]

Processor time of the searching thread, not time on the clock: other programs on the machine change
it little. `outside SQL` is what Python adds to sending statements and receiving their rows. The
corpus of `benchmarks.search_speed` at this size, built once and kept, on servers of its own.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import os
import pstats
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.temporary_site import ROOT, set_up


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--functions", type=int, default=25, help="the costliest, by own time")
    parser.add_argument("--gc", choices=("tuned", "default"), default="tuned")
    arguments = parser.parse_args()
    os.environ.setdefault("THROTTLE", "anonymous=100000000/min")
    set_up(ROOT / "var" / "bench" / str(arguments.size))
    build(arguments.size)

    from benchmarks.texts import questions

    texts = questions(arguments.questions)
    pipeline, api, page = _pipeline(texts), _over("/api/v1/search/", texts), _over("/", texts)
    runs = {"pipeline": pipeline, "API": api, "page": page}
    for run in runs.values():
        for i in range(len(texts)):
            run(i)
    if arguments.gc == "tuned":
        from kbsite.apps import spare_collections

        spare_collections()
    _print(runs, len(texts), arguments.rounds)
    if arguments.functions:
        _functions(runs["pipeline"], len(texts), arguments.functions)


def build(size: int) -> None:
    """Servers, tables and the corpus of this size, if they are not there yet."""
    from django.core.management import call_command

    from benchmarks import corpus
    from ingestion.models import Chunk
    from kbsite.embedded import ensure_servers

    ensure_servers()
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    if Chunk.objects.count() != size:
        corpus.build(size)


def _pipeline(questions: Sequence[str]) -> Callable[[int], Any]:
    from search.pipeline import search

    return lambda i: search(questions[i], viewer=None)


def _over(path: str, questions: Sequence[str]) -> Callable[[int], Any]:
    """Requests to a path of the site in this process, middleware included."""
    from django.test import Client

    client = Client(HTTP_HOST="localhost")

    def run(i: int) -> None:
        response = client.get(path, {"q": questions[i]})
        if response.status_code != 200:
            raise RuntimeError(f"{path}: {response.status_code}")

    return run


@contextmanager
def _sent(spent: list[float]) -> Iterator[None]:
    """Adds the processor time of sending each statement to the last of `spent`."""
    from django.db import connection

    def timed(execute: Any, *arguments: Any) -> Any:
        started = time.thread_time()
        try:
            return execute(*arguments)
        finally:
            spent[-1] += time.thread_time() - started

    with connection.execute_wrapper(timed):
        yield


def _print(runs: dict[str, Callable[[int], Any]], count: int, rounds: int) -> None:
    """The medians over all questions and rounds; the ways take turns at every question."""
    whole: dict[str, list[float]] = {name: [] for name in runs}
    sending: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for i in range(count):
            for name, run in runs.items():
                sending[name].append(0.0)
                with _sent(sending[name]):
                    started = time.thread_time()
                    run(i)
                    whole[name].append(time.thread_time() - started)
    print(f"{count} questions, {rounds} rounds, milliseconds of processor; gc {gc.get_threshold()}")
    print(f"{'':<16}{'median':>9}{'mean':>9}{'outside SQL':>13}{'mean':>9}")
    for name, times in whole.items():
        outside = [1000 * (a - b) for a, b in zip(times, sending[name], strict=True)]
        all_of_it = [1000 * each for each in times]
        medians = statistics.median(all_of_it), statistics.median(outside)
        means = statistics.mean(all_of_it), statistics.mean(outside)
        print(f"{name:<16}{medians[0]:>9.2f}{means[0]:>9.2f}{medians[1]:>13.2f}{means[1]:>9.2f}")


def _functions(run: Callable[[int], Any], count: int, most: int) -> None:
    profile = cProfile.Profile(time.thread_time)
    profile.enable()
    for i in range(count):
        run(i)
    profile.disable()
    statistics_of = pstats.Stats(profile)
    statistics_of.strip_dirs().sort_stats("tottime").print_stats(most)
    statistics_of.sort_stats("cumtime").print_stats(r"search|retriev|statement|results|rank", most)


if __name__ == "__main__":
    main()
