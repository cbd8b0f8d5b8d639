"""Plain text -> headings, paragraphs; words hyphenated at the end of a line or page are rejoined.

Whether the hyphen belongs to the word is decided by the text's own words, in this order:

1. a hyphenated form written elsewhere ("well-known") keeps it;
2. a joined form written elsewhere ("tumor") drops it;
3. a part of compounds keeps it: a letter ("l-leucine", "x-ray"), "half", "non", a number
   ("two-thirds"), or a second part such as "dependent";
4. a half that is a word of the text ("oat-cell", where a cell is mentioned) keeps it, except after
   a prefix: it cannot be known, and a kept hyphen is searchable by both readings (ADR 44);
5. a half that is part of another compound of the text ("three-dimensional") keeps it;
6. anything else drops it: most of the 1,512 hyphens at line ends of the MED collection.

After a capital, rule 4 asks for both halves: German parts its long nouns between whole words, and
writes hyphenated ones with a second capital (Daten-Bank).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ingestion.domain import Block, BlockKind
from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.formats.subtitles import spoken, unfolded
from ingestion.parsing.formats.text_headings import headings
from ingestion.parsing.protocol import Extraction, Source

PARAGRAPH_CHARS = 4_000
"""Longest paragraph block. A guess: a page of text, about ten chunks."""

_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+|\f")
# "pre- and postwar", "Ein- und Ausgabe": such hyphens stay.
_NOT_A_JOINT = r"(?!(?:and|or|to|und|oder|bis|et|ou|e|y|o)\b)"
# "state-of-the-art" breaks at hyphens that belong to the word.
_LITTLE = r"(?:of|the|in|to|by|on|at|a|an|and|or|for|up|de|du|la|le|à|am|an|im|und)"
_COMPOUND_IN_A_LINE = re.compile(rf"(-{_LITTLE})[-\u2010] (?=[a-zß-ÿ])")
_COMPOUND_BEFORE = re.compile(_LITTLE)
_IN_A_LINE = re.compile(
    rf"(?<![^\W\d_])(?P<head>[^\W\d_]{{0,60}}[a-zß-ÿ]|[A-Z](?=. [a-zß-ÿ]{{3}}))"
    rf"[-\u2010] {_NOT_A_JOINT}"
    r"(?P<tail>[a-zß-ÿ]+)"
)
_AT_A_LINE_END = re.compile(
    rf"(?<![^\W\d_])(?P<head>[^\W\d_]{{0,60}}[a-zß-ÿ]|[A-Z](?=.\n[a-zß-ÿ]{{3}}))"
    rf"[-\u2010]\n(?P<indent>[ \t]*){_NOT_A_JOINT}"
    r"(?P<tail>[a-zß-ÿ]+)(?P<mark>[^\w\s]*)(?P<gap>[ \t]*)(?P<end>\n?)"
)
# A vowel may be the first syllable of a word: e-qually.
_FIRST_PARTS = re.compile(
    r"(?-i:[A-Z])|[b-df-hj-np-tv-z]|half|non|quasi|self|well"
    r"|two|three|four|five|six|seven|eight|nine|(?:twen|thir|for|fif|six|seven|eigh|nine)ty",
    re.IGNORECASE,
)
# After a first part of four letters: with fewer, they end words (un-related, en-treated).
_SECOND_PARTS = re.compile(
    r"based|deficient|dependent|dimensional|free|induced|labell?ed|like|mentioned|negative|operated"
    r"|positive|related|specific|treated",
    re.IGNORECASE,
)
_SHORT_HEAD = 4
_SHORT_TAIL = 4  # self-ish, half-ling
_PREFIXES = frozenset(
    """
    and any anti auf aus bei con counter des for foreign ein fore hyper inter mit multi nach not off
    out over per post pre pro sub sup super sur the trans ultra under uni up ver vor with zur
    """.split()  # noqa: SIM905
)
_SHORTEST_WORD = 3
_WORDS = re.compile(r"[^\W\d_]{3,121}")
_HYPHENATED = re.compile(r"(?<![^\W\d_])[^\W\d_]{1,60}-[^\W\d_]{1,60}(?![^\W\d_])")
_PARTED = re.compile(r"(?<=[a-zß-ÿ])[-\u2010]$")
_REST = re.compile(rf"{_NOT_A_JOINT}[a-zß-ÿ]+[^\w\s]*")


class TextParser:
    """Headings, and paragraphs separated by blank lines; long ones are split at line ends."""

    name = "text"

    def extract(self, source: Source) -> Extraction:
        text = unfolded(spoken(decode(source.path.read_bytes())))
        return Extraction(_blocks(joined_lines(text)))


def _blocks(text: str) -> Iterator[Block]:
    start = 0
    for heading in headings(text):
        yield from paragraph_blocks(text[start : heading.start])
        yield Block(BlockKind.HEADING, heading.text, heading.level)
        start = heading.end
    yield from paragraph_blocks(text[start:])


def paragraph_blocks(text: str) -> Iterator[Block]:
    """All of `text` in blocks of at most PARAGRAPH_CHARS characters."""
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
    """The position of a split: after a line, else a sentence, else a word, else at `limit`."""
    # Not in the first half: a short first line would become a tiny block.
    half = (start + limit) // 2
    for separator in ("\n", ". ", "。", " "):
        place = text.rfind(separator, half, limit)
        if place != -1:
            return place + len(separator)
    return limit


def joined_in_line(text: str) -> str:
    """Text of joined lines, with "instru- ment" as one word."""
    if "- " not in text and "\u2010 " not in text:
        return text
    text = _COMPOUND_IN_A_LINE.sub(r"\1-", text)
    return _Vocabulary(text, _IN_A_LINE).joined(text)


def joined_lines(text: str) -> str:
    """Text in lines, each hyphenated word rejoined on the line where it begins."""
    return _Vocabulary(text, _AT_A_LINE_END).joined(text)


class _Vocabulary:
    """The words of a text, but for those that `pattern` matches, to decide how those are joined."""

    def __init__(self, text: str, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._hyphenated = {word.casefold() for word in _HYPHENATED.findall(text)}
        self._halves = {half for word in self._hyphenated for half in word.split("-")}
        self._words: set[str] | None = None
        self._text = text

    def joined(self, text: str) -> str:
        return self._pattern.sub(lambda match: self._joined(text, match), text)

    def _joined(self, text: str, match: re.Match[str]) -> str:
        follows_one = text[match.start() - 1 : match.start()] in ("-", "\u2010")
        whole = self.whole(match["head"], match["tail"], follows_one=follows_one)
        # The rest of the second line, if any, stays a line, indented as it was.
        groups = match.groupdict("")
        indent = groups.get("indent", "") if groups.get("gap") else ""
        end = f"\n{indent}" if groups.get("gap") or groups.get("end") else ""
        return f"{whole}{groups.get('mark', '')}{end}"

    def whole(self, head: str, tail: str, *, follows_one: bool = False) -> str:
        """The word of two halves; `follows_one`: a hyphen comes before the first."""
        joined, hyphenated = f"{head}{tail}", f"{head}-{tail}"
        if follows_one:
            return hyphenated if _COMPOUND_BEFORE.fullmatch(head) else joined
        if hyphenated.casefold() in self._hyphenated:
            return hyphenated
        return joined if self._is_one_word(head, tail) else hyphenated

    def _is_one_word(self, head: str, tail: str) -> bool:
        words = self._known()
        first, second = head.casefold(), tail.casefold()
        if first + second in words:
            return True
        if _FIRST_PARTS.fullmatch(head) and len(tail) >= (_SHORT_TAIL if len(head) > 1 else 2):
            return False
        if min(len(head), len(tail)) < _SHORTEST_WORD or first in _PREFIXES:
            return True
        if _SECOND_PARTS.fullmatch(tail) and len(head) >= _SHORT_HEAD:
            return False
        familiar = {first, second} & words
        # "correspond-ing": the second half may be an ending.
        telling = second in words or len(tail) >= _SHORT_TAIL
        if len(familiar) == 2 or (familiar and telling and head.islower()):
            return False
        return not {first, second} & self._halves

    def _known(self) -> set[str]:
        if self._words is None:
            rest = self._pattern.sub(" ", self._text)
            self._words = {word.casefold() for word in _WORDS.findall(rest)}
        return self._words


def joined_across_pages(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks, with words hyphenated across a page break rejoined.

    The word goes to the page on which it begins.
    """
    before: Block | None = None
    for block in blocks:
        if before is not None:
            whole, rest = _joined(before, block)
            yield whole
            before = None
            if rest is None:
                continue
            block = rest
        if block.kind is BlockKind.PARAGRAPH and block.page and _PARTED.search(block.text):
            before = block
        else:
            yield block
    if before is not None:
        yield before


def _joined(before: Block, block: Block) -> tuple[Block, Block | None]:
    """Both blocks, with the rest of the word moved to the first; None if nothing is left."""
    rest = _REST.match(block.text)
    follows = block.kind is BlockKind.PARAGRAPH and block.page == (before.page or 0) + 1
    if rest is None or not follows:
        return before, block
    whole = replace(before, text=joined_lines(f"{before.text}\n{rest[0]}"))
    left = block.text[rest.end() :].lstrip()
    return whole, replace(block, text=left) if left else None


PARSER = TextParser()
