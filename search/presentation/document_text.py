"""The passages of a document in order: its reading view, and the section around a passage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.db.models import F, QuerySet
from django.db.models.expressions import RawSQL

from ingestion.chunking.sections import Neighbour, Section, repeated, section_of, separator
from ingestion.lexical.bigrams import spaced
from ingestion.lexical.compounds import joined_sql
from ingestion.models import Chunk, Document
from ingestion.models.visibility import Viewer
from search.presentation.passage_blocks import NamedSection, Part, named_sections, parts_in, without
from search.presentation.snippets import marked, unmarked

# About ten printed pages: enough around a hit, and a page of 100 KB at most.
WINDOW = 40
# Passages above the requested one: the text before it matters less than the text after it.
LEAD = 10
MAX_PARTS = 500


@dataclass(frozen=True, slots=True)
class Parts:
    """The listed documents of an archive or a message, out of `total`."""

    documents: tuple[Document, ...]
    total: int


@dataclass(frozen=True, slots=True)
class DocumentPassage:
    """A chunk without its overlap with the previous one. `is_edited`: by hand."""

    ordinal: int
    page: int | None
    parts: tuple[Part, ...]
    is_requested: bool
    starts_page: bool
    is_edited: bool = False


@dataclass(frozen=True, slots=True)
class PassageWindow:
    """A range of passages out of `total`, and the passages that open the ranges around it.

    `requested` is the requested passage; None: the beginning.
    """

    passages: tuple[DocumentPassage, ...]
    total: int
    earlier: int | None
    later: int | None
    requested: int | None = None

    @property
    def first(self) -> int:
        return self.passages[0].ordinal + 1 if self.passages else 0

    @property
    def last(self) -> int:
        return self.passages[-1].ordinal + 1 if self.passages else 0


def parts_of(document: Document, *, viewer: Viewer) -> Parts:
    """The first MAX_PARTS documents contained in this one; one query."""
    readable = Document.objects.visible_to(viewer).filter(parent=document)
    documents = readable.select_related("latest").defer("title_terms", "latest__text")
    total = getattr(document, "part_count", 0)
    return Parts(tuple(documents.order_by("part_path")[:MAX_PARTS]), total)


def passages_of(
    document: Document, *, viewer: Viewer, requested: int | None, words: str = ""
) -> PassageWindow:
    """The passages around number `requested` (from 0; None: the beginning), the `words` marked.

    One query, with the same permissions as search. `requested` beyond the end means the last.
    """
    total = document.current.chunk_count if document.current else 0
    if not total:
        return PassageWindow((), 0, None, None)
    target = None if requested is None else min(requested, total - 1)
    first = 0 if target is None else max(0, min(target - LEAD, total - WINDOW))
    # One more above, to compute the first one's overlap with it.
    rows = _rows(document, viewer, words, first - 1, first + WINDOW)
    passages = tuple(_passages(rows, first, target, document.title))
    after = first + WINDOW
    return PassageWindow(
        passages,
        total,
        earlier=max(0, first - WINDOW + LEAD) if first else None,
        later=min(after + LEAD, total - 1) if after < total else None,
        requested=target,
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


def chunks_of(document: Document, viewer: Viewer) -> QuerySet[Chunk]:
    """The chunks of the current version that the viewer may read, in order."""
    chunks = Chunk.objects.visible_to(viewer).order_by("ordinal")
    return chunks.filter(version=document.current_id, document=document)


def _rows(document: Document, viewer: Viewer, words: str, first: int, end: int) -> Any:
    """The passages from `first` to before `end` as rows, the `words` marked."""
    return (
        chunks_of(document, viewer)
        .filter(ordinal__gte=first, ordinal__lt=end)
        .annotate(marked=marked_text(words))
        .values(
            "ordinal", "page", "heading_path", "kind", "start", "end", "tokens", "marked",
            "original", "layout", "sections",
        )
    )  # fmt: skip


def own_text(before: dict[str, Any], row: dict[str, Any]) -> str:
    """A chunk's plain text without its overlap with `before`, which may be empty."""
    return unmarked(without(row["marked"], _repeated(before, row)))


