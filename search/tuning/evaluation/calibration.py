"""Judged and unanswerable questions -> the calibration of the active space's confidences.

Questions run through the search's own pipeline, as readers' do. Half of them have an answer in
the collection that they are asked of; see `QuestionKind` for the others.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from search.domain import Candidates, Profile, Signal
from search.engine import configuration
from search.models import Calibration
from search.pipeline import Choices, SearchResponse
from search.ranking import Batch, prepare, rank
from search.ranking.confidence import FIRST_PAGE, Evidence
from search.ranking.rank import grouped, leaders
from search.tuning.evaluation.collections import (
    Corpus,
    EvaluationError,
    JudgedCollection,
    Searchable,
)
from search.tuning.evaluation.reliability import (
    QuestionKind,
    Sample,
    fit,
    is_held_out,
    measure,
)
from search.tuning.evaluation.runner import embed, response_to

Loaded = tuple[JudgedCollection, Corpus]
Progress = Callable[[int, int], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CalibrationQuestion:
    """A question, why it has an answer or none, and the group that its answer belongs to."""

    kind: QuestionKind
    text: str
    group: str
    relevant: frozenset[str] = frozenset()


def calibrate(
    loaded: Sequence[Loaded],
    *,
    limit: int | None = None,
    seed: int = 0,
    profile: str = "",
    progress: Progress = lambda done, total: None,
) -> Calibration:
    """Fit, evaluate on held-out questions, and store the active space's calibration; return it.

    `limit` is the number of answerable questions per collection. A question is held out with all
    others about the same document or of the same title; about half are. `profile` is a name as in
    `Configuration.profile`. Raises EvaluationError when nothing can be fitted.
    """
    configured = configuration.current()
    if configured.space is None:
        raise EvaluationError(
            "There is no active embedding space to calibrate. Upload a document first."
        )
    ranking = configured.profile(profile)
    samples = list(collect(loaded, ranking, limit=limit, seed=seed, progress=progress))
    training = [sample for sample in samples if not is_held_out(sample.group, seed)]
    held_out = [sample for sample in samples if is_held_out(sample.group, seed)]
    try:
        fitted = fit(training)
    except ValueError as error:
        raise EvaluationError(
            f"{error} {ranking.name} must weigh vectors and score keywords by BM25; or take more "
            "questions."
        ) from error
    names = ", ".join(judged.name for judged, _ in loaded)
    row, _ = Calibration.objects.update_or_create(
        space=configured.space,
        defaults={
            "coefficients": fitted.as_json(),
            "measures": measure(fitted, held_out),
            "trained_on": f"{names}; {len(training)} rankings by {ranking.name} "
            f"v{ranking.version}, {len(held_out)} set aside; seed {seed}",
        },
    )
    return row


def collect(
    loaded: Sequence[Loaded],
    profile: Profile,
    *,
    limit: int | None = None,
    seed: int = 0,
    progress: Progress = lambda done, total: None,
) -> Iterator[Sample]:
    """Yield the samples of all questions; each collection is also asked the others' questions."""
    selected = [
        (questions(judged, _others(judged, loaded), limit=limit, seed=seed), corpus)
        for judged, corpus in loaded
    ]
    done, total = 0, sum(len(each) for each, _ in selected)
    for each, corpus in selected:
        for question in each:
            progress(done, total)
            done += 1
            yield from ask(question, corpus, profile)


def _others(judged: JudgedCollection, loaded: Sequence[Loaded]) -> list[JudgedCollection]:
    return [other for other, _ in loaded if other is not judged]


def questions(
    judged: JudgedCollection,
    others: Sequence[JudgedCollection],
    *,
    limit: int | None = None,
    seed: int = 0,
) -> list[CalibrationQuestion]:
    """The questions for one collection: `limit` with an answer, and about as many without.

    Those without come in equal parts from each available kind. The same seed draws the same.
    """
    chance = random.Random(seed)  # noqa: S311 - to sample questions
    titles = judged.groups()

    def group(passage: str) -> str:
        return f"{judged.name}: {titles.get(passage) or passage}"

    answerable = []
    for query, text in _drawn(list(judged.queries.items()), limit, chance):
        relevant = sorted(p for p, grade in judged.qrels[query].items() if grade > 0)
        answerable.append(
            CalibrationQuestion(
                QuestionKind.ANSWERABLE, text, group(relevant[0]), frozenset(relevant)
            )
        )
    unanswerable = [
        CalibrationQuestion(QuestionKind.UNANSWERABLE, text, group(paragraph))
        for text, paragraph in judged.unanswerable()
    ]
    foreign = [
        CalibrationQuestion(QuestionKind.FOREIGN, text, f"{other.name}: {query}")
        for other in others
        for query, text in _drawn(list(other.queries.items()), len(answerable), chance)
    ]
    withheld = [replace(question, kind=QuestionKind.WITHHELD) for question in answerable]
    kinds = [kind for kind in (unanswerable, foreign, withheld) if kind]
    share = -(-len(answerable) // len(kinds))
    return answerable + [each for kind in kinds for each in _drawn(kind, share, chance)]


def _drawn(items: Sequence[T], limit: int | None, chance: random.Random) -> list[T]:
    if limit is None or limit >= len(items):
        return list(items)
    return chance.sample(items, limit)


def ask(question: CalibrationQuestion, corpus: Searchable, profile: Profile) -> Iterator[Sample]:
    """Yield a sample of the question's ranking with the vector signal and one without.

    Yield nothing if the search rejects the question: there is no ranking then.
    """
    response = _response(question, corpus, profile)
    if response is None:
        return
    candidates = response.ranking.candidates
    if question.kind is QuestionKind.WITHHELD:
        candidates = candidates.only(~corpus.holds(candidates, question.relevant))
    for variant in (candidates, candidates.without_vectors()):
        if sample := _sample(question, variant, corpus, response):
            yield sample


def _response(
    question: CalibrationQuestion, corpus: Searchable, profile: Profile
) -> SearchResponse | None:
    embed(question.text)
    choices = Choices(profile=f"{profile.name}@{profile.version}")
    response = response_to(question.text, corpus.slugs, choices, page_size=1)
    if response is not None and Signal.VECTOR in response.degraded:
        raise EvaluationError(
            "The embedding model did not answer, so nothing can be calibrated. Check that it is "
            "running, then retry."
        )
    return response


def _sample(
    question: CalibrationQuestion,
    candidates: Candidates,
    corpus: Searchable,
    response: SearchResponse,
) -> Sample | None:
    """The sample of a ranking of the candidates; None if the ranking has no evidence."""
    profile, query_class = response.profile, response.classification.query_class
    batch = Batch.of([prepare(candidates, profile, response.settled.signals)])
    ranked = rank(batch, [response.weights], [query_class], profile)
    (prepared,), order = batch.prepared, ranked.columns(0)
    evidence = Evidence.of(prepared, leaders(prepared, order), profile.keyword_scorer)
    if evidence is None:
        return None
    shown = [
        column
        for group in grouped(prepared, order)[:FIRST_PAGE]
        for column in (group.best, *group.copies)
    ]
    holds = corpus.holds(candidates, question.relevant)[prepared.rows[shown]]
    answered = question.kind is QuestionKind.ANSWERABLE and bool(holds.any())
    return Sample(question.kind, question.group, answered, evidence)
