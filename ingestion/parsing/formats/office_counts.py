"""The contents of office files, counted in the bytes, because libraries drop parts without notice.

Regular expressions suffice: a count may be slightly wrong, and only decides about a warning.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ingestion.domain import Block, Completeness, Unit, Why, visible
from ingestion.files import filetypes
from ingestion.parsing.formats import docx_repair, odf_repair, pptx_repair
from ingestion.parsing.formats.doc_margins import DAMAGES
from ingestion.parsing.formats.epub import elements_in
from ingestion.parsing.formats.inner_files import PartKeeper, Refusal
from ingestion.parsing.formats.ooxml import plain, read_member, relations
from ingestion.parsing.protocol import Source

_ODF_BODY = re.compile(rb"<office:body>(.*)</office:body>", re.DOTALL)
# Repeated or deleted text and remarks, which a reader of the text does not expect.
_ASIDE = re.compile(
    rb"<mc:Fallback>.*?</mc:Fallback>"
    rb"|<(office:annotation|text:tracked-changes)\b.*?</\1>",
    re.DOTALL,
)
_RUN = re.compile(rb"<\w{1,9}:t(?:\s[^<>]*)?>([^<]*)<")
_TEXTS = re.compile(
    r"word/(?:document|footnotes|endnotes|comments)\.xml|(?:word|ppt)/diagrams/data\d*\.xml"
    r"|ppt/(?:slides|notesSlides)/[^/]+\.xml"
)
_PICTURE = re.compile(r"(?:word|ppt|xl)/media/.|Pictures/.")
_EMBEDDED = re.compile(r"(?:word|ppt|xl)/embeddings/.|Object \d+(?:/content\.xml)?$")
_OLD_EMBEDDED = re.compile(r"ObjectPool/\w+|MBD\w+")
# The stream of a PPT, and the head of its record of an embedded object ([MS-PPT] 2.10.27).
DECK, _EMBEDDED_IN_DECK = "PowerPoint Document", b"\x0f\x00\xcc\x0f"
_SHOWN_OBJECT = re.compile(rb"<(?:\w+:)?math\b|<table:table\b")
_CHART_LINK = re.compile(rb'Target="[^"]*?(embeddings/[^"]+)"')


def container(source: Source) -> Completeness:
    """The pictures, embedded files and characters of an office document in a checked container.

    The workbook with a chart's data is not a loss, because the chart shows it. Files of other
    formats yield an empty result.
    """
    completeness = Completeness()
    if source.file_type in (filetypes.DOC, filetypes.XLS, filetypes.PPT):
        completeness.add(Unit.FILE, Why.EMBEDDED, count=_embedded_in(source.path))
    if not zipfile.is_zipfile(source.path):
        return completeness
    with zipfile.ZipFile(source.path) as archive:
        names = archive.namelist()
        completeness.pictures = sum(bool(_PICTURE.match(name)) for name in names)
        charts = b"".join(read_member(archive, name) for name in names if "/charts/_rels/" in name)
        charted = {name.decode("utf-8", "replace") for name in _CHART_LINK.findall(charts)}
        embedded = [name for name in names if _EMBEDDED.match(name)]
        left = [name for name in embedded if name.partition("/")[2] not in charted]
        # A formula, or one with a table, is read.
        objects = [name for name in left if name.endswith("/content.xml")]
        shown = {name for name in objects if _SHOWN_OBJECT.search(read_member(archive, name))}
        names_left = [name.removesuffix("/content.xml") for name in left if name not in shown]
        completeness.add(Unit.FILE, Why.EMBEDDED, [n.rpartition("/")[2] for n in names_left])
        for name in filter(_TEXTS.fullmatch, names):
            written = pptx_repair.without_margins(_ASIDE.sub(b"", read_member(archive, name)))
            part = docx_repair.without_hidden(written)
            completeness.found += (found := sum(map(_visible, _RUN.findall(part))))
            if part is not written:
                rest = sum(map(_visible, _RUN.findall(written))) - found
                completeness.add(Unit.CHARACTER, Why.HIDDEN, count=rest)
        completeness.found += sum(map(_visible, _margin_texts(archive, source)))
        if body := _ODF_BODY.search(read_member(archive, "content.xml")):
            completeness.found += _visible(_ASIDE.sub(b"", body[1]))
    return completeness


def _embedded_in(path: Path) -> int:
    """The number of charts, pictures of equations and files in an Office 97-2003 file."""
    import olefile

    try:
        with olefile.OleFileIO(str(path)) as file:
            storages = ["/".join(each) for each in file.listdir(streams=False, storages=True)]
            count = sum(map(bool, map(_OLD_EMBEDDED.fullmatch, storages)))
            deck = file.openstream(DECK).read() if file.exists(DECK) else b""
    except DAMAGES:
        return 0
    return count + deck.count(_EMBEDDED_IN_DECK)


def _margin_texts(archive: zipfile.ZipFile, source: Source) -> list[bytes]:
    """The texts in the headers and footers that are read."""
    if source.file_type == filetypes.DOCX:
        return _RUN.findall(b"".join(chain(*docx_repair.margin_parts(archive))))
    if source.file_type == filetypes.ODT:
        parts = odf_repair.margin_parts(read_member(archive, "styles.xml"))
        return [*chain(*parts)]
    return []


def note_parts(completeness: Completeness, keeper: PartKeeper) -> None:
    """Record the number of inner files, and the refused ones; an empty file is not a loss."""
    count = len(keeper.parts)
    for refusal, paths in keeper.refused.items():
        why = Why.BLANK if refusal is Refusal.EMPTY else Why[refusal.name]
        completeness.add(Unit.FILE, why, paths)
        count += len(paths)
    if completeness.unit is Unit.FILE:
        completeness.total = count
    elif count:
        completeness.others[Unit.FILE] = count


def _visible(xml: bytes) -> int:
    return len("".join(plain(xml).split()))


def counted(blocks: Iterable[Block], completeness: Completeness) -> Iterator[Block]:
    """Yield the blocks, then compare their number of characters with the file's."""
    extracted = 0
    for block in blocks:
        extracted += visible(block)
        yield block
    completeness.compare(completeness.found, extracted)


