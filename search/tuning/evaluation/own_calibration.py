"""The site's own golden queries -> the calibration of the active space's confidences.

A golden query with a document graded 2 or 3 has an answer (1, where no grade is higher than 1);
one whose documents are all graded 0 has none. Some answerable ones are asked a second time with
their answers withheld, and questions that hardly any library answers are asked as well, since a
site has no other collection's.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ingestion.models import Document
from search.domain import Booleans, Candidates, Profile
from search.engine import configuration
from search.models import Calibration
from search.query.expand import query_key
from search.ranking.confidence import CalibrationModels
from search.tuning.evaluation.calibration import (
    CalibrationQuestion,
    Progress,
    ask,
    fitted_to,
    profile_to_calibrate,
    store,
)
from search.tuning.evaluation.collections import EvaluationError
from search.tuning.evaluation.golden import SYNTHETIC, Golden, golden_set
from search.tuning.evaluation.reliability import (
    QuestionKind,
    Sample,
    cross_validated,
    measure,
)

# Six coefficients are fitted to them, their withheld twins and as many foreign questions: about ten
# answered and ten unanswered a coefficient, the usual rule for a logistic regression (Peduzzi et
# al. 1996).
FEWEST = 60
ANSWERS = 2  # the least grade of a document that answers; 1 has the same topic
# Everyday questions from many fields; those that the site has as golden queries are not asked.
FOREIGN = (
    "what is the capital of Mongolia", "recipe for sourdough bread", "symptoms of iron deficiency",
    "who painted the Night Watch", "how deep is Lake Baikal", "when do tulips flower",
    "how to tie a bowline knot", "best time to visit Patagonia", "offside rule in football",
    "how many moons does Neptune have", "who wrote War and Peace", "remove wine stains from wool",
    "train a puppy to sit", "average rainfall in Bergen", "chords of an F major scale",
    "what causes northern lights", "how long to boil an egg", "history of the Suez Canal",
    "prune an apple tree", "boiling point of ethanol", "currency of Vietnam", "knit a ribbed scarf",
    "how do vaccines work", "first woman in space", "height of Mont Blanc",
    "why is the sky blue", "how to play the Sicilian Defence", "treat a sprained ankle",
    "calories in an avocado", "which king built Versailles", "life cycle of a salmon",
    "clean a cast iron pan", "distance from Rome to Naples", "what is a haiku",
    "repair a bicycle puncture", "how are diamonds formed", "when was the printing press invented",
    "grow basil on a balcony", "rules of curling", "what do hedgehogs eat",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GoldenCorpus:
    """The documents of a site, named by their public ids; searched as a golden query asks."""

    slugs: Sequence[str]
    names: Mapping[int, str]

    def holds(self, candidates: Candidates, relevant: frozenset[str]) -> Booleans:
        documents = candidates.rows["document"].tolist()
        return np.array([self.names.get(pk, "") in relevant for pk in documents], np.bool_)


@dataclass(frozen=True, slots=True)
class OwnCalibration:
    """A fitted calibration, its cross-validated figures, and what it was fitted to.

    `before` are the figures of the one in use until now on the same questions; empty if none is.
    """

    fitted: CalibrationModels
    measures: dict[str, Any]
    trained_on: str
    before: dict[str, Any]

    def store(self) -> Calibration:
        """Put it into use for the active space, in place of an earlier one."""
        return store(self.fitted, self.measures, self.trained_on)


def fit_golden(
    *, seed: int = 0, profile: str = "", progress: Progress = lambda done, total: None
) -> OwnCalibration:
    """Fit a calibration of the active space to the enabled golden queries; store nothing.

    Its figures are cross-validated: a question is measured by a fit without all questions about
    its best document. Synthetic queries are left out. Raises EvaluationError if fewer than FEWEST
    golden queries have an answer.
    """
    ranking = profile_to_calibrate(profile)
    goldens = [each for each in golden_set() if each.origin != SYNTHETIC and each.qrels]
    questions = list(_questions(goldens, random.Random(seed)))  # noqa: S311 - to sample questions
    count = sum(question.kind is QuestionKind.ANSWERABLE for question, _ in questions)
    if count < FEWEST:
        raise EvaluationError(
            f"{count} golden queries have a document that answers them; a calibration needs "
            f"{FEWEST}. Judge more questions, or calibrate on judged collections with --collection."
        )
    before = configuration.current().calibration
    samples = list(_samples(questions, ranking, progress))
    fitted = fitted_to(samples, ranking)
    folds = cross_validated(samples, seed)
    return OwnCalibration(
        fitted,
        measure(folds),
        f"{len(goldens)} golden queries; {len(samples)} rankings by {ranking.name} "
        f"v{ranking.version}, cross-validated in {len(folds)} parts; seed {seed}",
        measure([(before, samples)]) if before else {},
    )


Asked = tuple[CalibrationQuestion, Sequence[str]]
"""A question with the collections to search."""


def _samples(questions: Sequence[Asked], ranking: Profile, progress: Progress) -> Iterator[Sample]:
    rows = Document.objects.kept().values_list("pk", "public_id")
    names = {pk: str(public_id) for pk, public_id in rows}
    for done, (question, slugs) in enumerate(questions):
        progress(done, len(questions))
        yield from ask(question, GoldenCorpus(slugs, names), ranking)


def _questions(goldens: Sequence[Golden], chance: random.Random) -> Iterator[Asked]:
    """Yield the answerable questions, and as many without an answer: of each kind equal parts.

    Kinds that have fewer leave the rest to the withheld ones.
    """
    answers = min(ANSWERS, max((max(each.qrels.values()) for each in goldens), default=0) or 1)
    answerable, unanswerable = [], []
    for each in goldens:
        relevant = {name: grade for name, grade in each.qrels.items() if grade >= answers}
        if relevant:
            best = min(relevant, key=lambda name: (-relevant[name], name))
            question = CalibrationQuestion(
                QuestionKind.ANSWERABLE, each.text, best, frozenset(relevant)
            )
            answerable.append((question, each.collections))
        elif not each.is_measured:
            question = CalibrationQuestion(QuestionKind.UNANSWERABLE, each.text, each.key)
            unanswerable.append((question, each.collections))
    keys = {query_key(each.text) for each in goldens}
    foreign = [
        (
            CalibrationQuestion(QuestionKind.FOREIGN, text, text),
            answerable[place % len(answerable)][1],
        )
        for place, text in enumerate(FOREIGN)
        if answerable and query_key(text) not in keys
    ]
    kinds = [kind for kind in (unanswerable, foreign) if kind]
    share = len(answerable) // (len(kinds) + 1)
    without = [each for kind in kinds for each in chance.sample(kind, min(share, len(kind)))]
    withheld = [(replace(each, kind=QuestionKind.WITHHELD), slugs) for each, slugs in answerable]
    rest = chance.sample(withheld, max(0, len(answerable) - len(without)))
    yield from (*answerable, *without, *rest)
