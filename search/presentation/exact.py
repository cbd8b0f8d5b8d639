"""Q7: the quoted words of a question, marked as they stand.

Postgres marks lexemes: of "in the view" any form of *view*, and no stop word. A reader who quotes
wants to see the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from search.domain import Query
from search.presentation.results import Result
from search.presentation.snippets import MARK_END, MARK_START, text_and_marks
from search.retrieval.phrases import literal_pattern

Span = tuple[int, int]


def with_exact_words(results: Sequence[Result], query: Query) -> tuple[Result, ...]:
    """The results with the phrases of the query marked, in place of other marks within them.

    Where the query is nothing but phrases, nothing else is marked. A passage whose title or
    headings alone have the phrases keeps its marks.
    """
    patterns = [re.compile(literal_pattern(phrase), re.IGNORECASE) for phrase in query.phrases]
    if not patterns:
        return tuple(results)
    return tuple(
        replace(each, marked=_marked(each.marked, patterns, alone=query.is_quoted))
        for each in results
    )


def _marked(marked: str, patterns: Iterable[re.Pattern[str]], *, alone: bool) -> str:
    text, marks = text_and_marks(marked)
    found = list(_apart(found.span() for pattern in patterns for found in pattern.finditer(text)))
    if not found:
        return marked
    others = () if alone else marks
    kept = [span for span in others if not any(_overlap(span, exact) for exact in found)]
    pieces, last = [], 0
    for start, end in sorted([*found, *kept]):
        pieces += [text[last:start], MARK_START, text[start:end], MARK_END]
        last = end
    return "".join([*pieces, text[last:]])


def _apart(spans: Iterable[Span]) -> Iterator[Span]:
    """The spans in order, without those that overlap one before them."""
    last = 0
    for start, end in sorted(spans):
        if start >= last and end > start:
            yield start, end
            last = end


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
