"""Why a result is here, in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from django.utils.translation import gettext

from ingestion.lexical.compounds import name_parts
from search.domain import SIGNALS, Candidates, Hit, Signal
from search.presentation.passage_blocks import marked_words
from search.presentation.results import Result
from search.ranking.scored_batch import BEHIND

# Uses the rank among the candidates, because raw scores of meaning have another scale in every
# model.
NEAR = 10
MOST_NAMED = 3

_NAMES = re.compile(r"\w+(?:[-./]\w+)*")  # words and codes: INC-0118, 75.1722


def reason(result: Result, candidates: Candidates) -> str:
    """A sentence such as "Close in meaning; contains 5 of your 6 words; its heading names commits".

    `candidates` are those of the question.
    """
    clauses = [
        *_by_meaning(result.hit, candidates),
        *_by_words(result),
        *_by_heading(result),
        *_by_title(result.hit),
    ]
    if result.currency and BEHIND in (it.label for _, it in result.hit.explanation.adjustments):
        clauses.append(gettext(BEHIND))
    text = "; ".join(clauses) or gettext("the closest passage")
    return f"{text[:1].upper()}{text[1:]}."


def _by_meaning(hit: Hit, candidates: Candidates) -> Iterator[str]:
    raw = hit.candidate.raw.get(Signal.VECTOR)
    if raw is None:
        return
    rank = 1 + np.count_nonzero(candidates.rows["raw"][:, SIGNALS.index(Signal.VECTOR)] > raw)
    if rank == 1:
        yield gettext("closest in meaning")
    elif rank <= NEAR:
        yield gettext("close in meaning")
    elif hit.candidate.raw.get(Signal.KEYWORD, 0) <= 0:
        yield gettext("related in meaning")


def _by_words(result: Result) -> Iterator[str]:
    if not result.matched_words:
        return
    if result.query_words == 1:
        yield gettext("contains your word")
    elif result.matched_words == result.query_words:
        yield gettext("contains all %(asked)d of your words") % {"asked": result.query_words}
    else:
        text = gettext("contains %(held)d of your %(asked)d words")
        yield text % {"held": result.matched_words, "asked": result.query_words}


def _by_heading(result: Result) -> Iterator[str]:
    """A clause on the words of the passage's heading that are marked in its text."""
    heading = result.section.heading if result.section else "".join(result.heading_path[-1:])
    if result.is_nearest:
        return
    marked = marked_words(result.marked)
    words = dict.fromkeys(_NAMES.findall(heading))
    held = result.lookup.strength
    matches = [word for word in words if marked.issuperset(name_parts(word)) or held(word)]
    matches = [word for word in matches if word.strip("_")][:MOST_NAMED]
    if matches:
        yield gettext("its heading names %(words)s") % {"words": ", ".join(matches)}


def _by_title(hit: Hit) -> Iterator[str]:
    if hit.candidate.raw.get(Signal.TITLE, 0) > 0:
        yield gettext("its title or heading matches")
