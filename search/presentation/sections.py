"""Q7: a passage -> the section around it, as far as the viewer may read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from ingestion.chunking.sections import Neighbour, Section, lead, section_of
from ingestion.models import Chunk, Document
from ingestion.models.library import Viewer
from search.presentation.reading import Passage, marked_text, passages_in, shown_text

# Chunks read on each side: more than fit in the budget, however short they are.
REACH = 40
# The range of Postgres' integers.
MAX_ORDINAL = 2**31 - 1 - REACH


@dataclass(frozen=True, slots=True)
class Around:
    """The section around passage `asked` of a document: its extent, its text, its passages."""

    asked: int
    section: Section
    text: str
    passages: tuple[Passage, ...]
    page: int | None


def section_around(
    document: Document, asked: int, *, viewer: Viewer, words: str = ""
) -> Around | None:
    """The section around passage number `asked`, the `words` marked; None if not found.

    One query, with the same permissions as search: a passage disabled by hand is omitted.
    """
    if asked > MAX_ORDINAL:
        return None
    rows: list[Any] = list(
        Chunk.objects.visible_to(viewer)
        .filter(
            version=document.current_id,
            document=document,
            ordinal__gte=asked - REACH,
            ordinal__lte=asked + REACH,
        )
        .order_by("ordinal")
        .annotate(marked=marked_text(words))
        .values(
            "ordinal", "page", "heading_path", "kind", "start", "end", "tokens", "marked",
            "original", "layout",
        )
    )  # fmt: skip
    if asked not in {row["ordinal"] for row in rows}:
        return None
    neighbours = [_neighbour(row) for row in rows]
    section = section_of(neighbours, asked, budget=settings.SECTION_TOKENS)
    if section.is_whole and not _is_seen_whole(section, asked, document):
        section = replace(section, is_whole=False)
    inside = [row for row in rows if section.first <= row["ordinal"] <= section.last]
    return Around(
        asked=asked,
        section=section,
        text=_text(inside),
        passages=tuple(passages_in(inside, asked, document.title)),
        page=inside[0]["page"],
    )


def whole_text(document: Document, *, viewer: Viewer, most: int) -> str:
    """The document's text as `viewer` reads it: with hand edits, without disabled passages.

    It stops after the passage that exceeds `most` characters. One query.
    """
    rows = (
        Chunk.objects.visible_to(viewer)
        .filter(version=document.current_id, document=document)
        .order_by("ordinal")
        .annotate(marked=marked_text(""))
        .values("start", "end", "kind", "marked", "original")
    )
    chosen: list[Any] = []
    length = 0
    for row in rows.iterator(chunk_size=200):
        chosen.append(row)
        length += len(row["marked"])
        if length > 2 * most:  # overlaps are counted twice, at most
            break
    return _text(chosen)


def _neighbour(row: Mapping[str, Any]) -> Neighbour:
    path = tuple(row["heading_path"])
    return Neighbour(row["ordinal"], path, row["start"], row["end"], row["tokens"])


def _is_seen_whole(section: Section, asked: int, document: Document) -> bool:
    """Whether both ends of the section lie within the chunks read."""
    last = document.current.chunk_count - 1 if document.current else 0
    begins = section.first > asked - REACH or section.first == 0
    return begins and (section.last < asked + REACH or section.last >= last)


def _text(rows: Sequence[dict[str, Any]]) -> str:
    """The chunks' texts in order, without their overlaps."""
    pieces: list[str] = []
    before: dict[str, Any] = {}
    for row in rows:
        if pieces:
            pieces.append(lead(before["end"], row["start"], before["kind"], row["kind"]))
        pieces.append(shown_text(before, row))
        before = row
    return "".join(pieces)
