"""Preset test 1: the seeds' golden values, through the shipped profiles, classifiers and `rank`.

The golden values lie beside the project; in CI they must be there.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pytest import approx

from ingestion.identifiers import DEFAULT_PATTERNS
from search.answers.checking.verdicts import field_factor, source_credit
from search.answers.making.modes import escalates
from search.domain import Candidate, Hit, Profile, QueryClass, Signal
from search.presets.seeds import PRESETS
from search.query import classifiers, parse
from search.query.classifiers import classify_by
from search.ranking.text_boosts import applicable, boost_key
from tests.support.ranking import rank

GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "seed_presets.json"
BY_NAME = {preset.name: preset.profile for preset in PRESETS}
Case = Mapping[str, Any]
exactly = {"abs": 1e-6, "rel": 0}

# The bm25_term case is arithmetic of the database: tests/postgres/test_presets.py holds it. The
# physical-ai rows are labels: tests/unit/test_classifiers.py measures the accuracy on them.
OTHER_TESTS = {("concept-rag", "bm25_term"), ("physical-ai:shipped", "classify")}


@cache
def cases() -> tuple[Case, ...]:
    if not GOLDEN.is_file():
        assert "CI" not in os.environ, f"The golden values are missing: {GOLDEN}"
        pytest.skip(f"needs the golden values in {GOLDEN}")
    found: tuple[Case, ...] = tuple(json.loads(GOLDEN.read_text())["cases"])
    return found


def of_kind(kind: str, *presets: str) -> list[Case]:
    chosen = [case for case in cases() if case["kind"] == kind]
    return [case for case in chosen if not presets or case["preset"] in presets]


def ranked(
    profile: Profile, raw: Mapping[str, Mapping[Signal, float]], query_class: QueryClass
) -> dict[str, Hit]:
    """The hits by the names in `raw`, best first, under the profile's weights for the class."""
    names = dict(enumerate(raw, start=1))
    candidates = [Candidate(pk, pk, dict(raw[name])) for pk, name in names.items()]
    weights = profile.weights[query_class]
    hits = rank(candidates, weights, profile, query_class)
    return {names[hit.candidate.chunk_id]: hit for hit in hits}


def scores(hits: Mapping[str, Hit]) -> dict[str, float]:
    return {name: hit.score for name, hit in hits.items()}


def lists(case: Mapping[str, Any], names: Mapping[str, Signal]) -> dict[str, dict[Signal, float]]:
    """The raw scores of a case: lists of names become scores that fall with the rank."""
    raw: dict[str, dict[Signal, float]] = {}
    for name, signal in names.items():
        given = case[name]
        if isinstance(given, list):
            given = {each: 1 / place for place, each in enumerate(given, start=1)}
        for each, score in given.items():
            raw.setdefault(each, {})[signal] = score
    return raw


def test_every_golden_case_is_tested() -> None:
    kinds = Counter((case["preset"], case["kind"]) for case in cases())
    here = {key for keys in HERE.values() for key in keys}
    assert set(kinds) == here | OTHER_TESTS
    assert sum(kinds.values()) == len(cases())


def fuse_indexfoundry(case: Case) -> None:
    """S1-11, S1-34, S1-36: raw scores, .7 and .3."""
    raw = {
        name: {Signal.VECTOR: given["semantic"], Signal.KEYWORD: float(given["keyword"])}
        for name, given in case["input"].items()
    }
    hits = ranked(BY_NAME[case["preset"]], raw, QueryClass.GENERAL)
    expected = dict(case["expect"])
    assert list(hits) == expected.pop("order")
    assert scores(hits) == approx(expected, **exactly)


def fuse_indexfoundry_rrf(case: Case) -> None:
    """S1-10, S1-37: the sum of 1 / (60 + rank); weighed one half each, half of it."""
    profile = BY_NAME[case["preset"]]
    assert profile.rrf_k == case["input"]["k"]
    raw = lists(case["input"], {"keyword": Signal.KEYWORD, "semantic": Signal.VECTOR})
    hits = ranked(profile, raw, QueryClass.GENERAL)
    expected = dict(case["expect"])
    first, second = expected.pop("tie")
    assert hits[first].score == hits[second].score
    for name, score in expected.items():
        assert hits[name].score / 0.5 == approx(score, **exactly)


