"""What in its sources contradicts a claim, and the parts of it that they do not touch. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from search.answers.checking import polarity
from search.answers.checking.claims import Claim
from search.answers.checking.evidence import Cover
from search.answers.checking.proving import elsewhere
from search.answers.checking.words import alike, stem

# Chosen on the labelled sentences of tests/support/claims (docs/answers.md).
POLARITY_NEAR = 0.4  # the share from which on the negations of two parts are compared
# A part of a sentence with so many words is unknown if more than this share of them is.
PART_WORDS, PART_MISSING = 2, 0.7
_LINES = 8  # the lines whose parts are compared


def disproof(claim: Claim, covered: Cover) -> Iterator[str]:
    """The negations and opposites by which the nearest lines contradict the claim, and its parts
    of which no source has a word.
    """
    near = [
        (share, part)
        for share, _, line in covered.lines[:_LINES]
        if share > 0 and share >= 0.3 * covered.best
        for part in line.parts
    ]
    for part in claim.parts:
        worth = {each: covered.worth.get(each, 0.0) for each in part.stems}
        total = sum(worth.values())
        if not total:
            continue
        unknown = sum(worth[each] for each in part.stems if each in covered.missing)
        if len(part.stems) >= PART_WORDS and unknown / total > PART_MISSING:
            yield f"No cited passage says “{part.text}”."
            continue
        if problem := _contrary(part, worth, near):
            yield problem


def _contrary(
    part: polarity.Part, worth: Mapping[str, float], near: Sequence[tuple[float, polarity.Part]]
) -> str:
    """The contradiction of the claim's part by the source's parts nearest to it, if they agree."""
    total = sum(worth.values())
    shares = [
        (sum(worth[w] for w in part.stems if any(alike(w, e) for e in other.stems)) / total, share,
         other)
        for share, other in near
    ]  # fmt: skip
    best = max((share for share, _, _ in shares), default=0.0)
    if best < POLARITY_NEAR:
        return ""
    nearest = [(line, other) for share, line, other in shares if share >= 0.9 * best]
    closest = max(line for line, _ in nearest)
    found = [polarity.contrary(part, other) for line, other in nearest if line >= 0.8 * closest]
    if not all(word for word, _ in found):
        return ""
    word, given = found[0]
    if given:
        return elsewhere(given, word)
    shown = next((each for each in part.words if alike(stem(each), word)), word)
    return f"The cited passage says the contrary about “{shown}”."