def _passages(
    rows: Iterable[Any], first: int, target: int | None, title: str
) -> Iterator[DocumentPassage]:
    before: dict[str, Any] = {}
    above: list[int] = []
    for row in rows:
        if row["ordinal"] >= first:
            # The overlap with the previous chunk.
            overlap = _repeated(before, row)
            parts = parts_in(row, overlap)
            yield DocumentPassage(
                ordinal=row["ordinal"],
                page=row["page"],
                # The page's own headline shows the title.
                parts=tuple(part.below(above) for part in parts if not part.repeats(title)),
                is_requested=row["ordinal"] == target,
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


# Chunks read on each side: more than fit in the budget, however short they are.
REACH = 40
# The range of Postgres' integers.
MAX_ORDINAL = 2**31 - 1 - REACH


@dataclass(frozen=True, slots=True)
class Around:
    """The section around passage `requested` of a document: its extent, its text, its passages.

    `names` are the sections of that passage alone.
    """

    requested: int
    names: tuple[NamedSection, ...]
    section: Section
    text: str
    passages: tuple[DocumentPassage, ...]
    page: int | None


def section_around(
    document: Document, ordinal: int, *, viewer: Viewer, words: str = ""
) -> Around | None:
    """The section around passage number `ordinal`, the `words` marked; None if not found.

    One query, with the same permissions as search: a passage disabled by hand is omitted.
    """
    if ordinal > MAX_ORDINAL:
        return None
    rows = list(_rows(document, viewer, words, ordinal - REACH, ordinal + REACH + 1))
    if ordinal not in {row["ordinal"] for row in rows}:
        return None
    neighbours = [_neighbour(row) for row in rows]
    section = section_of(neighbours, ordinal, budget=settings.SECTION_TOKENS)
    if section.is_whole and not _is_seen_whole(section, ordinal, document):
        section = replace(section, is_whole=False)
    inside = [row for row in rows if section.first <= row["ordinal"] <= section.last]
    return Around(
        requested=ordinal,
        names=next(
            named_sections(row["heading_path"], row["sections"])
            for row in rows
            if row["ordinal"] == ordinal
        ),
        section=section,
        text=_text(inside),
        passages=tuple(_passages(inside, 0, ordinal, document.title)),
        page=inside[0]["page"],
    )


def whole_text(document: Document, *, viewer: Viewer, most: int) -> str:
    """The document's text as `viewer` reads it: with hand edits, without disabled passages.

    It stops after the passage that exceeds `most` characters. One query.
    """
    rows = chunks_of(document, viewer).annotate(marked=F("text"))
    picked: list[Any] = []
    length = 0
    fields = ("start", "end", "kind", "marked", "original")
    for row in rows.values(*fields).iterator(chunk_size=200):
        picked.append(row)
        length += len(row["marked"])
        if length > 2 * most:  # overlaps are counted twice, at most
            break
    return _text(picked)


def _neighbour(row: Mapping[str, Any]) -> Neighbour:
    path = tuple(row["heading_path"])
    return Neighbour(row["ordinal"], path, row["start"], row["end"], row["tokens"])


def _is_seen_whole(section: Section, ordinal: int, document: Document) -> bool:
    """Whether both ends of the section lie within the chunks read."""
    last = document.current.chunk_count - 1 if document.current else 0
    begins = section.first > ordinal - REACH or section.first == 0
    return begins and (section.last < ordinal + REACH or section.last >= last)


def _text(rows: Sequence[dict[str, Any]]) -> str:
    """The chunks' texts in order, without their overlaps."""
    pieces: list[str] = []
    before: dict[str, Any] = {}
    for row in rows:
        if pieces:
            pieces.append(separator(before["end"], row["start"], before["kind"], row["kind"]))
        pieces.append(own_text(before, row))
        before = row
    return "".join(pieces)
