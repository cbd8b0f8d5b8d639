"""The tables of reading, in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.reading.recall import Reading, Share

RESULTS = Path(__file__).resolve().parents[1] / "results" / "reading.md"
_INTRODUCTION = """\
# Reading

How much of a file is read, by `python -m benchmarks.reading` ([how](../README.md)). Shares are
rounded; only what is whole reads 1. Where a cell has two figures, the first one is
{before}.

"""
_KNOWN = """\
## Files with known text

{files} files that the benchmark makes with python-docx, ReportLab, LibreOffice, Chromium's print
and the tests' own builders, in eleven languages and nine scripts. Some have one fault each from
reports on other products (letter-spaced lines, two tables on a sheet, deleted text and the like),
so that the figures are lower than those of common files. *Words* is the share of the words
of the file that are in its text (pairs of characters for Thai, Chinese and Japanese), *values* of
the numbers with their unit, *rows* of the table rows that stand whole under their own header.
*Made up* is the share of the words of the text that the file does not have. *Silent* are lost
words of files whose completeness names no loss.

"""
_OTHERS = """\
## Public samples

Beside another reader: PDFium's text, the XML of office files (of DOC, RTF, XLS and PPT after
LibreOffice), Python's `email`, `html.parser` and `xml`; decoded text for the rest. *Theirs in ours*
is the share of its words that are in our text, *only ours* the share of ours that it does not have.
Each word counts once. The other reader is no truth: it reads menus of web pages (the languages of
one page of Wikipedia are a tenth of the words of HTML), running headers, parts of words at a line's
end, and no numbers of spreadsheets.

"""
_FAULTS = """\
## Files of reported faults

The same, for the small files that came with reports. The other reader has many of the faults
itself (flattened powers, letters of Arabic in reverse), so that a mended fault lowers the figure.

"""
_PEERS = """\
## Beside docling and unstructured

Their own output on public test files of theirs, as their repositories keep it, beside ours. *Theirs
in ours* is the share of the words of their output that are in ours, *ours in theirs* the reverse;
then the share of the words of another reader (as above) that each has. Each word counts once.
Words that a line's end parts are joined in ours, as a rule not in theirs.

"""


def report(results: Mapping[str, Any], before: Mapping[str, Any], label: str) -> str:
    """The page with all tables; cells are "before → now" where both differ."""
    text = _INTRODUCTION.format(before=label)
    text += _KNOWN.format(files=len(results["files"]))
    columns: dict[str, Callable[[Reading], object]] = {
        "files": lambda one: one.files,
        "words": lambda one: one.words,
        "values": lambda one: one.values,
        "rows": lambda one: one.rows,
        "made up": lambda one: lack(one.made_up),
        "lost": lambda one: one.words.of - one.words.read,
        "silent": lambda one: one.silent,
    }
    text += _by_format(results["known"], before.get("known", {}), columns, whole=True)
    columns = {
        "files": lambda one: one.files,
        "words": lambda one: one.words.of,
        "theirs in ours": lambda one: one.words,
        "only ours": lambda one: lack(one.made_up),
        "silent": lambda one: one.silent,
    }
    for key in ("samples", "cases"):
        text += _OTHERS if key == "samples" else _FAULTS
        text += _by_format(results[key], before.get(key, {}), columns)
    if not results["peers"]:
        return text
    return text + _PEERS + _peers(results["peers"], before.get("peers", []))


def lack(share: Share) -> str:
    """A share that should be 0: only nothing at all reads 0."""
    if not share.read:
        return "0"
    return f"{max(share.read / max(share.of, 1), 0.0006):.3f}"[1:]


def _by_format(
    now: Mapping[str, Any],
    before: Mapping[str, Any],
    columns: Mapping[str, Callable[[Reading], object]],
    *,
    whole: bool = False,
) -> str:
    lines = []
    for name in sorted(now):
        reading = Reading.of_json(now[name])
        earlier = Reading.of_json(before[name]) if name in before else reading
        lines.append(
            [name, *(_cell(figure(earlier), figure(reading)) for figure in columns.values())]
        )
    if whole:
        totals = [_total(each) for each in (before or now, now)]
        lines.append(["all", *(_cell(*map(figure, totals)) for figure in columns.values())])
    return _table(["format", *columns], lines)


def _total(formats: Mapping[str, Any]) -> Reading:
    total = Reading(files=0)
    for each in formats.values():
        total.add(Reading.of_json(each))
    return total


def _cell(before: object, now: object) -> str:
    return str(now) if str(before) == str(now) else f"{before} → {now}"


def _peers(files: Iterable[Mapping[str, Any]], before: Iterable[Mapping[str, Any]]) -> str:
    names = ("ours_of_theirs", "theirs_of_ours", "ours", "theirs")
    heads = ["file", "peer", "theirs in ours", "ours in theirs", "another's in ours", "in theirs"]
    earlier = {(each["file"], each["peer"]): each for each in before}
    lines = []
    for each in files:
        old = earlier.get((each["file"], each["peer"]), each)
        cells = (_cell(Share(**old[name]), Share(**each[name])) for name in names)
        lines.append([each["file"], each["peer"], *cells])
    return _table(heads, lines)


def _table(heads: list[str], lines: Iterable[list[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n"
