"""The reliability of a confidence, and the fit that calibrates it. Pure.

The fit is Platt's (1999): logistic regression, with his targets short of 0 and 1. AUROC is the
probability that an answered question has a higher confidence than an unanswered one (Hanley &
McNeil 1982). The expected calibration error (Naeini, Cooper & Hauskrecht 2015) is the mean
distance between confidence and the share answered, over 15 bins as usual since Guo et al. (2017).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from search.ranking.confidence import FEATURES, CalibrationModels, Evidence, Logistic, Ran

BINS = 15
# In units of standardised slopes: keeps them finite where a feature separates the classes.
RIDGE = 1.0
THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)

Numbers = npt.NDArray[np.float64]


class QuestionKind(StrEnum):
    """Why a question has an answer or none.

    ANSWERABLE: judged passages answer it. UNANSWERABLE: written to look answerable here.
    WITHHELD: an answerable one whose passages are removed from the candidates, so that only their
    neighbours remain. FOREIGN: of another collection.
    """

    ANSWERABLE = "answerable"
    UNANSWERABLE = "unanswerable"
    WITHHELD = "withheld"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Sample:
    """A question's evidence and whether a relevant document was on the first page.

    `group` names the source of its answer: no group is on both sides of a split.
    """

    kind: QuestionKind
    group: str
    answered: bool
    evidence: Evidence


def is_held_out(group: str, seed: int) -> bool:
    """True for about half of all groups, the same ones for the same seed."""
    return hashlib.sha256(f"{seed}:{group}".encode()).digest()[0] % 2 == 1


def fit(samples: Sequence[Sample]) -> CalibrationModels:
    """The models of every combination of signals. The one for vectors alone reads the evidence of
    the one for both. Raises ValueError if the samples of one are all answered, or all unanswered.
    """
    chosen = {
        Ran.BOTH: _that_ran(samples, Ran.BOTH),
        Ran.VECTOR: _that_ran(samples, Ran.BOTH),
        Ran.KEYWORD: _that_ran(samples, Ran.KEYWORD),
    }
    return CalibrationModels(
        {ran: _fit(chosen[ran], features) for ran, features in FEATURES.items()}
    )


def measure(fitted: CalibrationModels, samples: Sequence[Sample]) -> dict[str, Any]:
    """AUROC, calibration error and related figures of the samples, by the signals that ran.

    `AUROC_<kind>` compares the answered with one other kind; `below` gives the share of each
    kind whose confidence is below a threshold.
    """
    figures = {}
    for ran in (Ran.BOTH, Ran.KEYWORD):
        judged = [
            (sample, fitted.models[ran].probability(sample.evidence))
            for sample in _that_ran(samples, ran)
        ]
        if judged:
            figures[ran.value] = _measure(judged)
    return figures


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


def _that_ran(samples: Sequence[Sample], ran: Ran) -> list[Sample]:
    return [sample for sample in samples if sample.evidence.ran is ran]


def _fit(samples: Sequence[Sample], features: tuple[str, ...]) -> Logistic:
    """Fit by Newton's method on standardised features; return slopes in the features' own units."""
    answered = np.array([sample.answered for sample in samples], dtype=np.float64)
    positives, negatives = float(answered.sum()), float((1 - answered).sum())
    if not (positives and negatives):
        raise ValueError(
            "A calibration needs questions that are answered and questions that are not."
        )
    # Platt 1999, section 2.2: no finite number of samples supports a probability of 0 or 1.
    targets = np.where(answered > 0, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    raw = np.array([[getattr(s.evidence, name) for name in features] for s in samples])
    mean, deviation = raw.mean(axis=0), np.maximum(raw.std(axis=0), 1e-9)
    design = np.column_stack([np.ones(len(raw)), (raw - mean) / deviation])
    coefficients = _newton(design, targets)
    slopes = coefficients[1:] / deviation
    return Logistic(
        float(coefficients[0] - slopes @ mean), dict(zip(features, map(float, slopes), strict=True))
    )


def _newton(design: Numbers, targets: Numbers) -> Numbers:
    ridge = np.diag([0.0, *[RIDGE] * (design.shape[1] - 1)])
    coefficients = np.zeros(design.shape[1])
    for _ in range(50):
        odds = np.clip(design @ coefficients, -30, 30)
        p = 1 / (1 + np.exp(-odds))
        gradient = design.T @ (p - targets) + ridge @ coefficients
        curvature = (design * (p * (1 - p))[:, None]).T @ design + ridge
        step = np.linalg.solve(curvature, gradient)
        coefficients = coefficients - step
        if np.abs(step).max() < 1e-9:
            break
    return coefficients


def _measure(judged: Sequence[tuple[Sample, float]]) -> dict[str, Any]:
    confidences = [value for _, value in judged]
    answered = [sample.answered for sample, _ in judged]
    by_kind = defaultdict(list)
    for sample, value in judged:
        by_kind[sample.kind].append((sample.answered, value))
    sure = [(True, value) for truth, value in zip(answered, confidences, strict=True) if truth]
    kinds = [kind for kind in QuestionKind if kind in by_kind]
    return {
        "questions": {kind.value: len(by_kind[kind]) for kind in kinds},
        "answered": round(float(np.mean(answered)), 4),
        "AUROC": round(auroc(answered, confidences), 4),
        **{
            f"AUROC_{kind}": round(auroc(*zip(*sure, *by_kind[kind], strict=True)), 4)
            for kind in kinds
            if kind is not QuestionKind.ANSWERABLE and sure
        },
        "ECE": round(calibration_error(answered, confidences), 4),
        "below": {
            f"{threshold:g}": {
                kind.value: round(float(np.mean([v < threshold for _, v in by_kind[kind]])), 4)
                for kind in kinds
            }
            for threshold in THRESHOLDS
        },
    }
