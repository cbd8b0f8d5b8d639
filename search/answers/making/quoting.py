"""The answer that consists of pieces of its passages, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from textwrap import dedent

from ingestion.chunking.sections import common_path
from ingestion.domain import CELL_SEPARATOR
from ingestion.lexical.sentences import Kind
from search.answers.checking.conflicts import conflicts
from search.answers.domain import Answered, Citation, Sentence, Verdict
from search.answers.quote_pieces import Quote, TextPart

# What would be markup in a quotation: anywhere, or at a line's beginning. Names such as a_name
# stay as they are, for programs that show no Markdown.
_MARKUP = re.compile(r"([\\`*\[\]<]|~(?=~)|&(?=#?\w+;)|(?<!\w)_+|_+(?!\w))")
_OPENING = re.compile(r"^(\d*)([#>|=+\-.)])")
_ITEM = re.compile(r"(?:[-*+•‣◦–—·▪]|\(?(\d{1,3})[.)])\s+")
_IN_LINES = frozenset({Kind.ITEM, Kind.ROW})


def quoted(answer: Answered, quotes: Sequence[Quote], *, is_marked: bool = False) -> Answered:
    """The answer that quotes pieces of passages, each under its last two headings.

    `is_marked`: the best sentence of the first piece is in bold. The passages of the pieces become
    the first ones, in the order of reading. Markup in documents is escaped: it must neither load
    anything in a reader's program nor add citations to the answer.
    """
    cited = [quote.passage for quote in quotes]
    others = [each.number for each in answer.context.passages if each.number not in cited]
    passages = filter(None, map(answer.context.passage, (*cited, *others)))
    renumbered = [replace(each, number=place) for place, each in enumerate(passages, start=1)]
    text, sentences = "", list[Sentence]()
    for passage, quote in zip(renumbered, quotes, strict=False):
        start = len(text) if sentences else 0
        ends = quote.parts[0].start, quote.parts[-1].start
        path = common_path([passage.path_at(place) for place in ends])
        # With the heading above, which may be a version or a number: “Changed” names no section.
        names = [each for each in path if each != passage.title][-2:] or [passage.title]
        text += f"#### {' › '.join(map(escaped, names))} [{passage.number}]"
        before: Kind | None = None
        for run in _runs(passage.text, quote.parts):
            marked = quote.marked if is_marked and passage.number == 1 else None
            text += _markdown(passage.text, run, marked, before)
            before = run[-1].kind
            words = " ".join(passage.text[run[0].start : run[-1].end].split())
            citation = Citation(passage.number, run[0].start, run[-1].end)
            sentences.append(Sentence(start, len(text), words, (citation,), Verdict.SUPPORTED))
            start = len(text)
        text += "\n\n"
    context = replace(
        answer.context,
        passages=tuple(renumbered),
        conflicts=conflicts(renumbered) if answer.context.conflicts else (),
    )
    return replace(answer, text=text.rstrip(), sentences=tuple(sentences), context=context)


def _runs(text: str, parts: Sequence[TextPart]) -> Iterator[list[TextPart]]:
    """The parts in groups, separated where the text between two of them is left out."""
    run = [parts[0]]
    for part in parts[1:]:
        if text[run[-1].end : part.start].strip():
            yield run
            run = []
        run.append(part)
    yield run


def _markdown(
    text: str, parts: Sequence[TextPart], marked: TextPart | None, before: Kind | None
) -> str:
    """Parts as Markdown that follows a part of kind `before`, with `marked` in bold."""
    lines = ""
    for (kind, _), group in groupby(parts, key=lambda part: (part.kind, part.line)):
        goes_on = before is kind and kind in _IN_LINES
        lines += "\n" if goes_on else "\n\n"
        block = list(group)
        if kind is Kind.CODE:
            lines += _fenced(text[block[0].start : block[-1].end])
        elif kind is Kind.ROW:
            lines += _row(text[block[0].start : block[0].end], block[0] == marked, goes_on)
        else:
            lines += _line(text, block, marked)
        before = kind
    return lines


def _fenced(code: str) -> str:
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", code)), 0)
    return f"{fence}\n{dedent(code).rstrip()}\n{fence}"


def _row(row: str, is_marked: bool, goes_on: bool) -> str:
    cells = [escaped(cell).replace("|", r"\|") for cell in row.split(CELL_SEPARATOR)]
    line = "".join(f"| **{cell}** " if is_marked and cell else f"| {cell} " for cell in cells)
    return line + "|" + ("" if goes_on else "\n" + "| --- " * len(cells) + "|")


def _line(text: str, block: Sequence[TextPart], marked: TextPart | None) -> str:
    """The sentences of a paragraph or an item on one line."""
    at, sign = block[0].start, ""
    if block[0].kind is Kind.ITEM:
        match = _ITEM.match(text, at, block[0].end)
        at = match.end() if match else at
        sign = f"{match[1]}. " if match and match[1] else "- "
    words = [
        f"**{sentence}**" if part == marked and sentence else sentence
        for part in block
        if (sentence := escaped(text[max(at, part.start) : part.end]))
    ]
    return sign + _OPENING.sub(r"\1\\\2", " ".join(words))


def escaped(text: str) -> str:
    """A document's words on one line, as Markdown that shows them as they are."""
    return _MARKUP.sub(lambda match: re.sub("(.)", r"\\\1", match[0]), " ".join(text.split()))
