"""Search by corpus size: the statement, the pipeline and HTTP; sizes of tables and indexes; memory.

    python -m benchmarks.search_speed [--sizes 20000 200000] [--chunks 1000000] [--queries 120]
    python -m benchmarks.search_speed --suggestions 200000

`--chunks` is one size more. Each size is a library of its own with servers of its own under
var/bench, built once and kept; an interrupted build goes on where it stopped. The sizes and the
ways take turns at every question: what else the machine is doing hits all of them.

Statement: the statements of each question sent again as text, with nothing around them. The second
pipeline marks the words in folded passages too, as the API does: HTTP adds to that one. Processor
time is that of Postgres, the web server and the searching process together.

`--suggestions` measures those while typing instead, in a library of so many chunks of its own.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from benchmarks.processes import Child
from benchmarks.temporary_site import ROOT, set_up

WAYS = ("statement", "pipeline", "pipeline, all marked", "HTTP")
ROUNDS = 3
SEED = 1


def main() -> None:
    arguments = _arguments()
    if arguments.build:
        return build(arguments.build)
    if arguments.serve:
        from benchmarks.search_process import serve

        set_up(ROOT / "var" / "bench" / str(arguments.serve))
        return serve(arguments.queries)
    if arguments.suggestions:
        from benchmarks.suggestion_speed import measure

        return measure(arguments.suggestions)
    sizes = sorted({*arguments.sizes, *filter(None, [arguments.chunks])})
    for size in sizes:
        subprocess.run([*_command("--build", size), *_queries(arguments)], check=True)
    if arguments.build_only:
        return None
    with ExitStack() as stack:
        servers = {size: stack.enter_context(_server(size, _queries(arguments))) for size in sizes}
        times = _times(servers, arguments.rounds)
        _print_times(times)
        _print_sizes({size: server.ask({"report": True}) for size, server in servers.items()})
    return None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[20_000, 200_000])
    parser.add_argument("--chunks", type=int, help="one more size, as 1000000")
    parser.add_argument("--queries", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--build-only", action="store_true", help="measure nothing")
    parser.add_argument("--suggestions", type=int, metavar="CHUNKS", help="measure these alone")
    parser.add_argument("--build", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def _queries(arguments: argparse.Namespace) -> list[str]:
    return ["--queries", str(arguments.queries)]


def _command(option: str, size: int) -> list[str]:
    return [sys.executable, "-m", "benchmarks.search_speed", option, str(size)]


def build(size: int) -> None:
    """Build the corpus unless it exists; print the time and the processor time."""
    set_up(ROOT / "var" / "bench" / str(size))
    from django.core.management import call_command

    from kbsite.embedded import ensure_servers

    ensure_servers()
    call_command("migrate", verbosity=0)
    from benchmarks import corpus
    from benchmarks.processes import lifetime_seconds, postmaster

    if corpus.is_built(size):
        return
    print(f"Building {size:,} chunks ...", flush=True)
    postgres, started = postmaster(), time.perf_counter()
    before = lifetime_seconds(postgres)
    corpus.build(size)
    seconds, python = time.perf_counter() - started, time.process_time()
    print(
        f"  built in {seconds:.0f} s, of {os.cpu_count()} cores; processor time: Postgres"
        f" {lifetime_seconds(postgres) - before:.0f} s, Python {python:.0f} s",
        flush=True,
    )


@contextmanager
def _server(size: int, queries: Sequence[str]) -> Iterator[Child]:
    environment = {"THROTTLE": "anonymous=100000000/min", "DATABASE_POOL": "4"} | os.environ
    server = Child([*_command("--serve", size), *queries], environment)
    try:
        server.ask({"questions": True})
        yield server
    finally:
        server.close()


_Times = dict[tuple[int, str], list[tuple[float, float]]]


def _times(servers: dict[int, Child], rounds: int) -> _Times:
    """Milliseconds on the clock and of the processor for every call, by size and way.

    The first round is not measured. Sizes and ways take turns in shuffled order at every question.
    """
    shuffled = random.Random(SEED)
    turns = [(size, way) for size in servers for way in WAYS]
    times: _Times = {turn: [] for turn in turns}
    count = min(server.ask({"questions": True}) for server in servers.values())
    for round_number in range(rounds + 1):
        for i in shuffled.sample(range(count), count):
            for size, way in shuffled.sample(turns, len(turns)):
                milliseconds, processor = servers[size].ask({"way": way, "question": i})
                if round_number:
                    times[size, way].append((milliseconds, processor))
    return times


def _print_times(times: _Times) -> None:
    calls = len(next(iter(times.values())))
    print(f"\n{calls} calls each; load of the machine {os.getloadavg()[0]:.1f}")
    print(f"{'chunks':>10}  {'':<21}{'p50 ms':>9}{'p95':>9}{'p99':>9}{'processor, mean':>18}")
    for (size, way), pairs in times.items():
        clock = [milliseconds for milliseconds, _ in pairs]
        cuts = statistics.quantiles(clock, n=100)
        processor = statistics.fmean(processor for _, processor in pairs)
        row = "".join(f"{cuts[place - 1]:>9.1f}" for place in (50, 95, 99))
        print(f"{size:>10,}  {way:<21}{row}{processor:>18.1f}")


def _print_sizes(reports: dict[int, dict[str, Any]]) -> None:
    """The relations of the largest library, beside those of the others, per million chunks."""
    print("\nMB per million chunks" + "".join(f"{size:>12,}" for size in reports))
    largest = reports[max(reports)]["relations"]
    for name in sorted(largest, key=lambda name: -largest[name]):
        cells = [reports[size]["relations"].get(name, 0) / size * 1e6 for size in reports]
        if largest[name] >= 1:
            print(f"  {name[:46]:<46}" + "".join(f"{cell:>12,.0f}" for cell in cells))
    for what in ("database", "Postgres in memory, MB", "web in memory, MB"):
        per = 1e6 if what == "database" else None
        cells = [reports[size][what] * (per / size if per else 1) for size in reports]
        print(f"{what:<48}" + "".join(f"{cell:>12,.0f}" for cell in cells))


if __name__ == "__main__":
    main()
