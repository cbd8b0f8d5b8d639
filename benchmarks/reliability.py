"""The fit of a confidence, and the measures of its reliability. Pure.

The fit is Platt's (1999): logistic regression, with his targets short of 0 and 1. AUROC is the
probability that an answered question has a higher confidence than an unanswered one (Hanley &
McNeil 1982). The expected calibration error (Naeini, Cooper & Hauskrecht 2015) is the mean
distance between confidence and the share answered, over 15 bins as usual since Guo et al. (2017).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from search.ranking.confidence import FEATURES, Evidence, Logistic, Ran

BINS = 15
# In units of standardised slopes: keeps them finite where a feature separates the classes.
RIDGE = 1.0

Numbers = npt.NDArray[np.float64]


class QuestionKind(StrEnum):
    """The kind of a question by its answer.

    ANSWERABLE: judged passages answer it. WITHHELD: an answerable one whose passages are removed
    from the candidates, so that only their neighbours remain. FOREIGN: of another collection.
    """

    ANSWERABLE = "answerable"
    WITHHELD = "withheld"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Sample:
    """A question's evidence and whether a relevant document was on the first page.

    `group` names the question and its collection: no group is on both sides of a split.
    """

    kind: QuestionKind
    group: str
    answered: bool
    evidence: Evidence


def is_held_out(group: str, seed: int) -> bool:
    """True for about half of all groups, the same ones for the same seed."""
    return hashlib.sha256(f"{seed}:{group}".encode()).digest()[0] % 2 == 1


def fit(samples: Sequence[Sample]) -> Mapping[Ran, Logistic]:
    """The models of every combination of signals, from samples with both signals.

    Answered samples together weigh as much as the others, and foreign questions as much as withheld
    ones. Raises ValueError if all samples are answered, or none.
    """
    answered = np.array([sample.answered for sample in samples], dtype=np.float64)
    if not 0 < answered.sum() < len(answered):
        raise ValueError("A fit needs questions that are answered and questions that are not.")
    counts = Counter(sample.kind for sample in samples)
    weights = np.array([len(samples) / counts[sample.kind] for sample in samples])
    weights[answered > 0] *= (weights @ (1 - answered)) / (weights @ answered)
    weights *= len(samples) / weights.sum()
    return {
        ran: _fit(
            features,
            np.array([[getattr(s.evidence, name) for name in features] for s in samples]),
            answered,
            weights,
        )
        for ran, features in FEATURES.items()
    }


def auroc(answered: Sequence[bool], confidences: Sequence[float]) -> float:
    """AUROC in [0, 1], .5 for chance; ties count half. NaN unless both outcomes occur."""
    truth = np.asarray(answered, dtype=bool)
    _, place, count = np.unique(confidences, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    positives, negatives = int(truth.sum()), int((~truth).sum())
    if not (positives and negatives):
        return float("nan")
    above = ranks[truth].sum() - positives * (positives + 1) / 2
    return float(above / (positives * negatives))


def calibration_error(answered: Sequence[bool], confidences: Sequence[float]) -> float:
    """The expected calibration error in [0, 1], over bins of equal size."""
    values = np.asarray(confidences, dtype=np.float64)
    truth = np.asarray(answered, dtype=np.float64)
    bins = np.array_split(np.argsort(values, kind="stable"), BINS)
    gaps = [len(b) * abs(truth[b].mean() - values[b].mean()) for b in bins if len(b)]
    return float(sum(gaps) / len(values))


def _fit(features: Sequence[str], raw: Numbers, answered: Numbers, weights: Numbers) -> Logistic:
    """Fit by Newton's method on standardised features; return slopes in the features' own units."""
    positives, negatives = float(weights @ answered), float(weights @ (1 - answered))
    # Platt 1999, section 2.2: no finite number of samples supports a probability of 0 or 1.
    targets = np.where(answered > 0, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    mean, deviation = raw.mean(axis=0), np.maximum(raw.std(axis=0), 1e-9)
    design = np.column_stack([np.ones(len(raw)), (raw - mean) / deviation])
    coefficients = _newton(design, targets, weights)
    slopes = coefficients[1:] / deviation
    return Logistic(
        float(coefficients[0] - slopes @ mean), dict(zip(features, map(float, slopes), strict=True))
    )


def _newton(design: Numbers, targets: Numbers, weights: Numbers) -> Numbers:
    ridge = np.diag([0.0, *[RIDGE] * (design.shape[1] - 1)])
    coefficients = np.zeros(design.shape[1])
    for _ in range(50):
        odds = np.clip(design @ coefficients, -30, 30)
        p = 1 / (1 + np.exp(-odds))
        gradient = design.T @ (weights * (p - targets)) + ridge @ coefficients
        curvature = (design * (weights * p * (1 - p))[:, None]).T @ design + ridge
        step = np.linalg.solve(curvature, gradient)
        coefficients = coefficients - step
        if np.abs(step).max() < 1e-9:
            break
    return coefficients
