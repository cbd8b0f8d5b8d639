"""W3: the golden set: people's questions, what answers them, and how a profile ranks for each.

`ask` is the search that readers use, under any profile, published or not. A measure over the
golden set is taken over all documents, whoever looks: see `asking.evaluator`.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections import defaultdict
from collections.abc import Collection as Container
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from uuid import UUID

from ingestion.models import Document
from search.domain import Profile, QueryClass
from search.pipeline import Choices, SearchResponse
from search.tuning.evaluation import measures
from search.tuning.evaluation.asking import class_by_our_rules, latency, response_to
from search.tuning.models import GoldenQuery, Judgement

SYNTHETIC = GoldenQuery.Origin.SYNTHETIC


@dataclass(frozen=True, slots=True)
class Golden:
    """A golden query as it is measured. Documents are named by their public ids.

    `qrels` has each judged document's grade: the median over its judges, rounded down.
    Documents that were deleted are in neither `qrels` nor `must_be_first`: no profile can find
    them. `query_class` is the class asked for; None: whatever the rules say.
    """

    pk: int
    public_id: str
    text: str
    collections: tuple[str, ...] = ()
    qrels: Mapping[str, int] = field(default_factory=dict)
    must_be_first: str = ""
    query_class: QueryClass | None = None
    origin: str = GoldenQuery.Origin.PERSON

    @property
    def key(self) -> str:
        """Its name in `EvaluationRun.by_query`."""
        return str(self.pk)

    @property
    def is_measured(self) -> bool:
        """Whether measures say anything: some document answers it."""
        return any(grade > 0 for grade in self.qrels.values())


@dataclass(frozen=True, slots=True)
class Answer:
    """How a profile ranked for one golden query.

    `ranking` is of documents' public ids, each where its best passage stands, without repeats;
    empty where search refused the question. `query_class` is the class by our rules, whatever the
    profile classifies by. `degraded`: a signal could not run, so this measures nothing.
    """

    ranking: tuple[str, ...]
    milliseconds: float
    query_class: QueryClass | None
    degraded: bool = False
    refused: bool = False

    @property
    def first(self) -> str:
        """The first document; empty for none."""
        return self.ranking[0] if self.ranking else ""


def golden_set(
    *, pks: Container[int] | None = None, origins: Container[str] | None = None
) -> tuple[Golden, ...]:
    """The enabled golden queries, in a stable order, in three queries.

    `pks` and `origins` take only those; a query without judgements and without a document that
    must be first is left out.
    """
    rows = GoldenQuery.objects.filter(enabled=True).order_by("folded", "pk")
    if pks is not None:
        rows = rows.filter(pk__in=list(pks))
    if origins is not None:
        rows = rows.filter(origin__in=list(origins))
    queries = list(
        rows.select_related("must_be_first").only(
            "public_id", "text", "collections", "query_class", "origin",
            "must_be_first__public_id", "must_be_first__deleted_at",
        )
    )  # fmt: skip
    grades = _grades([query.pk for query in queries])
    judged = {reference for of_query in grades.values() for reference in of_query}
    kept = {
        str(public_id)
        for public_id in Document.objects.kept()
        .filter(public_id__in=judged)
        .values_list("public_id", flat=True)
    }
    every = (_golden(query, grades[query.pk], kept) for query in queries)
    return tuple(golden for golden in every if golden.qrels or golden.must_be_first)


def median_grade(grades: Sequence[int]) -> int:
    """The grade that several judges' come to: their median, rounded down."""
    return int(statistics.median(grades))


def _grades(queries: Sequence[int]) -> dict[int, dict[str, int]]:
    """Each query's grade of each document judged.

    Read as plain rows: at each move of a slider there are thousands.
    """
    given: dict[int, dict[str, list[int]]] = {pk: defaultdict(list) for pk in queries}
    rows = Judgement.objects.filter(query__in=queries).order_by("pk")
    for query, reference, grade in rows.values_list("query", "reference", "grade"):
        given[query][str(reference)].append(grade)
    return {
        query: {reference: median_grade(grades) for reference, grades in documents.items()}
        for query, documents in given.items()
    }


def _golden(query: GoldenQuery, grades: Mapping[str, int], kept: Container[str]) -> Golden:
    first = query.must_be_first
    return Golden(
        pk=query.pk,
        public_id=str(query.public_id),
        text=query.text,
        collections=tuple(query.collections),
        qrels={reference: grade for reference, grade in grades.items() if reference in kept},
        must_be_first=str(first.public_id) if first and first.deleted_at is None else "",
        query_class=QueryClass(query.query_class) if query.query_class else None,
        origin=query.origin,
    )


def ask(golden: Golden, profile: Profile, *, embedding: float | None = None) -> Answer:
    """How `profile` ranks for a golden query, through the search that readers use.

    `embedding` is what embedding it takes, in milliseconds (see `asking`): then
    `milliseconds` are as of a question that nobody has asked before.
    """
    choices = Choices(snapshot=profile, query_class=golden.query_class)
    response = response_to(golden.text, golden.collections, choices)
    if response is None:
        return Answer((), 0.0, None, refused=True)
    return Answer(
        ranking=_public_ids(response),
        milliseconds=latency(response, embedding),
        query_class=golden.query_class or class_by_our_rules(response),
        degraded=bool(response.degraded),
    )


def values_of(
    goldens: Sequence[Golden], rankings: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """Every measure by golden key, of those that are measured and have a ranking."""
    judged = {each.key: each.qrels for each in goldens if each.is_measured and each.key in rankings}
    return measures.measure(judged, {key: rankings[key] for key in judged})


def fingerprint(profile: Profile) -> str:
    """Another value for every profile that may rank otherwise; name and version do not count."""
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


def set_hash(goldens: Sequence[Golden]) -> str:
    """SHA-256 of what was asked and what counts as an answer: equal for comparable runs."""
    asked: list[tuple[str, Sequence[str], Mapping[str, int], str]] = [
        (each.text, each.collections, dict(each.qrels), each.must_be_first) for each in goldens
    ]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _public_ids(response: SearchResponse) -> tuple[str, ...]:
    ordered = response.ranking.documents
    rows = Document.objects.filter(pk__in=ordered).values_list("pk", "public_id")
    public: dict[int, UUID] = dict(rows)
    return tuple(str(public[pk]) for pk in ordered if pk in public)
