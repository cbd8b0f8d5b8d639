"""The reading view of a document: its passages in order, around the requested one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import F
from django.db.models.expressions import RawSQL

from ingestion.chunking.sections import repeated
from ingestion.lexical.hyphens import joined_sql
from ingestion.lexical.ngrams import spaced
from ingestion.models import Chunk, Document
from ingestion.models.library import Viewer
from search.presentation.blocks import Part, parts_in, unmarked, without
from search.presentation.snippets import marked

# About ten printed pages: enough around a hit, and a page of 100 KB at most.
WINDOW = 40
# Passages above the requested one: the text before it matters less than the text after it.
LEAD = 10
MAX_PARTS = 500


@dataclass(frozen=True, slots=True)
class Parts:
    """The listed documents of an archive or a message, out of `total`."""

    shown: tuple[Document, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk without its overlap with the previous one. `is_edited`: by hand."""

    ordinal: int
    page: int | None
    parts: tuple[Part, ...]
    is_asked: bool
    starts_page: bool
    is_edited: bool = False


@dataclass(frozen=True, slots=True)
class ShownPassages:
    """The passages shown, out of `total`, and the passage to open for earlier and later ones.

    `asked` is the passage that was asked for; None: the beginning.
    """

    passages: tuple[Passage, ...]
    total: int
    earlier: int | None
    later: int | None
    asked: int | None = None

    @property
    def first(self) -> int:
        return self.passages[0].ordinal + 1 if self.passages else 0

    @property
    def last(self) -> int:
        return self.passages[-1].ordinal + 1 if self.passages else 0


def parts_of(document: Document, *, viewer: Viewer) -> Parts:
    """The first MAX_PARTS documents contained in this one; one query."""
    readable = Document.objects.visible_to(viewer).filter(parent=document)
    shown = readable.select_related("latest").defer("title_terms", "latest__text")
    total = getattr(document, "part_count", 0)
    return Parts(tuple(shown.order_by("part_path")[:MAX_PARTS]), total)


def passages_of(
    document: Document, *, viewer: Viewer, asked: int | None, words: str = ""
) -> ShownPassages:
    """The passages around number `asked` (from 0; None: the beginning), the `words` marked.

    One query, with the same permissions as search. `asked` beyond the end means the last.
    """
    total = document.current.chunk_count if document.current else 0
    if not total:
        return ShownPassages((), 0, None, None)
    target = None if asked is None else min(asked, total - 1)
    first = 0 if target is None else max(0, min(target - LEAD, total - WINDOW))
    rows = (
        Chunk.objects.visible_to(viewer)
        .filter(
            version=document.current_id,
            document=document,
            # One more above, to compute the first one's overlap with it.
            ordinal__gte=first - 1,
            ordinal__lt=first + WINDOW,
        )
        .order_by("ordinal")
        .annotate(marked=marked_text(words))
        .values(
            "ordinal",
            "page",
            "heading_path",
            "kind",
            "start",
            "end",
            "marked",
            "original",
            "layout",
        )
    )
    passages = tuple(_passages(rows, first, target, document.title))
    after = first + WINDOW
    return ShownPassages(
        passages,
        total,
        earlier=max(0, first - WINDOW + LEAD) if first else None,
        later=min(after + LEAD, total - 1) if after < total else None,
        asked=target,
    )


_ANY_WORD = f"""
replace(plainto_tsquery(ingestion_chunk.text_config::regconfig, concat_ws(' ', %s::text,
        (SELECT string_agg(joined, ' ') FROM {joined_sql("%s::text")} parted)))::text,
        ' & ', ' | ')::tsquery
"""  # noqa: S608  # ours


def marked_text(words: str) -> F | RawSQL:
    """The chunk's text with the words marked, each chunk under its own configuration."""
    if not words:
        return F("text")
    # Any of the words, not all: a reader sees where each one occurs.
    read = spaced(words)
    return marked(_ANY_WORD, read, read)


def passages_in(rows: Iterable[Any], asked: int, title: str) -> Iterator[Passage]:
    """The passages of rows in order, with number `asked` flagged."""
    return _passages(rows, 0, asked, title)


def shown_text(before: dict[str, Any], row: dict[str, Any]) -> str:
    """A chunk's plain text without its overlap with `before`, which may be empty."""
    return unmarked(without(row["marked"], _repeated(before, row)))


def _passages(rows: Iterable[Any], first: int, target: int | None, title: str) -> Iterator[Passage]:
    before: dict[str, Any] = {}
    for row in rows:
        if row["ordinal"] >= first:
            # The overlap with the previous chunk.
            overlap = _repeated(before, row)
            parts = parts_in(row, overlap)
            yield Passage(
                ordinal=row["ordinal"],
                page=row["page"],
                # The page's own headline shows the title.
                parts=tuple(part for part in parts if not part.repeats(title)),
                is_asked=row["ordinal"] == target,
                starts_page=row["page"] is not None and row["page"] != before.get("page"),
                is_edited=bool(row["original"]),
            )
        before = row


def _repeated(before: dict[str, Any], row: dict[str, Any]) -> int:
    """The number of characters at a chunk's start that overlap with the previous one."""
    if not before:
        return 0
    text = unmarked(row["marked"])
    return repeated(before["end"], row["start"], text, row["original"])
