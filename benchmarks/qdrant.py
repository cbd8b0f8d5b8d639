"""Qdrant's engine beside Postgres: the same questions to both, in turns, on the same chunks.

    python -m benchmarks.qdrant [--chunks 20000] [--queries 120] [--rounds 3]

Qdrant's own engine in this process (qdrant-edge-py), without a network: a server adds a round trip
for each of two requests. The corpus is that of benchmarks.search, under var/bench, built once;
the points beside it. Give 1000000 for the figure of docs/scale.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ANY_DEPTH = 10
Passage = tuple[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    var = ROOT / "var" / "bench" / str(arguments.chunks)
    folder = var / "qdrant"
    os.environ["STEELYARD_VAR"] = str(var)
    os.environ.setdefault("MODELS_DIR", str(ROOT / "var" / "models"))
    os.environ["RESULT_CACHE_SECONDS"] = "0"  # it answers what was asked a moment ago
    os.environ["QDRANT_URL"] = f"edge:{folder}"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
    import django

    django.setup()
    from django.core.management import call_command

    from kbsite.servers import ensure_servers
    from search.qdrant.engines import engine

    ensure_servers()
    call_command("migrate", verbosity=0)
    _fill_postgres(arguments.chunks)
    _fill_engine(folder)
    _compare(arguments.queries, arguments.rounds)
    engine().close()  # type: ignore[attr-defined]  # what it replaced goes only now
    _print_sizes(folder, arguments.chunks)


def _fill_postgres(chunks: int) -> None:
    from benchmarks import corpus
    from ingestion.models import Chunk

    if Chunk.objects.count() != chunks:
        started = time.perf_counter()
        corpus.build(chunks)
        print(f"Postgres: {chunks} chunks built in {time.perf_counter() - started:.0f} s")


def _fill_engine(folder: Path) -> None:
    """Fill the engine from Postgres as `manage.py qdrant rebuild` does, and build its indexes."""
    from search.qdrant import rebuilding
    from search.qdrant.engines import engine
    from search.qdrant.models import PointCollection

    shutil.rmtree(folder, ignore_errors=True)
    PointCollection.objects.all().delete()
    before = _memory()
    started, used = time.perf_counter(), time.process_time()
    row = rebuilding.begin()
    rebuilding.advance(row.pk)
    row.refresh_from_db()
    written = time.perf_counter() - started
    print(
        f"Engine: {row.filled} points in {written:.0f} s, {row.filled / written:.0f} a second,"
        f" {(time.process_time() - used) / row.filled * 1e6:.0f} us of processor a point"
    )
    started = time.perf_counter()
    engine().optimize(row.name)  # type: ignore[attr-defined]
    print(f"Engine: indexes in {time.perf_counter() - started:.0f} s")
    rebuilding.switch(row)
    print(f"Engine: {_memory() - before:.0f} MB of this process's memory")


def _compare(queries: int, rounds: int) -> None:
    from benchmarks import texts
    from search.engine.find import warm_up

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
        cursor.execute("SELECT avg(cardinality(tsvector_to_array(lexemes))) FROM ingestion_chunk")
        (terms,) = cursor.fetchone()
    print(f"{terms:.0f} different terms a chunk, on average")
    print(f"Disk, MB: engine {blocks:.0f} ({blocks / chunks * 1000:.2f} kB a chunk); {tables}")


def _memory() -> float:
    """The resident memory of this process in MB."""
    import psutil

    return float(psutil.Process().memory_info().rss / 1e6)


if __name__ == "__main__":
    main()
