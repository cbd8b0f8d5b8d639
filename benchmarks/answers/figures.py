"""Shares, context recall, ranking measures of refusal, the risk-coverage curve. Pure."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ingestion.lexical.near_duplicates import UNSPACED
from search.answers.domain import Context

NORMAL = 1.96  # standard deviations that hold 95% of a normal distribution
COVERAGES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)

_ARTICLES = frozenset({"a", "an", "the"})
_UNSPACED_LETTER = re.compile(f"([{UNSPACED}])")


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer's confidence, whether the question has an answer, and whether it was right.

    It is right if it contains a gold answer, so every answer to a question without one is wrong.
    """

    confidence: float
    is_answerable: bool
    is_right: bool


@dataclass(frozen=True, slots=True)
class Refusals:
    """The shares of questions that a threshold refuses rightly and wrongly."""

    threshold: float
    right: float | None
    wrong: float | None


def share(outcomes: Iterable[bool]) -> float | None:
    """The share that is true; None for an empty list."""
    values = list(outcomes)
    return sum(values) / len(values) if values else None


def interval(part: float, count: int) -> tuple[float, float]:
    """The 95% interval of a share of `count` questions (Wilson 1927); (0, 1) for no questions."""
    if not count:
        return 0.0, 1.0
    spread = NORMAL**2 / count
    middle = (part + spread / 2) / (1 + spread)
    half = math.sqrt(spread * part * (1 - part) + spread**2 / 4) / (1 + spread)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def auroc(rows: Sequence[Judged]) -> float | None:
    """The probability that an answerable question has more confidence than one without an answer.

    The area under the ROC curve, ties counting half (Mann & Whitney 1947). None without both kinds.
    """
    good = np.array([row.is_answerable for row in rows], dtype=bool)
    positive, negative = int(good.sum()), int((~good).sum())
    if not positive or not negative:
        return None
    # Imported when it is needed: it takes half a second, of the tests' processes too.
    from scipy.stats import rankdata

    ranks = rankdata([row.confidence for row in rows])
    above = float(ranks[good].sum()) - positive * (positive + 1) / 2
    return above / (positive * negative)


def risks(rows: Sequence[Judged]) -> dict[float, float]:
    """The share of wrong answers among the most confident ones, by the share answered.

    The risk-coverage curve (El-Yaniv & Wiener 2010) at COVERAGES; empty without answers.
    """
    ordered = sorted(rows, key=lambda row: -row.confidence)
    counts = {coverage: round(coverage * len(ordered)) for coverage in COVERAGES}
    return {
        coverage: sum(not row.is_right for row in ordered[:count]) / count
        for coverage, count in counts.items()
        if count
    }


def area(rows: Sequence[Judged]) -> float | None:
    """The area under the risk-coverage curve: the mean risk over all coverages; low is good."""
    if not rows:
        return None
    ordered = sorted(rows, key=lambda row: -row.confidence)
    wrong = np.cumsum([not row.is_right for row in ordered])
    return float((wrong / np.arange(1, len(ordered) + 1)).mean())


def refusals(rows: Sequence[Judged], threshold: float) -> Refusals:
    """The refusals of a threshold; an answer strictly below it is refused."""
    return Refusals(
        threshold,
        share(row.confidence < threshold for row in rows if not row.is_answerable),
        share(row.confidence < threshold for row in rows if row.is_answerable),
    )


def holds(context: Context, golds: Sequence[str]) -> bool:
    """Whether one of the context's passages contains one of the gold answers."""
    return holds_any((passage.text for passage in context.passages), golds)


def holds_any(texts: Iterable[str], golds: Sequence[str]) -> bool:
    """Whether one of the texts contains one of the gold answers, as whole words.

    Normalised as by SQuAD's evaluation (Rajpurkar et al. 2016): case, punctuation, articles and
    whitespace do not count.
    Punctuation inside a word is read both ways: SQuAD deletes it ("US$3" is "us3"), but its answers
    are spans that may begin or end there ("3"). In scripts without spaces each letter is a word.
    """
    expected = [(_joined(gold), _parted(gold)) for gold in golds]
    expected = [(joined, parted) for joined, parted in expected if joined]
    for text in texts if expected else ():
        joined, parted = _joined(text), _parted(text)
        if any(one in joined or other in parted for one, other in expected):
            return True
    return False


def _joined(text: str) -> str:
    return _words("".join("" if _is_punctuation(each) else each for each in _folded(text)))


def _parted(text: str) -> str:
    return _words("".join(" " if _is_punctuation(each) else each for each in _folded(text)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def _words(text: str) -> str:
    """The words without articles, with a space on each side; empty without a word."""
    words = _UNSPACED_LETTER.sub(r" \1 ", text).split()
    content = [word for word in words if word not in _ARTICLES]
    return f" {' '.join(content)} " if content else ""
