"""The golden set: queries, their judged documents, and each profile's ranking of them.

`ask` is the search that readers use, under any profile, published or not. A measure over the
golden set covers all documents, whoever the viewer is: see `profile_runs.evaluator`. `compare`
measures a profile and its baseline alternately.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import defaultdict
from collections.abc import Collection as Container
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from uuid import UUID

import numpy as np
from django.conf import settings
from django.utils.translation import gettext

from ingestion.errors import EmbeddingError
from ingestion.models import Collection, Document
from search.domain import Profile, QueryClass
from search.engine.configuration import Configuration
from search.engine.embed import warm_up
from search.errors import RunFailed, SearchError
from search.pipeline import Choices, SearchResponse
from search.query.parse import parse
from search.tuning.evaluation import measures
from search.tuning.evaluation.measures import Progress, median_grade
from search.tuning.evaluation.profile_runs import (
    class_by_our_rules,
    embedding_time,
    latency,
    problem_in,
    response_to,
)
from search.tuning.models import GoldenQuery, Judgement

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Golden:
    """A golden query for measurement. Documents are named by their public ids.

    `qrels` has each judged document's grade: the median over its judges, rounded down.
    Deleted documents are in neither `qrels` nor `must_be_first`: no profile can find them.
    `query_class` is the class to use; None: the one that the rules give.
    """

    pk: int
    public_id: str
    text: str
    collections: tuple[str, ...] = ()
    qrels: Mapping[str, int] = field(default_factory=dict)
    must_be_first: str = ""
    query_class: QueryClass | None = None

    @property
    def key(self) -> str:
        """Its key in `EvaluationRun.by_query`."""
        return str(self.pk)

    @property
    def is_measured(self) -> bool:
        """True if a judged document answers it, so that measures are meaningful."""
        return any(grade > 0 for grade in self.qrels.values())


@dataclass(frozen=True, slots=True)
class GoldenRanking:
    """A profile's ranking for one golden query.

    `ranking` holds documents' public ids by their best passage, without repeats. `query_class` is
    the class by the default rules, whatever classifier the profile has. `problem` is the reason why
    the ranking must not be measured, else empty.
    """

    ranking: tuple[str, ...]
    milliseconds: float
    query_class: QueryClass | None
    problem: str = ""

    @property
    def first(self) -> str:
        """The first document; empty if there are no results."""
        return self.ranking[0] if self.ranking else ""


def golden_set() -> tuple[Golden, ...]:
    """The enabled golden queries that a search can run, in a stable order.

    Four database queries at most. A query with neither judgements nor a must-be-first document is
    left out.
    """
    return tuple(golden for golden, refusal in golden_queries() if not refusal)


def golden_queries() -> list[tuple[Golden, str]]:
    """All that are enabled and judged, each with the reason why no search can run it any more.

    The reason is empty for those of the golden set: others would measure 0 under every profile.
    """
    rows = GoldenQuery.objects.filter(enabled=True).order_by("folded", "pk")
    queries = list(
        rows.select_related("must_be_first").only(
            "public_id", "text", "collections", "query_class",
            "must_be_first__public_id", "must_be_first__deleted_at",
        )
    )  # fmt: skip
    grades = _grades([query.pk for query in queries])
    judged = {reference for of_query in grades.values() for reference in of_query}
    present = {
        str(public_id)
        for public_id in Document.objects.undeleted()
        .filter(public_id__in=judged)
        .values_list("public_id", flat=True)
    }
    every = (_golden(query, grades[query.pk], present) for query in queries)
    goldens = [golden for golden in every if golden.qrels or golden.must_be_first]
    named = {slug for golden in goldens for slug in golden.collections}
    known = Collection.objects.undeleted().filter(slug__in=named) if named else ()
    slugs = {each.slug for each in known}
    return [(golden, _refusal(golden, slugs)) for golden in goldens]


def _refusal(golden: Golden, slugs: Container[str]) -> str:
    if golden.collections and not any(slug in slugs for slug in golden.collections):
        text = gettext("There is no collection %(slugs)s any more.")
        return text % {"slugs": ", ".join(golden.collections)}
    return _unreadable(golden.text, settings.SEARCH_QUERY_CHARS)


@lru_cache(maxsize=10_000)  # every move of a slider reads thousands
def _unreadable(text: str, most: int) -> str:
    """Why a search refuses the text; empty if it does not."""
    try:
        parse(text, (), most=most)
    except SearchError as error:
        return str(error)
    return ""


def _grades(queries: Sequence[int]) -> dict[int, dict[str, int]]:
    """The grade of each judged document, by query.

    Read as plain rows, not as instances: every move of a slider reads thousands.
    """
    by_query: dict[int, dict[str, list[int]]] = {pk: defaultdict(list) for pk in queries}
    rows = Judgement.objects.filter(query__in=queries).order_by("pk")
    for query, reference, grade in rows.values_list("query", "reference", "grade"):
        by_query[query][str(reference)].append(grade)
    return {
        query: {reference: median_grade(grades) for reference, grades in documents.items()}
        for query, documents in by_query.items()
    }


def _golden(query: GoldenQuery, grades: Mapping[str, int], present: Container[str]) -> Golden:
    first = query.must_be_first
    return Golden(
        pk=query.pk,
        public_id=str(query.public_id),
        text=query.text,
        collections=tuple(query.collections),
        qrels={reference: grade for reference, grade in grades.items() if reference in present},
        must_be_first=str(first.public_id) if first and first.deleted_at is None else "",
        query_class=QueryClass(query.query_class) if query.query_class else None,
    )


def ask(
    golden: Golden,
    profile: Profile,
    *,
    embedding: float | None = None,
    configured: Configuration | None = None,
    without: int | None = None,
) -> GoldenRanking:
    """Run a golden query under `profile`, through the search that readers use.

    `embedding` is the query's embedding latency in ms (see `asking`): `milliseconds` is then the
    latency of an uncached query. `configured` replaces the saved configuration; `without` is a
    chunk that does not count.
    """
    choices = Choices(snapshot=profile, query_class=golden.query_class)
    response = response_to(golden.text, golden.collections, choices, configured=configured)
    if response is None:
        raise RunFailed(gettext("No search can run “%(text)s”.") % {"text": golden.text})
    return GoldenRanking(
        ranking=_public_ids(response, without),
        milliseconds=latency(response, embedding),
        query_class=golden.query_class or class_by_our_rules(response),
        problem=problem_in(response.degraded),
    )


def values_of(
    goldens: Sequence[Golden], rankings: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """Every measure by golden key, of the measured queries that have a ranking."""
    judged = {each.key: each.qrels for each in goldens if each.is_measured and each.key in rankings}
    return measures.measure(judged, {key: rankings[key] for key in judged})


def fingerprint(profile: Profile) -> str:
    """A hash of everything in a profile that affects its ranking: all but name and version."""
    ranked_by = {
        each.name: getattr(profile, each.name)
        for each in fields(Profile)
        if each.name not in ("name", "version", "weights", "boosts")
    }
    ranked_by["weights"] = {
        query_class: weights.as_dict() for query_class, weights in profile.weights.items()
    }
    ranked_by["boosts"] = [asdict(boost) for boost in profile.boosts]
    return hashlib.sha256(json.dumps(ranked_by, sort_keys=True).encode()).hexdigest()


def _public_ids(response: SearchResponse, without: int | None) -> tuple[str, ...]:
    hits = (hit for hit in response.ranking.hits if hit.chunk_id != without)
    ordered = list(dict.fromkeys(hit.document_id for hit in hits))
    rows = Document.objects.filter(pk__in=ordered).values_list("pk", "public_id")
    public: dict[int, UUID] = dict(rows)
    return tuple(str(public[pk]) for pk in ordered if pk in public)


# The least number of searches for a profile's latency, and the most rounds to reach it: the p95
# of fewer is noise. A guess that keeps a small set's run within seconds.
LATENCY_SEARCHES, LATENCY_ROUNDS = 60, 5


@dataclass(slots=True)
class MeasuredProfile:
    """One profile's results on the golden set, by query key."""

    profile: Profile
    answers: dict[str, GoldenRanking] = field(default_factory=dict)
    milliseconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def latency(self) -> dict[str, float]:
        """p50 and p95 over the queries, each by the median of its rounds."""
        return measures.latencies([float(np.median(each)) for each in self.milliseconds.values()])


