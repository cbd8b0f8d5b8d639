"""The workbench on synthetic pools: all measures of 500 golden queries.

    .venv/bin/python -m benchmarks.workbench [--queries 500] [--candidates 200] [--live] [--page]

Read the ratios: the milliseconds are this machine's. `--live` measures the golden queries of the
site's own database as well, by the pools and by searching; `--page` measures a
request of the workbench's page to that site, from the posted form to the HTML.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.http import HttpResponse

    from search.domain import Profile
    from search.tuning.evaluation.whatif import WhatIf

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")

DIMENSIONS = 384
SAMPLE = 50  # so many of the queries are ranked one by one; the rest would take as long


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--page", metavar="QUESTION", nargs="?", const="how does it work")
    arguments = parser.parse_args()

    import django

    django.setup()
    if arguments.page:
        page(arguments.page)
        return
    synthetic(arguments.queries, arguments.candidates)
    if arguments.live:
        live()


def synthetic(queries: int, candidates: int) -> None:
    """Print the times over random pools, independent of the machine's database."""
    from search.domain import Fusion, QueryClass, Weights
    from search.engine import Choices
    from search.engine.ranking import ranking_of
    from search.engine.settle import settle
    from search.presets.default import DEFAULT
    from search.tuning.evaluation.whatif import WhatIf
    from tests.support.random_pools import configuration, random_case

    configured = configuration()
    cases = [
        random_case(seed, candidates, dimensions=DIMENSIONS, depth=100) for seed in range(queries)
    ]
    print(f"{queries} queries, {candidates} candidates each, {DIMENSIONS} dimensions")
    shipped = DEFAULT.profile
    plain = replace(shipped, feedback=0.0, confidence_threshold=0.0)

    def slid(profile: Profile, vector: float) -> Profile:
        shares = Weights(vector, 0.95 - vector, 0.05)
        return replace(profile, weights=dict.fromkeys(QueryClass, shares))

    def one_by_one(profile: Profile, count: int) -> None:
        for case in cases[:count]:
            choices = Choices(snapshot=profile, query_class=case.query_class)
            settled = settle(case.pool.query, configured, profile, choices)
            for hit in ranking_of(case.pool, settled, configured).hits:
                assert hit.explanation.root

    variants = {
        "shipped default": shipped,
        "without feedback": plain,
        "rank fusion": replace(plain, fusion=Fusion.RRF),
    }
    for name, profile in variants.items():
        whatif = WhatIf(cases, configured)
        shares = [0.6, *(share / 100 for share in range(30, 80, 5))]
        cold, *moves = (timed(partial(whatif.under, slid(profile, share))) for share in shares)
        warm = statistics.median(moves)
        sample = min(SAMPLE, len(cases))
        exact = timed(partial(one_by_one, slid(profile, 0.5), sample)) * len(cases) / sample
        print(
            f"  {name}: first {cold:.0f} ms, each further move {warm:.0f} ms (most "
            f"{max(moves):.0f}); one by one, every hit explained, {exact:.0f} ms"
        )
    for name in ("shipped default", "without feedback"):
        optimised(name, WhatIf(cases, configured), variants[name])
    pool = cases[0].pool

    def one_move(share: float) -> None:
        settled = settle(pool.query, configured, slid(shipped, share))
        for group in ranking_of(pool, settled, configured).groups[:10]:
            assert group.best.explanation.root

    one = statistics.median(timed(partial(one_move, share / 100)) for share in range(20, 90))
    print(f"  one query's slider move: {one:.1f} ms for a ranking, ten hits explained")


def optimised(name: str, whatif: WhatIf, profile: Profile) -> None:
    """Print the time of the search for better weights, with five folds and all leans."""
    from search.tuning.weight_search import optimise

    seconds = timed(partial(optimise, whatif, profile)) / 1000
    print(f"  {name}: better weights looked for in {seconds:.0f} s")


def live() -> None:
    """Print the times over the golden queries of the site's own database."""
    from search.engine import configuration
    from search.tuning.candidate_pool_building import build
    from search.tuning.candidate_pools import Width, pooled
    from search.tuning.evaluation.golden_set import ask, golden_set

    profile = configuration.current().profile()
    goldens = golden_set()
    if not goldens:
        print("The site has no golden queries: judge some, or import judgements.")
        return
    built = timed(partial(build, Width.of(profile)))
    first = timed(lambda: pooled(profile).whatif.under(profile))
    again = timed(lambda: pooled(profile).whatif.under(profile))
    searched = timed(lambda: [ask(golden, profile) for golden in goldens])
    print(
        f"{len(goldens)} golden queries of this site: pools built in {built:.0f} ms, measured in "
        f"{first:.0f} ms, again in {again:.0f} ms; by searching {searched:.0f} ms: "
        f"{searched / again:.0f} times as long"
    )


def page(question: str) -> None:
    """Print what a move of a slider costs the server, for one question and for all measures."""
    from search.tuning.admin.workbench_pages import measures_view, preview_view

    for name, view in (("both rankings", preview_view), ("all measures", measures_view)):
        bodies = list(_moves(question))
        first, *_ = _request_costs(view, bodies[0])
        wall, processor, queries = zip(
            *(_request_costs(view, body) for body in bodies[1:]), strict=True
        )
        print(
            f"  {name}: first {first:.0f} ms, each of {MOVES} moves {statistics.median(wall):.0f} "
            f"ms (most {max(wall):.0f}), of these processor {statistics.median(processor):.0f} "
            f"ms; {statistics.median_low(queries)} queries"
        )


MOVES = 20


def _moves(question: str) -> Iterator[dict[str, object]]:
    """The posted data of the page: as it opens, then with other weights of meaning everywhere."""
    from search.domain import QueryClass, Signal
    from search.models import SearchProfile
    from search.tuning.admin.forms import WorkbenchForm
    from search.tuning.admin.weight_fields import field_name

    row = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
    form = WorkbenchForm(instance=row)
    opened = {name: form[name].value() for name in form.fields}
    opened["boosts"] = json.dumps(row.boosts)
    opened = {name: "" if value is None else value for name, value in opened.items()}
    opened = {name: value for name, value in opened.items() if value is not False}
    yield {"profile": row.pk, "values": opened, "text": question}
    for move in range(MOVES):
        share = 30 + 2 * move
        values = dict(opened)
        for query_class in QueryClass:
            for signal in Signal:
                values[field_name(query_class, signal)] = "0"
            values[field_name(query_class, Signal.VECTOR)] = f"{share / 100}"
            values[field_name(query_class, Signal.KEYWORD)] = f"{(100 - share) / 100}"
        yield {"profile": row.pk, "values": values, "text": question}


def _request_costs(view: Callable[..., HttpResponse], body: object) -> tuple[float, float, int]:
    """Milliseconds on the clock and of the processor, and the number of queries of the view."""
    from django.db import connection
    from django.test import RequestFactory
    from django.test.utils import CaptureQueriesContext

    from search.tuning.evaluation.profile_runs import evaluator

    request = RequestFactory().post("/", json.dumps(body), content_type="application/json")
    request.user = evaluator()
    with CaptureQueriesContext(connection) as queries:
        started, used = time.perf_counter(), time.process_time()
        answer = view(request)
        wall, processor = time.perf_counter() - started, time.process_time() - used
    assert answer.status_code == 200, answer.content[:500]
    return wall * 1000, processor * 1000, len(queries)


def timed(work: Callable[[], object]) -> float:
    """The milliseconds of the work."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