_DRAWN = re.compile(rb"<(?:p:pic|p:graphicFrame|draw:image)\b")
_VALUE = re.compile(rb"<(?:\w{1,9}:)?(?:v(?:\s[^<>]*)?>[^<]|is>)")
_NO_VALUE = re.compile(
    rb"<(?:\w{1,9}:)?f(?:\s[^<>]*)?(?:/>|>[^<]*</(?:\w{1,9}:)?f>)"
    rb"(?:<(?:\w{1,9}:)?v(?:\s*/|></(?:\w{1,9}:)?v)>)?</(?:\w{1,9}:)?c>"
)
_HIDDEN = re.compile(rb'\shidden="(?:1|true)"')
_HIDDEN_COLUMN = re.compile(rb'<(?:\w{1,9}:)?col\s[^<>]*?hidden="(?:1|true)"[^<>]*>')
_SPAN = re.compile(rb'\bm(?:in|ax)="(\d{1,5})"')
_LAST_COLUMN = 16_384
_SHEET_ROW = re.compile(rb"<(?:\w{1,9}:)?row(\s[^<>]*)(?<!/)>(.*?)</(?:\w{1,9}:)?row>", re.DOTALL)
_SHEET_CELL = re.compile(
    rb'<(?:\w{1,9}:)?c\s[^<>]*?\br="([A-Z]{1,3})\d{1,7}"[^<>]*(?<!/)>(.*?)</(?:\w{1,9}:)?c>',
    re.DOTALL,
)
_FEWEST_CELLS = 5  # that may be empty texts; a guess
_INDEX = {
    filetypes.XLSX: ("xl/", "workbook.xml", "sheet"),
    filetypes.PPTX: ("ppt/", "presentation.xml", "sldId"),
}
_ODF_UNIT = {
    filetypes.ODS: re.compile(rb"<table:table\s"),
    filetypes.ODP: re.compile(rb"<draw:page[\s>/]"),
}


_ODF_NAME = re.compile(rb'[^<>]*?\btable:name="([^"]*)"')


class Member(NamedTuple):
    """A sheet or slide; its `content` is empty where it is missing or cut off.

    `path` is that of its member in the container, empty in OpenDocument.
    """

    name: str
    content: bytes
    is_hidden: bool = False
    path: str = ""


def members(source: Source) -> Iterator[Member]:
    """The sheets of a workbook or the slides of a deck, in order; none of binary formats."""
    if split := _ODF_UNIT.get(source.file_type):
        with zipfile.ZipFile(source.path) as archive:
            _, *units = split.split(read_member(archive, "content.xml"))
        for number, unit in enumerate(units, 1):
            named = _ODF_NAME.match(unit)
            yield Member(plain(named[1]) if named else str(number), unit)
    if source.file_type not in _INDEX:
        return
    folder, index, name = _INDEX[source.file_type]
    with zipfile.ZipFile(source.path) as archive:
        targets = relations(archive, folder + index)
        for number, element in enumerate(elements_in(source.path, folder + index, name), 1):
            entry = element.attributes
            links = (value for key, value in entry.items() if key.endswith(":id"))
            path = targets.get(next(links, ""), "")
            content = read_member(archive, path).rstrip()
            whole = content if content.endswith((b"sheet>", b"sld>")) else b""
            is_hidden = entry.get("state", "visible") != "visible"
            yield Member(entry.get("name", str(number)), whole, is_hidden, path)


