"""Q7: the sentence that says why a result is here, before the figures of its score."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from django.utils.translation import gettext

from search.domain import SIGNALS, Candidates, Hit, Signal
from search.presentation.results import Result
from search.presentation.snippets import MARK_END, MARK_START, NAME_PARTS

# By rank among the candidates, because raw scores of meaning have another scale in every model.
NEAR = 10
MOST_NAMED = 3

_MARKED = re.compile(f"{MARK_START}([^{MARK_END}]*){MARK_END}")


def reason(result: Result, found: Candidates) -> str:
    """A sentence such as "Close in meaning; holds 5 of your 6 words; its heading names commits".

    `found` is the candidate set of the question.
    """
    clauses = [
        *_by_meaning(result.hit, found),
        *_by_words(result),
        *_by_heading(result),
        *_by_title(result.hit),
    ]
    text = "; ".join(clauses) or gettext("the nearest that was found")
    return f"{text[:1].upper()}{text[1:]}."


def _by_meaning(hit: Hit, found: Candidates) -> Iterator[str]:
    raw = hit.candidate.raw.get(Signal.VECTOR)
    if raw is None:
        return
    rank = 1 + np.count_nonzero(found.rows["raw"][:, SIGNALS.index(Signal.VECTOR)] > raw)
    if rank == 1:
        yield gettext("the nearest in meaning")
    elif rank <= NEAR:
        yield gettext("close in meaning")
    elif hit.candidate.raw.get(Signal.KEYWORD, 0) <= 0:
        yield gettext("related in meaning")


def _by_words(result: Result) -> Iterator[str]:
    if not result.held:
        return
    if result.asked == 1:
        yield gettext("holds your word")
    elif result.held == result.asked:
        yield gettext("holds all %(asked)d of your words") % {"asked": result.asked}
    else:
        yield gettext("holds %(held)d of your %(asked)d words") % {
            "held": result.held,
            "asked": result.asked,
        }


def _by_heading(result: Result) -> Iterator[str]:
    """A clause on the words of the passage's heading that are marked in its text."""
    if result.is_nearest or not result.heading_path:
        return
    found = (word for text in _MARKED.findall(result.marked) for word in NAME_PARTS.findall(text))
    marked = {word.casefold() for word in found}
    words = dict.fromkeys(re.findall(r"\w+", result.heading_path[-1]))
    named = [word for word in words if marked >= set(NAME_PARTS.findall(word.casefold()))]
    named = [word for word in named if word.strip("_")][:MOST_NAMED]
    if named:
        yield gettext("its heading names %(words)s") % {"words": ", ".join(named)}


def _by_title(hit: Hit) -> Iterator[str]:
    if hit.candidate.raw.get(Signal.TITLE, 0) > 0:
        yield gettext("its document's title matches")
