"""What recording a search costs beside the search, and what 200,000 recorded ones cost the admin.

    python -m benchmarks.event_recording [--chunks 5000] [--events 200000] [--queries 60]

Runs on servers of its own under var/bench/events, which are kept.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

from benchmarks.search_speed import ROOT

FILL = """
INSERT INTO analytics_searchevent (search_id, at, channel, query, folded, visitor, query_class,
    rule, profile_name, collections, sources, page, total, results, first_rank, best_click,
    milliseconds, confidence, unsure, corrected_from, degraded, anonymised, gathered, arm)
SELECT gen_random_uuid(), now() - n * interval '25 seconds', 'page', 'question ' || n %% 9000,
    'question ' || n %% 9000, md5((n %% 700)::text), 'general', '', 'default@1', '{}', '{}', 1,
    CASE WHEN n %% 17 = 0 THEN 0 ELSE 8 END, '{}', 1, CASE WHEN n %% 3 = 0 THEN n %% 12 + 1 END,
    20 + random() * 40, .7, n %% 11 = 0, '', '{}', false, true, ''
FROM generate_series(1, %s) AS n
"""


def main() -> None:
    arguments = _arguments()
    os.environ["STEELYARD_VAR"] = str(ROOT / "var" / "bench" / "events")
    os.environ.setdefault("MODELS_DIR", str(ROOT / "var" / "models"))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
    import django

    django.setup()
    from django.core.management import call_command

    from kbsite.embedded import ensure_servers

    ensure_servers()
    call_command("migrate", verbosity=0)
    from benchmarks import corpus
    from ingestion.models import Chunk

    if Chunk.objects.count() != arguments.chunks:
        corpus.build(arguments.chunks)
    _recording(arguments.queries)
    _admin(arguments.events)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=5_000)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=60)
    return parser.parse_args()


def _recording(count: int) -> None:
    """Time a search and its recording, in turns."""
    import uuid

    from django.contrib.auth.models import AnonymousUser
    from django.test import RequestFactory

    from benchmarks import texts
    from search.analytics.recording import record_search
    from search.pipeline import search

    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    times: dict[str, list[float]] = {"search": [], "record": []}
    for turn in range(4):
        for question in texts.questions(count):
            started = time.perf_counter()
            response = search(question, viewer=None)
            between = time.perf_counter()
            record_search(request, response, uuid.uuid4(), channel="page")
            if turn:
                times["search"].append((between - started) * 1000)
                times["record"].append((time.perf_counter() - between) * 1000)
    base = statistics.median(times["search"])
    for name, each in times.items():
        p50, p95 = statistics.median(each), statistics.quantiles(each, n=20)[-1]
        print(f"{name:<12}{p50:>8.2f}{p95:>8.2f} ms (p50, p95){p50 / base:>8.3f} of a search")


def _admin(count: int) -> None:
    from django.db import connection

    from search.analytics import reporting
    from search.analytics.models import SearchEvent

    SearchEvent.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(FILL, [count])
        cursor.execute("ANALYZE analytics_searchevent")
    print(f"\n{SearchEvent.objects.count()} events")
    _timed("figures of 30 days", lambda: reporting.figures(days=30))


def _timed(name: str, call: Callable[[], object]) -> None:
    call()
    times = []
    for _ in range(10):
        started = time.perf_counter()
        call()
        times.append((time.perf_counter() - started) * 1000)
    print(f"{name:<22}{statistics.median(times):>8.1f} ms")


if __name__ == "__main__":
    main()
