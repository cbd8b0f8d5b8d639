"""The reading view of a document: its passages in order, around the requested one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F
from django.db.models.expressions import RawSQL
from django.utils.safestring import SafeString

from ingestion.domain import BLOCK_SEPARATOR, CELL_SEPARATOR, BlockKind
from ingestion.lexical.ngrams import spaced
from ingestion.models import Chunk, Document
from ingestion.models.library import Viewer
from search.presentation.snippets import MARK_END, MARK_START, highlight, marked

# About ten printed pages: enough around a hit, and a page of 100 KB at most.
WINDOW = 40
# Passages above the requested one: the text before it matters less than the text after it.
LEAD = 10
MAX_HEADING_CHARS = 80
MAX_PARTS = 500

_MARKS = re.compile(f"[{MARK_START}{MARK_END}]")
_BREAKS = re.compile(r"\n{2,}")
# Indented continuation lines: prose from a parser has none.
_INDENTED = re.compile(r"\S[^\n]*\n(?: {2,}|\t)[ \t]*\S")
_ENDS = (".", "!", "?", ":", ";", ",", "…", "”", '"', ")")
_SENTENCES = re.compile(r"[A-Z]\w*,? [^{}=;]*\w[.:?!]")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a passage's text: `kind` is heading, text, code or table; `html` is escaped.

    `level` is a heading's depth from 1. `rows` holds a table's cells in place of `html`.
    """

    kind: str
    html: SafeString | str = ""
    level: int = 0
    rows: tuple[tuple[SafeString, ...], ...] = ()
    plain: str = ""

    def repeats(self, title: str) -> bool:
        """Whether it is a heading equal to the document's title."""
        return self.kind == "heading" and self.plain.casefold() == _squeezed(title).casefold()


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
    """The passages shown, out of `total`, and the passage to open for earlier and later ones."""

    passages: tuple[Passage, ...]
    total: int
    earlier: int | None
    later: int | None

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
        .values("ordinal", "page", "heading_path", "kind", "start", "end", "marked", "original")
    )
    passages = tuple(_passages(rows, first, target, document.title))
    after = first + WINDOW
    return ShownPassages(
        passages,
        total,
        earlier=max(0, first - WINDOW + LEAD) if first else None,
        later=min(after + LEAD, total - 1) if after < total else None,
    )


def marked_text(words: str) -> F | RawSQL:
    """The chunk's text with the words marked, each chunk under its own configuration."""
    if not words:
        return F("text")
    # Any of the words, not all: a reader sees where each one occurs.
    return marked(
        "replace(plainto_tsquery(ingestion_chunk.text_config::regconfig, %s)::text,"
        " ' & ', ' | ')::tsquery",
        spaced(words),
    )


def passages_in(rows: Iterable[Any], asked: int, title: str) -> Iterator[Passage]:
    """The passages of rows in order, with number `asked` flagged."""
    return _passages(rows, 0, asked, title)


def shown_text(before: dict[str, Any], row: dict[str, Any]) -> str:
    """A chunk's plain text without its overlap with `before`, which may be empty."""
    return _MARKS.sub("", _without(row["marked"], _repeated(before, row)))


def _passages(rows: Iterable[Any], first: int, target: int | None, title: str) -> Iterator[Passage]:
    before: dict[str, Any] = {}
    for row in rows:
        if row["ordinal"] >= first:
            # The overlap with the previous chunk.
            repeated = _repeated(before, row)
            parts = _parts(_without(row["marked"], repeated), row["heading_path"], row["kind"])
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
    """The number of characters at a chunk's start that overlap with the previous one.

    Offsets refer to the parsed text: an edited chunk overlaps only if its start is unchanged.
    """
    count = max(0, before["end"] - row["start"]) if before else 0
    original = row["original"]
    if count and original:
        text = _MARKS.sub("", row["marked"])
        return count if text[:count] == original[:count] else 0
    return count


def _without(marked: str, count: int) -> str:
    """Marked text without its first `count` characters; a mark across the cut is reopened."""
    if not count:
        return marked
    seen, is_open = 0, False
    for position, character in enumerate(marked):
        if character in (MARK_START, MARK_END):
            is_open = character == MARK_START
            continue
        if seen == count:
            return (MARK_START if is_open else "") + marked[position:].lstrip()
        seen += 1
    return ""


def _parts(marked: str, path: Sequence[str], kind: str) -> Iterator[Part]:
    """The passage's text by paragraphs; headings are recognised by the heading path."""
    names = {_squeezed(name): level for level, name in enumerate(path, start=1)}
    texts = _BREAKS.split(marked.strip("\n"))
    plains = [_squeezed(_MARKS.sub("", text)) for text in texts]
    code: list[str] = []
    for position, (text, plain) in enumerate(zip(texts, plains, strict=True)):
        level = names.get(plain, 0)
        if not level and kind != BlockKind.CODE and _heads(plains, position):
            level = len(path) + 1
        if not level and _is_code(text, plain, kind):
            code.append(text)
            continue
        if code:
            yield Part("code", highlight(BLOCK_SEPARATOR.join(code)))
            code = []
        if level:
            yield Part("heading", highlight(text.strip()), level, plain=plain)
        elif rows := _cells(text):
            yield Part("table", rows=rows)
        elif text.strip():
            yield Part("text", highlight(text.strip("\n")))
    if code:
        yield Part("code", highlight(BLOCK_SEPARATOR.join(code)))


def _is_code(text: str, plain: str, kind: str) -> bool:
    """Whether a paragraph is code: a guess, since a chunk has only its predominant kind."""
    if kind == BlockKind.CODE:
        return not _SENTENCES.fullmatch(plain)
    return kind != BlockKind.TABLE and bool(_INDENTED.search(text))


def _heads(plains: Sequence[str], position: int) -> bool:
    """Whether a paragraph looks like the heading of a section that was too small for a chunk.

    The path of such a chunk has only its sections' common headings. A guess: a short line
    without end punctuation, between sentences.
    """
    before, following = plains[:position][-1:], plains[position + 1 : position + 2]
    return (
        bool(following)
        and len(plains[position]) <= MAX_HEADING_CHARS
        and not _ends(plains[position])
        and _ends(following[0])
        and all(map(_ends, before))
    )


def _ends(plain: str) -> bool:
    return plain.endswith(_ENDS)


def _cells(text: str) -> tuple[tuple[SafeString, ...], ...]:
    """A table's cells; empty for other text: every row must have as many cells as the first."""
    rows = [line.split(CELL_SEPARATOR) for line in text.strip("\n").split("\n")]
    width = len(rows[0])
    if len(rows) < 2 or width < 2 or any(len(row) != width for row in rows):
        return ()
    return tuple(tuple(highlight(cell.strip()) for cell in row) for row in rows)


def _squeezed(text: str) -> str:
    return " ".join(text.split())
