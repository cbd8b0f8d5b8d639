"""The printed pages of a document beside the passages that stand on them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from search.presentation.document_text import DocumentPassage, PassageWindow

# Pages without text after one with text: more are looked at in the original. A guess.
MOST_SHEETS = 4


@dataclass(frozen=True, slots=True)
class PrintedPage:
    """A page of the original beside the text; `marked`: the passage to be marked on it."""

    number: int
    marked: int | None = None


@dataclass(frozen=True, slots=True)
class PassagesOfPage:
    """The passages that begin on one page, and the pages beside them."""

    sheets: tuple[PrintedPage, ...]
    passages: tuple[DocumentPassage, ...]


def leaves_of(reading: PassageWindow, page_count: int) -> tuple[PassagesOfPage, ...]:
    """The passages by pages, each beside its page and the pages without a passage after it.

    A document without text has one leaf, of its first pages.
    """
    groups = [
        (page or 1, tuple(passages))
        for page, passages in groupby(reading.passages, key=lambda passage: passage.page)
    ] or [(1, ())]
    after = [page for page, _ in groups[1:]]
    after.append(page_count + 1 if reading.later is None else groups[-1][0] + 1)
    leaves: list[PassagesOfPage] = []
    running: int | None = None  # a passage that may go on, on the next page
    for (first, passages), following in zip(groups, after, strict=True):
        ordinal = next((one.ordinal for one in passages if one.is_requested), None)
        last = min(max(first, following - 1), first + MOST_SHEETS - 1, page_count)
        marked = ordinal if ordinal is not None else running
        leaves.append(
            PassagesOfPage(
                tuple(PrintedPage(page, marked) for page in range(first, last + 1)), passages
            )
        )
        running = ordinal if passages and passages[-1].is_requested else None
    return tuple(leaves)