def boost_anchor(case: Case) -> None:
    """S1-24: times 1.5 for each anchor in the text."""
    given = case["input"]
    (boost,) = BY_NAME[case["preset"]].boosts
    assert boost.amount == given["factor"]
    candidate = Candidate(
        1,
        1,
        {Signal.VECTOR: 0.7, Signal.KEYWORD: 1.0},
        boosts={boost_key(boost): given["anchors_in_text"]},
    )
    profile = BY_NAME[case["preset"]]
    (plain,) = rank([replace(candidate, boosts={})], profile.weights[QueryClass.GENERAL], profile)
    (hit,) = rank([candidate], profile.weights[QueryClass.GENERAL], profile)
    assert plain.score == approx(given["score"], **exactly)
    assert hit.score == approx(case["expect"]["score"], **exactly)


def keyword_only(case: Case) -> None:
    """S1-28."""
    found = re.search(BY_NAME[case["preset"]].bypass, case["input"]) is not None
    assert found is case["expect"]


def weights_adaptive(case: Case) -> None:
    """S1-15 to S1-22."""
    profile, expected = BY_NAME[case["preset"]], case["expect"]
    found = classify_by(profile.classifier, parse(case["input"], DEFAULT_PATTERNS), ())
    weights = profile.weights[found.query_class]
    assert classifiers.specificity(case["input"]) == approx(expected["specificity"], **exactly)
    assert weights.vector == approx(expected["semantic"], **exactly)
    assert weights.keyword == approx(expected["keyword"], **exactly)


def weights_shipped(case: Case) -> None:
    """F1-01."""
    profile, expected = BY_NAME[case["preset"]], case["expect"]
    found = classify_by(profile.classifier, parse(case["input"], DEFAULT_PATTERNS), ())
    assert found.weights is not None
    assert list(classifiers.anchor_matches(case["input"])) == expected["anchors"]
    assert classifiers.anchored_specificity(case["input"]) == approx(
        expected["specificity"], **exactly
    )
    assert found.weights.vector == approx(expected["semantic"], **exactly)
    assert found.weights.keyword == approx(expected["keyword"], **exactly)


def fuse_concept_rag(case: Case) -> None:
    """S2-08, S2-15 to S2-18: unscaled scores."""
    given, expected = case["input"], case["expect"]
    raw = {
        Signal.VECTOR: given["vector"],
        Signal.KEYWORD: given["bm25"],
        Signal.TITLE: given["title"],
    }
    hit = ranked(BY_NAME[case["preset"]], {"one": raw}, QueryClass.GENERAL)["one"]
    assert hit.score == approx(expected["hybrid"], **exactly)
    assert 1 - hit.score == approx(expected.get("distance", 1 - expected["hybrid"]), **exactly)


def fuse_five_signals(case: Case) -> None:
    """F2-03, F2-04: every signal in 0-1; the best of BM25 and WordNet has 1, here another one."""
    given = case["input"]
    raw = {
        Signal.VECTOR: given["vector"],
        Signal.KEYWORD: given["bm25"],
        Signal.TITLE: given["title"],
        Signal.CONCEPT: given["concept"],
        Signal.WORDNET: given["wordnet"],
    }
    best = {Signal.VECTOR: 0.0, Signal.KEYWORD: 1.0, Signal.WORDNET: 1.0}
    name = {"concept-rag:adr22": "concept-rag:five"}.get(case["preset"], case["preset"])
    hits = ranked(BY_NAME[name], {"one": raw, "best": best}, QueryClass.GENERAL)
    assert hits["one"].score == approx(case["expect"]["hybrid"], **exactly)


def fuse_textbook(case: Case) -> None:
    """S3-22 to S3-24, S3-32, S3-36: the raw cosine, BM25 over its maximum, missing is 0."""
    raw = lists(case["input"], {"semantic": Signal.VECTOR, "bm25": Signal.KEYWORD})
    hits = ranked(BY_NAME[case["preset"]], raw, QueryClass.GENERAL)
    expected = dict(case["expect"])
    assert list(hits) == expected.pop("order")
    assert scores(hits) == approx(expected, **exactly)


