"""Text aside of other text: readings of words, comments, embedded documents.

A reader of office files writes it between marks where it belongs, before the library reads the
file; `with_asides` takes it out again, so that the words beside it stay joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ingestion.domain import Block, BlockKind

CHUNK = "\ufdd4"
"""Begins a paragraph that is the name of an embedded document."""
# Noncharacters, which no text has; those before them mark definition lists.
_ASIDE, _TEXT, _END, _COMMENT = "\ufdd5", "\ufdd6", "\ufdd7", "\ufdd8"
_MARKED = re.compile(f"{_ASIDE}([^{_TEXT}{_END}]*){_TEXT}([^{_END}]*){_END}")


def reading_mark(words: str, reading: str) -> str:
    """The words, with their reading marked."""
    return f"{_ASIDE}{words}{_TEXT}{reading}{_END}" if reading.strip() else words


def comment_mark(text: str) -> str:
    """A comment on the words before it, marked."""
    return f"{_ASIDE}{_TEXT}{_COMMENT}{text}{_END}" if text.strip() else ""


def comment_text(author: str, text: str) -> str:
    """The comment with its author's name; "" for an empty one."""
    author, text = author.strip(), " ".join(text.split())
    is_named = not author or text.casefold().startswith(author.casefold())
    return text if is_named or not text else f"{author}: {text}"


def with_asides(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks without marked text; each is followed by what was marked in it.

    The readings of a block's words are one paragraph, each comment is one.
    """
    for block in blocks:
        if _ASIDE not in block.text:
            yield block
            continue
        if block.rows:
            rows = [[_MARKED.sub(r"\1", cell) for cell in row] for row in block.rows]
            yield Block.table(rows, has_header=block.has_header, page=block.page)
        else:
            yield replace(block, text=_MARKED.sub(r"\1", block.text))
        readings, comments = "", []
        end = 0
        for match in _MARKED.finditer(block.text):
            if match[2].startswith(_COMMENT):
                comments.append(match[2][1:])
            else:  # each character of a word may have a reading of its own
                readings += ("" if match.start() == end else " ") + match[2]
                end = match.end()
        for text in (readings.strip(), *comments):
            if text:
                yield Block(BlockKind.PARAGRAPH, text, page=block.page)
