"""Whether a context answers a question at all: a probability, to refuse below a threshold. Pure.

A logistic model over the confidence of the retrieval and the best sentence. docs/answers.md has
its figures, and what it cannot tell: a question that changes one word of an answered one.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from search.answers.extracting.scoring import Asking, Offer

# Fitted on the questions of half of squad20_dev's articles, answerable and not (892 of 1,800), and
# 135 questions about other libraries; reported on the other half in docs/answers.md.
CONFIDENCE, COSINE, SAID_AROUND, NO_TYPE, NEGATED, OTHER_NUMBER, CONSTANT = (
    1.05, 3.78, 1.19, -0.49, -0.66, -1.39, -3.83,
)  # fmt: skip
# The same fit without the cosine, of which another model's would have another scale.
WITHOUT_COSINE = (2.47, 0.0, 1.44, -0.36, -0.63, -1.39, -2.58)
WITH_COSINE = (CONFIDENCE, COSINE, SAID_AROUND, NO_TYPE, NEGATED, OTHER_NUMBER, CONSTANT)
# The mean of the fit's questions stands for the confidence of a space without a calibration.
USUAL_CONFIDENCE = 0.53

_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|without|cannot|except|lack|\w+n['’]t"
    r"|nicht|kein\w*|nie|niemals|ohne|außer|nunca|ninguna?|sin|excepto|jamais|aucune?|sans|sauf)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for the best sentence; `cosine` is None of a model that the fit does not know."""

    confidence: float | None
    cosine: float | None
    said_around: float
    has_type: bool
    negated: bool
    other_number: bool


def evidence(
    asked: Asking, best: Offer, *, confidence: float | None, cosine: float | None
) -> Evidence:
    """What the best sentence says for an answer, and against one.

    `negated`: the question or the sentence has a negation, and the other has none; `other_number`:
    the question has a number that the passage has not. Unanswerable questions are often made so.
    """
    numbers = _NUMBER.findall(asked.text)
    return Evidence(
        confidence=confidence,
        cosine=cosine,
        said_around=best.said_around,
        has_type=best.has_type,
        negated=bool(_NEGATION.search(asked.text)) != bool(_NEGATION.search(best.text)),
        other_number=any(number not in best.passage.text for number in numbers),
    )


def probability(seen: Evidence) -> float:
    """The probability, in (0, 1), that the passages answer the question."""
    weights = WITHOUT_COSINE if seen.cosine is None else WITH_COSINE
    confidence = USUAL_CONFIDENCE if seen.confidence is None else seen.confidence
    values = (
        confidence,
        seen.cosine or 0.0,
        seen.said_around,
        float(not seen.has_type),
        float(seen.negated),
        float(seen.other_number),
        1.0,
    )
    return 1 / (1 + math.exp(-sum(w * value for w, value in zip(weights, values, strict=True))))