def classify_mind(case: Case) -> None:
    """S4-06 to S4-12, F4-01."""
    profile, expected = BY_NAME[case["preset"]], case["expect"]
    found = classify_by(profile.classifier, parse(case["input"], DEFAULT_PATTERNS), ())
    assert found.query_class == expected["class"]
    assert found.confidence == approx(expected["confidence"], **exactly)
    weights = profile.weights[found.query_class]
    assert (weights.vector, weights.keyword) == (expected["vector"], expected["keyword"])


def rrf_mind(case: Case) -> None:
    """F4-01's factor for both, both first, under the class's weights."""
    raw = lists(case["input"], {"vector": Signal.VECTOR, "keyword": Signal.KEYWORD})
    hits = ranked(BY_NAME[case["preset"]], raw, QueryClass(case["input"]["class"]))
    expected = dict(case["expect"])
    assert list(hits) == expected.pop("order")
    assert scores(hits) == approx(expected, **exactly)


def source_credit_mind(case: Case) -> None:
    """S4-16."""
    given = case["input"]
    assert source_credit(given["exists"], given["snippet"]) == approx(case["expect"], **exactly)


def field_confidence_mind(case: Case) -> None:
    """S4-17."""
    assert field_factor(case["input"]) == approx(case["expect"], **exactly)


def fuse_physical_ai(case: Case) -> None:
    """F5-02: vector / max, the keyword score as it is, then a term by the chunk's kind."""
    given, expected = case["input"], case["expect"]
    query_class = QueryClass(given["class"])
    profile = BY_NAME[case["preset"]]
    boosts = applicable(profile.boosts, query_class)
    raw = lists(given, {"vector": Signal.VECTOR, "bm25": Signal.KEYWORD})
    kinds = given["chunk_type"]
    candidates = [
        Candidate(
            int(name),
            1,
            found,
            boosts={boost_key(b): 1 for b in boosts if kinds[name] in b.kinds},
        )
        for name, found in raw.items()
    ]
    weights = profile.weights[query_class]
    boosted = rank(candidates, weights, profile, query_class)
    plain = rank([replace(each, boosts={}) for each in candidates], weights, profile)
    for hits, wanted in ((plain, expected["hybrid"]), (boosted, expected["boosted"])):
        found_scores = {str(hit.candidate.chunk_id): hit.score for hit in hits}
        assert found_scores == approx(wanted, **exactly)
    assert [str(hit.candidate.chunk_id) for hit in boosted] == expected["order"]


def escalate_mind(case: Case) -> None:
    """S4-15: strictly below, with a language model."""
    given = case["input"]
    assert escalates(given["confidence"], given["llm"]) is case["expect"]


_MIXTURES = ("100/0", "0/100", "50/50", "60/40", "80/20")
HERE: dict[Callable[[Case], None], tuple[tuple[str, str], ...]] = {
    fuse_indexfoundry: (("indexfoundry", "fuse"),),
    fuse_indexfoundry_rrf: (("indexfoundry:rrf", "fuse"),),
    boost_anchor: (("indexfoundry:anchor", "boost"),),
    keyword_only: (("indexfoundry", "keyword_only"),),
    weights_adaptive: (("indexfoundry:adaptive", "weights"),),
    weights_shipped: (("indexfoundry:shipped", "weights"),),
    fuse_concept_rag: tuple(
        (name, "fuse") for name in ("concept-rag", "concept-rag:titles", "concept-rag:semantics")
    ),
    fuse_five_signals: tuple(
        (name, "fuse") for name in ("concept-rag:chunk", "concept-rag:concept", "concept-rag:adr22")
    ),
    fuse_textbook: (("textbook", "fuse"), *((f"textbook:{mix}", "fuse") for mix in _MIXTURES)),
    classify_mind: (("mind", "classify"),),
    rrf_mind: (("mind", "rrf"),),
    escalate_mind: (("mind", "escalate"),),
    source_credit_mind: (("mind", "source_credit"),),
    field_confidence_mind: (("mind", "field_confidence"),),
    fuse_physical_ai: (("physical-ai:shipped", "fuse"),),
}


@pytest.mark.parametrize("check", HERE, ids=lambda check: check.__name__)
def test_golden_cases_of_the_presets_hold(check: Callable[[Case], None]) -> None:
    """Preset test 1, exact to 1e-6."""
    chosen = [case for preset, kind in HERE[check] for case in of_kind(kind, preset)]
    assert chosen
    for case in chosen:
        check(case)
