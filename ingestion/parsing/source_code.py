"""Source code and configuration -> declarations as headings, the code between as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ingestion.domain import Block, BlockKind
from ingestion.files.source_languages import FAMILIES

from .declarations import LONGEST_LINE, declaration
from .encoding import decode
from .protocol import Extraction, Source

# A file of one class must not take the class's name for its title: its file name says more.
_TOP_LEVEL = 2
_DEEPEST_LEVEL = 4
_LEADING_LINES = 60
"""How far above a declaration its comments and decorators are looked for. A guess."""
_LEADING = re.compile(r"\s*(?:#(?!include|define|if|end|else)|//|/\*|\*|@|--|\[\w|template\s*<)")
_TRIPLE_QUOTE = re.compile(r'"""|\'\'\'')


class SourceCodeParser:
    """A heading a class, function, table or section, then its lines in one code block."""

    name = "source-code"

    def extract(self, source: Source) -> Extraction:
        text = decode(source.path.read_bytes())
        return Extraction(source_blocks(text, FAMILIES[source.file_type.media_type]))


def source_blocks(text: str, family: str) -> Iterator[Block]:
    """Headings and code; the code blocks together hold every line of `text` in its order."""
    lines = text.split("\n")
    start = 0
    for number, level, heading in _headings(lines, family):
        first = _first_leading_line(lines, number, start)
        if first > start:
            yield Block(BlockKind.CODE, "\n".join(lines[start:first]))
        yield Block(BlockKind.HEADING, heading, level=level)
        start = first
    yield Block(BlockKind.CODE, "\n".join(lines[start:]))


def _headings(lines: Sequence[str], family: str) -> Iterator[tuple[int, int, str]]:
    """(line, level, heading) of each declaration that stands directly in the file or a container.

    What is declared inside a function is indented deeper than its neighbours, and left out.
    """
    containers: list[int] = []
    members = [0]
    for number, line in _code_lines(lines, family):
        found = declaration(line, family)
        if found is None:
            continue
        while containers and found.indent <= containers[-1]:
            containers.pop()
            members.pop()
        if members[-1] < 0:
            members[-1] = found.indent
        level = _TOP_LEVEL + len(containers)
        if found.indent > members[-1] or level > _DEEPEST_LEVEL:
            continue
        yield number, level, found.heading
        if found.is_container:
            containers.append(found.indent)
            members.append(-1)


def _code_lines(lines: Sequence[str], family: str) -> Iterator[tuple[int, str]]:
    """The numbered lines outside long strings and block comments, whose prose declares nothing."""
    closing = ""
    for number, line in enumerate(lines):
        if closing:
            closing = "" if closing in line else closing
            continue
        if family == "python":
            marks = _TRIPLE_QUOTE.findall(line)
            closing = marks[0] if len(marks) % 2 else ""
        # Only at its start: "/*" occurs in globs and in strings as well.
        elif line[:LONGEST_LINE].lstrip().startswith("/*"):
            closing = "" if "*/" in line else "*/"
            continue
        yield number, line


def _first_leading_line(lines: Sequence[str], number: int, start: int) -> int:
    """The first of the comment and decorator lines right above line `number`."""
    first = number
    while first > max(start, number - _LEADING_LINES) and _LEADING.match(lines[first - 1]):
        first -= 1
    return first


PARSER = SourceCodeParser()