def workbook(source: Source) -> Completeness:
    """A workbook's sheets, its cells and its formulas without a stored result."""
    completeness, cells = container(source), 0
    for sheet in members(source):
        completeness.unit = Unit.SHEET
        completeness.total += 1
        values, valueless = (
            sum(1 for _ in one.finditer(sheet.content)) for one in (_VALUE, _NO_VALUE)
        )
        if sheet.is_hidden:
            completeness.add(Unit.SHEET, Why.HIDDEN, [sheet.name])
        elif not sheet.content:
            completeness.add(Unit.SHEET, Why.DAMAGED, [sheet.name])
        elif not values and not valueless and b"<text:p" not in sheet.content:
            completeness.add(Unit.SHEET, Why.BLANK, [sheet.name])
        else:
            cells += values + valueless
            completeness.add(Unit.CELL, Why.NO_VALUE, count=valueless)
            completeness.add(Unit.CELL, Why.DROPPED, count=_hidden_cells(sheet.content))
    if cells:
        completeness.others[Unit.CELL] = cells
    return completeness


def _hidden_cells(sheet: bytes) -> int:
    """The number of cells with a value in hidden rows and columns, which the reader leaves out."""
    if b"hidden" not in sheet:
        return 0
    columns = {
        number
        for column in _HIDDEN_COLUMN.findall(sheet)
        for first, last in [map(int, _SPAN.findall(column)[:2])]
        for number in range(first, min(last, _LAST_COLUMN) + 1)
    }
    count = 0
    for row, content in _SHEET_ROW.findall(sheet):
        is_hidden = _HIDDEN.search(row) is not None
        for name, cell in _SHEET_CELL.findall(content):
            is_left_out = is_hidden or column_number(name) in columns
            count += is_left_out and _VALUE.search(cell) is not None
    return count


def column_number(name: bytes) -> int:
    """A column's number: 1 for A, 27 for AA."""
    return reduce(lambda number, letter: number * 26 + letter - ord("A") + 1, name, 0)


def counted_cells(blocks: Iterable[Block], completeness: Completeness) -> Iterator[Block]:
    """Yield the blocks of a workbook, then compare their number of cells with the file's."""
    extracted = 0
    for block in blocks:
        # A header may be of up to three rows, whose labels are words of one.
        labels = sum(min(len(cell.split()), 3) for row in block.rows[:1] for cell in row)
        cells = labels + sum(bool(cell) for row in block.rows[1:] for cell in row)
        extracted += cells or not block.level
        yield block
    without = sum(gap.count for gap in completeness.gaps if gap.unit is Unit.CELL)
    expected = completeness.others.get(Unit.CELL, 0) - without
    if expected - extracted > max(_FEWEST_CELLS, expected / 10):
        completeness.add(Unit.CELL, Why.DROPPED, count=expected - extracted)


def deck(source: Source, read: Sequence[Sequence[Block]]) -> tuple[Completeness, list[int]]:
    """The completeness of a deck, and the numbers of the slides that the reader returned.

    `read` are the blocks before the first slide, or all where slides cannot be told apart, then
    those of each. The reader omits unreadable slides without notice, so the numbers may have gaps.
    """
    completeness = container(source)
    slides = [
        (each.content != b"", _DRAWN.search(each.content) is not None) for each in members(source)
    ]
    completeness.compare(completeness.found, sum(visible(one) for each in read for one in each))
    whole = [number for number, (is_whole, _) in enumerate(slides, 1) if is_whole]
    numbers = whole if len(whole) == len(read) - 1 else list(range(1, len(read)))
    if not numbers:
        return completeness, []
    completeness.unit, completeness.total = Unit.SLIDE, max(len(slides), len(numbers))
    missing = [number for number in range(1, completeness.total + 1) if number not in numbers]
    completeness.add(Unit.SLIDE, Why.DAMAGED, missing)
    for number, blocks in zip(numbers, read[1:], strict=True):
        if not blocks:
            is_drawn = number <= len(slides) and slides[number - 1][1]
            completeness.add(Unit.SLIDE, Why.PICTURE if is_drawn else Why.BLANK, [number])
    return completeness, numbers
