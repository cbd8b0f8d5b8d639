"""Definition lists and the title of DOCX: by the styles of paragraphs.

anydoc's model has no styles. `marked` therefore writes a noncharacter into each paragraph that is
the title or part of a definition list, before anydoc reads the file; `with_definitions` takes it
out again.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ingestion.domain import Block, BlockKind
from ingestion.parsing.formats.pandoc_tree import defined
from ingestion.parsing.formats.zip_safety import UNREADABLE

if TYPE_CHECKING:
    import anydoc

TERM, DEFINITION, RUN_IN, TITLE = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
"""Before a term, before a definition, between both in one paragraph; before the title."""
_MARKS = re.compile(f"[{TERM}{DEFINITION}{RUN_IN}{TITLE}]")

# The names of pandoc's and of Word's own import of HTML ("Definition Term", "Definition List"), of
# LibreOffice ("List Heading", "List Contents"), and those that people make after the elements.
_TERMS = ("definition term", "html definition term", "html definition", "list heading")
_TEXTS = ("definition", "definition list", "definition description", "list contents")
_NAMES = dict.fromkeys(_TERMS, TERM) | dict.fromkeys(_TEXTS, DEFINITION) | {"title": TITLE}
_STYLE = re.compile(rb"<(\w+):style\b([^>]*)>.{0,1000}?<\1:name\s+\1:val=\"([^\"]*)\"", re.DOTALL)
_STYLE_ID = re.compile(rb'\w+:styleId="([^"]*)"')
# The bounds keep a hostile file from costing the square of its size.
_PARAGRAPH = re.compile(
    rb'(<(\w+):p(?:\s[^>]*)?>\s*<\2:pPr>\s*<\2:pStyle\s+\2:val="([^"]*)"\s*/>'
    rb".{0,4000}?</\2:pPr>)(?!\s*</\2:pPrChange>)",
    re.DOTALL,
)
_HANGING = re.compile(
    rb"(<(\w+):pPr>(?:(?!</\2:pPr>|<\2:numPr\b).){0,2000}"
    rb'<\2:ind\s[^>]*\2:hanging="[1-9][^>]*>(?:(?!</\2:p>).){0,4000}?<\2:tab\s*/>)',
    re.DOTALL,
)


def styles_of(archive: zipfile.ZipFile) -> dict[bytes, str]:
    """The marks of the paragraph styles for definition lists and titles, by the styles' ids."""
    marks: dict[bytes, str] = {}
    with suppress(KeyError, *UNREADABLE):
        for _, attributes, name in _STYLE.findall(archive.read("word/styles.xml")):
            mark = _NAMES.get(name.decode("utf-8", "replace").casefold())
            identifier = _STYLE_ID.search(attributes)
            if mark and identifier and b'type="paragraph"' in attributes:
                marks[identifier[1]] = mark
    return marks


def marked(part: bytes, styles: dict[bytes, str]) -> bytes:
    """The part of a DOCX with marks in the paragraphs of these styles, and after run-in terms."""

    def with_mark(match: re.Match[bytes]) -> bytes:
        mark, w = styles.get(match[3], "").encode(), match[2]
        run = b"<%s:r><%s:t>%s</%s:t></%s:r>" % (w, w, mark, w, w)
        return match[0] + run if mark else match[0]

    part = _PARAGRAPH.sub(with_mark, part) if styles else part
    return _HANGING.sub(rb"\1<\2:t>" + RUN_IN.encode() + rb"</\2:t>", part)


def is_run_in(block: anydoc.Block) -> bool:
    """Whether the words before the mark are a name in bold, and those after it are not bold."""
    name, passed = "", False
    for inline in block.content or ():
        before, mark, after = (inline.text or "").partition(RUN_IN)
        is_bold = bool(inline.style and inline.style.bold)
        if not passed:
            if before.strip() and not is_bold:
                return False
            name += before
        passed = passed or bool(mark)
        if passed and (after if mark else before).strip():
            return not is_bold and _is_name(name)
    return False


def _is_name(text: str) -> bool:
    # A number or a letter before its paragraph is none: "1.", "b)".
    return bool(re.search(r"[^\W\d_]{2}", text)) and text.rstrip()[-1] not in ".)"


def with_definitions(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks without marks; those of a definition list with their terms.

    A list, a table or code belongs to the definition before it if more of the definition list
    follows, if a colon introduces it, or if it is all of the definition.
    """
    pairs = _pairs(blocks)
    term = words = last = ""  # `words` of the term until its definition begins
    for (mark, block), continues in zip(pairs, _continues(pairs), strict=True):
        is_nested = _is_nested(block)
        if mark == TERM:  # after another one: both are of one definition
            term = words = f"{words}\n{block.text}" if words else block.text
            continue
        if mark == DEFINITION and words:
            block = Block(BlockKind.LIST_ITEM, f"{words}: {block.text}")
        elif words and is_nested:
            yield from defined(term, [Block(BlockKind.LIST_ITEM, words)])
        elif mark == RUN_IN:
            term, _, rest = block.text.partition(RUN_IN)
            block = Block(BlockKind.LIST_ITEM, f"{term}: {rest}")
        elif not mark and not (is_nested and (continues or last.endswith(":"))):
            if words:
                yield Block(BlockKind.PARAGRAPH, words)
            term = ""
        words, last = "", block.text
        yield from defined(term, [block])
    if words:
        yield Block(BlockKind.PARAGRAPH, words)


def _continues(pairs: Sequence[tuple[str, Block]]) -> list[bool]:
    """Whether a part of a definition list follows each block, but for nested blocks."""
    continues = [False]
    for mark, block in reversed(pairs):
        continues.append(bool(mark) or (continues[-1] and _is_nested(block)))
    return continues[-2::-1]


def _is_nested(block: Block) -> bool:
    return block.kind not in (BlockKind.PARAGRAPH, BlockKind.HEADING)


def _pairs(blocks: Iterable[Block]) -> list[tuple[str, Block]]:
    """The marks and the blocks without them; a run-in term and its definition keep theirs.

    A term is run in only beside one with another name: a speaker or a note may look like it.
    """
    pairs = [_without_mark(block) for block in blocks]
    terms = ["", *(block.text.partition(RUN_IN)[0] * (mark == RUN_IN) for mark, block in pairs), ""]
    for place, (mark, block) in enumerate(pairs):
        if mark == RUN_IN and not {terms[place], terms[place + 2]} - {"", terms[place + 1]}:
            pairs[place] = "", replace(block, text=block.text.replace(RUN_IN, " "))
    return pairs


def _without_mark(block: Block) -> tuple[str, Block]:
    marks = _MARKS.findall(block.text)
    if not marks:
        return "", block
    if block.kind is BlockKind.TABLE:
        rows = [[_MARKS.sub("", cell) for cell in row] for row in block.rows]
        return "", Block.table(rows, has_header=block.has_header)
    if block.kind is not BlockKind.PARAGRAPH:
        return "", replace(block, text=_MARKS.sub("", block.text))
    if marks[0] == RUN_IN:
        name, rest = block.text.split(RUN_IN, 1)
        return RUN_IN, replace(block, text=f"{name.strip()}{RUN_IN}{_MARKS.sub('', rest).strip()}")
    text = _MARKS.sub("", block.text).strip()
    return marks[0], replace(block, text=text.rstrip(" :") if marks[0] == TERM else text)
