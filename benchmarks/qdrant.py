"""Qdrant's engine beside Postgres: the same questions to both, in turns, on the same chunks.

    python -m benchmarks.qdrant [--chunks 20000] [--queries 120] [--rounds 3] [--refill]

Qdrant's own engine in this process (qdrant-edge-py), without a network: a server adds a round trip
for each of two requests. The corpus is that of benchmarks.search_speed, in var/bench, built once;
the points beside it, filled once (`--refill`: again). Give 1000000 for the figure of docs/scale.md.

Two threads fill it, each with its own connection: one reads from Postgres while the other writes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ANY_DEPTH = 10
FILLERS = 2
RANGE = 10_000  # chunk ids that a thread fills before it takes the next
Passage = tuple[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--refill", action="store_true", help="the engine, though it is filled")
    arguments = parser.parse_args()
    var = ROOT / "var" / "bench" / str(arguments.chunks)
    folder = var / "qdrant"
    os.environ["STEELYARD_VAR"] = str(var)
    os.environ.setdefault("MODELS_DIR", str(ROOT / "var" / "models"))
    os.environ["QDRANT_URL"] = "http://in-this-process"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    from benchmarks.qdrant_edge import EdgeEngine
    from kbsite.embedded import ensure_servers
    from search.parts.qdrant import engines

    edge = EdgeEngine(folder)
    engines._engine = lambda url, process: edge  # type: ignore[assignment, return-value]
    ensure_servers()
    call_command("migrate", verbosity=0)
    _fill_postgres(arguments.chunks)
    if arguments.refill or not _is_filled(folder, arguments.chunks):
        _fill_engine(folder)
    _compare(arguments.queries, arguments.rounds)
    edge.close()  # the replaced index is removed only now
    _print_sizes(folder, arguments.chunks)
    connections.close_all()
    settings.EMBEDDED.stop()


def _fill_postgres(chunks: int) -> None:
    from benchmarks import corpus

    if not corpus.is_built(chunks):
        started = time.perf_counter()
        corpus.build(chunks)
        print(f"Postgres: {chunks} chunks built in {time.perf_counter() - started:.0f} s")


def _is_filled(folder: Path, chunks: int) -> bool:
    from search.parts.qdrant.engines import engine
    from search.parts.qdrant.models import PointCollection

    row = PointCollection.objects.filter(state=PointCollection.State.ACTIVE).first()
    return row is not None and (folder / row.name).exists() and engine().count(row.name) == chunks


def _fill_engine(folder: Path) -> None:
    """Fill the engine from Postgres, build its indexes, and compare all points with the chunks."""
    from search.parts.qdrant import rebuilding
    from search.parts.qdrant.engines import engine
    from search.parts.qdrant.models import PointCollection

    shutil.rmtree(folder, ignore_errors=True)
    PointCollection.objects.all().delete()
    before = _memory()
    row = rebuilding.begin()
    started, used = time.perf_counter(), time.process_time()
    filled = _fill_ranges(row)
    written = time.perf_counter() - started
    print(
        f"Engine: {filled} points in {written:.0f} s, {filled / written:.0f} a second,"
        f" {(time.process_time() - used) / filled * 1e6:.0f} us of processor a point",
        flush=True,
    )
    started, used = time.perf_counter(), time.process_time()
    engine().optimize(row.name)  # type: ignore[attr-defined]
    used = time.process_time() - used
    print(
        f"Engine: indexes in {time.perf_counter() - started:.0f} s, {used:.0f} s of processor",
        flush=True,
    )
    started = time.perf_counter()
    rebuilding.advance(row.pk)  # finds nothing left to write, and compares
    row.refresh_from_db()
    print(
        f"Engine: compared with Postgres in {time.perf_counter() - started:.0f} s,"
        f" {row.differing} points differ"
    )
    rebuilding.switch(row)
    print(f"Engine: {_memory() - before:.0f} MB of this process's memory", flush=True)


def _fill_ranges(row: Any) -> int:
    """Write all searchable chunks in FILLERS threads; return how many."""
    from django.db.models import Max, Min

    from ingestion.models import Chunk
    from search.parts.qdrant.models import PointCollection

    ends = Chunk.objects.aggregate(first=Min("pk"), last=Max("pk"))
    starts = range(ends["first"], ends["last"] + 1, RANGE)
    filled, began = 0, time.perf_counter()
    with ThreadPoolExecutor(FILLERS) as pool:
        for done, count in enumerate(pool.map(lambda start: _fill_range(row, start), starts), 1):
            filled += count
            if done % 10 == 0:
                print(f"  {filled} after {time.perf_counter() - began:.0f} s", flush=True)
    PointCollection.objects.filter(pk=row.pk).update(filled_after=ends["last"], filled=filled)
    return filled


def _fill_range(row: Any, start: int) -> int:
    from search.parts.qdrant.engines import engine

    filled = 0
    for page in _pages(start, row.spaces):
        engine().upsert(row.name, page)
        filled += len(page)
    return filled


def _pages(start: int, spaces: Sequence[int]) -> Iterator[list[Any]]:
    """The searchable chunks with ids from `start` to before `start + RANGE`."""
    from search.parts.qdrant import points

    last, end = start - 1, start + RANGE - 1
    while last < end and (page := [each for each in points.after(last, spaces) if each.id <= end]):
        yield page
        last = page[-1].id


def _compare(queries: int, rounds: int) -> None:
    from benchmarks import texts
    from search.engine.embed import warm_up

    warm_up()
    questions = texts.questions(queries)
    sides: dict[str, Callable[[str], Any]] = {
        "postgres": _with("postgres"),
        "qdrant": _with("qdrant"),
    }
    times: dict[str, list[float]] = {name: [] for name in sides}
    work: dict[str, list[float]] = {name: [] for name in sides}
    shared: list[float] = []
    for run in sides.values():
        for question in questions:
            run(question)  # warms caches
    for turn in range(rounds):
        for place, question in enumerate(questions):
            results = {}
            order = list(sides) if (turn + place) % 2 else list(reversed(sides))
            for name in order:
                began, used = time.perf_counter(), time.process_time()
                results[name] = sides[name](question)
                times[name].append((time.perf_counter() - began) * 1000)
                work[name].append((time.process_time() - used) * 1000)
            if turn == 0:
                ours, theirs = (set(results[name][:ANY_DEPTH]) for name in sides)
                shared.append(len(ours & theirs) / max(1, len(ours)))
    print(f"| {queries} questions x {rounds} | p50 ms | p95 ms | processor of this process, ms |")
    print("|---|---|---|---|")
    for name in sides:
        cuts = statistics.quantiles(times[name], n=20)
        mean = statistics.mean(work[name])
        print(f"| {name} | {statistics.median(times[name]):.1f} | {cuts[-1]:.1f} | {mean:.1f} |")
    print(f"Of the first {ANY_DEPTH} results the two share {statistics.mean(shared):.3f}.")


def _with(backend: str) -> Callable[[str], Sequence[Passage]]:
    from django.conf import settings

    from search.pipeline import search

    def run(question: str) -> Sequence[Passage]:
        settings.RETRIEVAL_BACKEND = backend
        response = search(question, viewer=None)
        assert not response.degraded, response.degraded
        return [(result.document_id, result.chunk) for result in response.results]

    return run


def _print_sizes(folder: Path, chunks: int) -> None:
    from django.db import connection

    files = [each for each in folder.rglob("*") if each.is_file()]
    blocks = sum(each.stat().st_blocks * 512 for each in files) / 1e6
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, pg_total_relation_size(c.oid) / 1e6 FROM pg_class c"
            " WHERE c.relname IN ('ingestion_chunk', 'ingestion_chunkembedding',"
            " 'ingestion_termfrequency') ORDER BY 1"
        )
        tables = ", ".join(f"{name} {size:.0f}" for name, size in cursor.fetchall())
        cursor.execute(
            "SELECT avg(cardinality(tsvector_to_array(lexemes)))"
            " FROM ingestion_chunk TABLESAMPLE SYSTEM (2)"
        )
        (terms,) = cursor.fetchone()
    print(f"{terms:.0f} different terms a chunk, on average")
    print(f"Disk, MB: engine {blocks:.0f} ({blocks / chunks * 1000:.2f} kB a chunk); {tables}")


def _memory() -> float:
    """The resident memory of this process in MB."""
    import psutil

    return float(psutil.Process().memory_info().rss / 1e6)


if __name__ == "__main__":
    main()
