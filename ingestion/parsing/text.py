"""Plain text -> paragraphs; words hyphenated at the end of a line or page are rejoined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ingestion.domain import Block, BlockKind

from .encoding import decode
from .protocol import Extraction, Source

PARAGRAPH_CHARS = 4_000
"""Longest paragraph block. A guess: a page of text, about ten chunks."""

_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+|\f")
# "pre- and postwar", "Ein- und Ausgabe": such a hyphen is no line end.
_NOT_A_JOINT = r"(?!(?:and|or|to|und|oder|bis|et|ou|e|y|o)\b)"
# "state-of-the-art" is parted where it has its hyphens already.
_LITTLE = r"(?:of|the|in|to|by|on|at|a|an|and|or|for|up|de|du|la|le|à|am|an|im|und)"
_COMPOUND_IN_A_LINE = re.compile(rf"(-{_LITTLE})[-\u2010] (?=[a-zß-ÿ])")
_COMPOUND_BEFORE = re.compile(_LITTLE)
_IN_A_LINE = re.compile(rf"(?<=[a-zß-ÿ])[-\u2010] (?=[a-zß-ÿ]){_NOT_A_JOINT}")
_AT_A_LINE_END = re.compile(
    rf"(?<![^\W\d_])(?P<head>[^\W\d_]{{0,60}}[a-zß-ÿ])[-\u2010]\n[ \t]*{_NOT_A_JOINT}"
    r"(?P<tail>[a-zß-ÿ]+)(?P<mark>[^\w\s]*)(?P<gap>[ \t]*)(?P<end>\n?)"
)
_HYPHENATED = re.compile(r"(?<![^\W\d_])[^\W\d_]{1,60}-[^\W\d_]{1,60}(?![^\W\d_])")
_PARTED = re.compile(r"(?<=[a-zß-ÿ])[-\u2010]$")
_REST = re.compile(rf"{_NOT_A_JOINT}[a-zß-ÿ]+[^\w\s]*")
_FOOTNOTE = re.compile(r"(?:\d{1,3}|[*†‡])[\s.)]?\s*\S")


class TextParser:
    """Paragraphs parted by blank lines; a longer one is split at line ends."""

    name = "text"

    def extract(self, source: Source) -> Extraction:
        return Extraction(paragraph_blocks(joined_lines(decode(source.path.read_bytes()))))


def paragraph_blocks(text: str) -> Iterator[Block]:
    """Blocks of at most PARAGRAPH_CHARS characters each that hold all of `text`."""
    start = 0
    for gap in _BLANK_LINES.finditer(text):
        yield from _bounded(text, start, gap.start())
        start = gap.end()
    yield from _bounded(text, start, len(text))


def _bounded(text: str, start: int, end: int) -> Iterator[Block]:
    while end - start > PARAGRAPH_CHARS:
        cut = _cut(text, start, start + PARAGRAPH_CHARS)
        yield Block(BlockKind.PARAGRAPH, text[start:cut])
        start = cut
    if start < end:
        yield Block(BlockKind.PARAGRAPH, text[start:end])


def _cut(text: str, start: int, limit: int) -> int:
    """Where to split: after a line, else a sentence, else a word, else anywhere."""
    # The first half is left alone, lest a short first line make a tiny block.
    half = (start + limit) // 2
    for separator in ("\n", ". ", "。", " "):
        found = text.rfind(separator, half, limit)
        if found != -1:
            return found + len(separator)
    return limit


def joined_in_line(text: str) -> str:
    """Text whose lines were run together, "instru- ment" made one word."""
    return _IN_A_LINE.sub("", _COMPOUND_IN_A_LINE.sub(r"\1-", text))


def joined_lines(text: str) -> str:
    """Text in lines, a word that was parted at the end of one put back together in it.

    Where the text writes the word with a hyphen elsewhere ("well-known"), it keeps it.
    """

    written = set(_HYPHENATED.findall(text))

    def whole(match: re.Match[str]) -> str:
        hyphenated = f"{match['head']}-{match['tail']}"
        follows_one = text[match.start() - 1 : match.start()] in ("-", "\u2010")
        is_compound = follows_one and _COMPOUND_BEFORE.fullmatch(match["head"])
        is_kept = is_compound or hyphenated in written
        joined = hyphenated if is_kept else f"{match['head']}{match['tail']}"
        # The rest of the line begins the next one, where there is any.
        end = "\n" if match["gap"] or match["end"] else ""
        return f"{joined}{match['mark']}{end}"

    return _AT_A_LINE_END.sub(whole, text)


def joined_across_pages(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks, a word parted between the last paragraph of a page and the next made whole.

    It goes to the page on which it begins. Footnotes may stand between the two.
    """
    parted: Block | None = None
    between: list[Block] = []
    for block in blocks:
        if parted is not None:
            if _is_between(parted, block):
                between.append(block)
                continue
            whole, rest = _joined(parted, block)
            yield whole
            yield from between
            parted, between = None, []
            if rest is None:
                continue
            block = rest
        if block.kind is BlockKind.PARAGRAPH and block.page and _PARTED.search(block.text):
            parted = block
        else:
            yield block
    if parted is not None:
        yield parted
        yield from between


def _is_between(parted: Block, block: Block) -> bool:
    """Whether the block is a footnote under the paragraph that ends with a hyphen."""
    is_prose = block.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM)
    return block.page == parted.page and is_prose and bool(_FOOTNOTE.match(block.text))


def _joined(parted: Block, block: Block) -> tuple[Block, Block | None]:
    """Both blocks, the rest of the word with the first; None for one that held no more."""
    rest = _REST.match(block.text)
    follows = block.kind is BlockKind.PARAGRAPH and block.page == (parted.page or 0) + 1
    if rest is None or not follows:
        return parted, block
    whole = replace(parted, text=parted.text[:-1] + rest[0])
    left = block.text[rest.end() :].lstrip()
    return whole, replace(block, text=left) if left else None


PARSER = TextParser()