@dataclass(frozen=True, slots=True)
class MeasuredPair:
    """The golden set under a candidate and, if there is one, its baseline."""

    goldens: tuple[Golden, ...]
    candidate: MeasuredProfile
    baseline: MeasuredProfile | None = None

    @property
    def differences(self) -> dict[str, measures.Interval]:
        """Candidate minus baseline, by measure; empty without a baseline or a measured query."""
        if self.baseline is None or not self.candidate.values:
            return {}
        ours, theirs = self.candidate.values, self.baseline.values
        return {name: measures.difference(ours, theirs, name) for name in measures.NAMES}


def compare(
    goldens: Sequence[Golden],
    candidate: Profile,
    baseline: Profile | None,
    *,
    progress: Progress = lambda done, total: None,
) -> MeasuredPair:
    """Measure the golden set under both profiles.

    `progress` gets the number of searches done and their total.
    Raises RunFailed if the embedding model or the reranker does not answer.
    """
    sides = [MeasuredProfile(profile) for profile in (candidate, baseline) if profile]
    rounds = min(LATENCY_ROUNDS, -(-LATENCY_SEARCHES // max(1, len(goldens))))
    total = rounds * len(goldens)
    warm_up()
    for done in range(total):
        progress(done, total)
        golden = goldens[done % len(goldens)]
        embedding = _embedding_time(golden)
        # The first search pays for cold caches, so the profiles alternate.
        for turn in range(len(sides)):
            _ask(sides[(done + done // len(goldens) + turn) % len(sides)], golden, embedding)
    for side in sides:
        rankings = {key: answer.ranking for key, answer in side.answers.items()}
        side.values = values_of(goldens, rankings)
    return MeasuredPair(tuple(goldens), sides[0], sides[1] if baseline else None)


def _embedding_time(golden: Golden) -> float | None:
    try:
        return embedding_time(golden.text)
    except EmbeddingError as error:
        # Harmless to a profile without the vector signal; the others' answers are degraded.
        logger.warning("The golden query could not be embedded: %s", error)
        return None


def _ask(side: MeasuredProfile, golden: Golden, embedding: float | None) -> None:
    answer = ask(golden, side.profile, embedding=embedding)
    if answer.problem:
        raise RunFailed(answer.problem)
    side.answers.setdefault(golden.key, answer)
    side.milliseconds[golden.key].append(answer.milliseconds)
