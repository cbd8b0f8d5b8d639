"""Candidate pruning: how near each rule comes to the exact BM25 ranking, and what it takes.

    python -m benchmarks.pruning [--chunks 200000] [--questions 120] [--rounds 2]

Of each rule: the share of the exact top 10 and top 100 that it finds, and the milliseconds of the
keyword signal's candidates alone. The corpus is that of `benchmarks.search_speed`, built once.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from unittest import mock

from benchmarks.search_speed import ROOT

if TYPE_CHECKING:
    from search.domain import Query

# A statement and its parameters, those of the question apart, and the changed constants of its
# module.
Rule = tuple[str, dict[str, Any], Mapping[str, Any]]

EXACT = "all terms: exact"
BUDGETS = (2_500, 5_000, 10_000, 20_000)
UNBOUNDED = 2_000_000_000
DEPTH = 100

# The rule before ADR 1's pruning: terms from the rarest on until they stand in `budget` chunks.
_RARE_TERMS = """
SELECT id FROM ingestion_chunk
WHERE searchable AND collection_id = ANY(ARRAY(SELECT id FROM readable))
  AND lexemes @@ (SELECT string_agg(quoted::text, ' | ')::tsquery FROM term
                  WHERE chunks_before < {budget})
ORDER BY -(terms <#> %(question_weights)s::sparsevec) DESC, id LIMIT {depth}
"""
# MaxScore as published: whole terms only.
_WHOLE_TERMS = """
SELECT string_agg(quoted, ' | ')::tsquery AS terms FROM common, bar WHERE rest > score
"""
# One step beyond pairs.
_TRIPLES = """
SELECT string_agg(
           CASE WHEN one.most > score THEN one.quoted
                ELSE one.quoted || ' & (' || (
                    SELECT string_agg(
                        CASE WHEN one.most + two.most > score THEN two.quoted
                             ELSE two.quoted || ' & (' || (
                                 SELECT string_agg(three.quoted, ' | ') FROM common three
                                 WHERE three.rest < two.rest
                                   AND one.most + two.most + three.rest > score
                             ) || ')'
                        END, ' | ')
                    FROM common two WHERE two.rest < one.rest AND one.most + two.rest > score
                ) || ')'
           END, ' | ')::tsquery AS terms
FROM common one, bar
WHERE rest > score
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=200_000)
    parser.add_argument("--questions", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    _set_up(arguments.chunks)
    _measure(arguments.questions, arguments.rounds)


def _set_up(chunks: int) -> None:
    os.environ.setdefault("STEELYARD_VAR", str(ROOT / "var" / "bench" / str(chunks)))
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

    if Chunk.objects.count() != chunks:
        print(f"Building {chunks} chunks ...", flush=True)
        corpus.build(chunks)


def _rules() -> dict[str, Rule]:
    """Each rule by its name."""
    rules = {f"rare terms to {budget}": _rare_terms(budget) for budget in BUDGETS}
    rules[EXACT] = _rare_terms(UNBOUNDED)
    rules["MaxScore, whole terms"] = _maxscore(PAIRS=_WHOLE_TERMS)
    rules["MaxScore, triples"] = _maxscore(PAIRS=_TRIPLES)
    rules["MaxScore, pairs: shipped"] = _maxscore()
    for budget in (5_000, 10_000, 20_000):
        rules[f"  budget {budget}"] = _maxscore(budget)
    for ranks in (30, 100):
        rules[f"  sure of {ranks} ranks"] = _maxscore(SURE_RANKS=ranks)
    for seed in (500, 2_000):
        rules[f"  seed of {seed}"] = _maxscore(SEED_CHUNKS=seed)
    rules["  20,000 however many terms"] = _maxscore(20_000, FEW_TERMS=64)
    return rules


def _rare_terms(budget: int) -> Rule:
    return _rule(_RARE_TERMS.format(budget=budget, depth=DEPTH))


def _maxscore(budget: int = UNBOUNDED, **changed: Any) -> Rule:
    """The shipped rule with some `changed` constants of its module."""
    from search.domain import Profile, Query
    from search.retrieval import Filters, Scope
    from search.signals import keyword
    from search.signals.keyword import KeywordSignal
    from search.signals.registry import Inputs

    profile = Profile("", 1, {}, depth=DEPTH, keyword_budget=budget)
    with mock.patch.dict(vars(keyword), changed):
        inputs = Inputs(Query(""), Scope.of(None, Filters()), profile, frozenset())
        signal = KeywordSignal().sql(inputs)
    params = {**signal.score_params, "budget": budget}
    return _rule(str(signal.find), signal.tables, params, changed)


def _rule(
    find: str,
    tables: str = "",
    params: Mapping[str, Any] = MappingProxyType({}),
    changed: Mapping[str, Any] = MappingProxyType({}),
) -> Rule:
    from common.database import named
    from ingestion.models import Collection
    from search.signals import query_terms

    readable, of = named(Collection.objects.visible_to(None).order_by().values("pk"), "of")
    common = f"{query_terms.TABLE}, {tables}".rstrip().rstrip(",")
    statement = f"WITH readable(id) AS MATERIALIZED ({readable}), {common} {find}"
    return statement, {"budget": UNBOUNDED, **of, **params}, changed


def _measure(count: int, rounds: int) -> None:
    """Print the table. The rules take turns at every question, after one round that is not
    measured.
    """
    from benchmarks import texts
    from search.query import parse

    queries = [parse(text, ()) for text in texts.questions(count)]
    rules = _rules()
    exact = [_run(rules[EXACT], query)[0] for query in queries]
    timings: dict[str, list[tuple[Sequence[int], float]]] = {name: [] for name in rules}
    for round_number in range(rounds + 1):
        for query in queries:
            for name, rule in rules.items():
                ids, elapsed = _run(rule, query)
                if round_number:
                    timings[name].append((ids, elapsed))
    print(f"{count} questions, {rounds} rounds")
    print(f"{'':<26}{'of 10':>8}{'of 100':>8}{'p50 ms':>8}{'p95 ms':>8}{'p50':>7}")
    base = statistics.median(elapsed for _, elapsed in timings["rare terms to 10000"])
    for name, runs in timings.items():
        times = [elapsed for _, elapsed in runs]
        shares = [_shares(run[0], exact[i % count]) for i, run in enumerate(runs)]
        p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
        ten, hundred = (statistics.fmean(column) for column in zip(*shares, strict=True))
        print(f"{name:<26}{ten:>8.4f}{hundred:>8.4f}{p50:>8.1f}{p95:>8.1f}{p50 / base:>7.2f}")


def _run(rule: Rule, query: Query) -> tuple[list[int], float]:
    from django.db import connection

    from search.domain import Profile
    from search.retrieval import Filters, Scope
    from search.retrieval.word_lookup import asked_words
    from search.signals import keyword
    from search.signals.registry import Inputs

    statement, params, changed = rule
    scope = Scope.of(None, Filters())
    inputs = Inputs(query, scope, Profile("", 1, {}), frozenset())
    inputs = replace(inputs, words=asked_words(inputs, scope))
    with mock.patch.dict(vars(keyword), changed):
        values = inputs.words.params() | dict(keyword.KeywordSignal().params(inputs))
    with connection.cursor() as cursor:
        started = time.perf_counter()
        cursor.execute(statement, {**params, **values})
        ids = [row[0] for row in cursor.fetchall()]
        return ids, (time.perf_counter() - started) * 1000


def _shares(ids: Sequence[int], exact: Sequence[int]) -> tuple[float, float]:
    """The shares of the exact top 10 and top 100 among the first as many."""

    def share(depth: int) -> float:
        best = set(exact[:depth])
        return len(best & set(ids[:depth])) / len(best) if best else 1.0

    return share(10), share(100)


if __name__ == "__main__":
    main()
