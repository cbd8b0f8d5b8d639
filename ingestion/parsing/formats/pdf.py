"""PDF -> Blocks with page numbers: liteparse for the text, PDFium for the metadata."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingestion.domain import Block, BlockKind, Completeness, Unit, visible
from ingestion.errors import DamagedFile, EncryptedFile
from ingestion.parsing.formats.inner_files import PartKeeper
from ingestion.parsing.formats.office_counts import note_parts
from ingestion.parsing.formats.pandoc_tree import LAST_PERMALINK
from ingestion.parsing.formats.pdf_counts import note_pages
from ingestion.parsing.formats.pdf_headings import with_outline, with_steps, without_repeats
from ingestion.parsing.formats.pdf_layout import (
    LetterSizes,
    Page,
    Placed,
    contains_heading,
    in_order,
    indented,
    rows_of,
    with_headings,
    without_furniture,
)
from ingestion.parsing.formats.pdf_metadata import (
    DAMAGED,
    ENCRYPTED,
    attached_files,
    drawn_pages,
    opened,
    read_facts,
)
from ingestion.parsing.formats.pdf_notes import with_notes
from ingestion.parsing.formats.pdf_tables import (
    with_divided_rows,
    with_joined_rows,
    with_values,
    with_whole_tables,
    without_margins,
)
from ingestion.parsing.formats.pdf_words import WordReader
from ingestion.parsing.formats.tables_of_contents import without_contents
from ingestion.parsing.formats.tabular import table_of
from ingestion.parsing.formats.text import joined_across_pages, joined_in_line
from ingestion.parsing.ocr import Ocr
from ingestion.parsing.protocol import Extraction, ScannedPages, Source

if TYPE_CHECKING:
    from liteparse import LayoutBlock, LiteParse, ParsedPage
    from pypdfium2 import PdfDocument

BATCH_PAGES = 25
COVERAGE = 0.7
"""Minimum share of a page's text in its blocks; measured on 74 filings, see ADR 8."""

# liteparse writes emphasis and struck words as Markdown and escapes literal asterisks.
_EMPHASIS = re.compile(r"\\([\\*_`~$#\[\]<>|])|\*+|~~")
_PROGRAM_LIKE = re.compile(r"[(){}\[\]=;<>$#\\|]|::|->")


class PdfParser:
    """Headings, lists, tables, reading order of columns; running headers left out."""

    name = "liteparse"

    def extract(self, source: Source) -> Extraction:
        with opened(source.path) as document:
            return _extraction(source, document)


def _extraction(source: Source, document: PdfDocument) -> Extraction:
    facts = read_facts(document, source.limits)
    # liteparse relies on the extension, which a stored file may lack.
    path = source.scratch / "source.pdf"
    path.symlink_to(source.path)
    unreadable: list[int] = []
    words = WordReader(document)
    pages = list(_pages(path, words, unreadable))
    if not pages:
        raise DamagedFile(DAMAGED)
    completeness = Completeness(Unit.PAGE, max(facts.metadata.page_count or 0, len(pages)))
    completeness.compare(
        sum(page.expected for page in pages), sum(_extracted(page.blocks) for page in pages)
    )
    scans = recognised(path, source.ocr) if source.ocr.wanted else ()
    by_number = {page.number: page for page in scans}
    pages = [by_number.get(page.number, page) for page in pages]
    empty = [page.number for page in pages if not page.blocks]
    scanned = [number for number in drawn_pages(document, empty) if number not in by_number]
    if len(empty) == len(pages):
        raise ScannedPages(_no_text(len(pages), source.ocr, bool(scanned)), scanned)
    completeness.recognised = len(by_number.keys() - set(empty))
    read = {page.number for page in pages} - set(unreadable)
    note_pages(completeness, source, read, (empty, scanned))
    running = joined_across_pages(without_contents(without_furniture(with_headings(pages))))
    titled = with_outline(running, facts) if facts.outline else with_steps(running)
    written = without_repeats(titled)
    blocks = with_notes(written, words.notes)
    keeper = PartKeeper(source.scratch, source.limits)
    for name, data in attached_files(document, source.limits.archive_entries):
        keeper.keep(keeper.place(name), io.BytesIO(data))
    warnings = [] if source.ocr.languages or not scanned else [f"{source.ocr.lacking}."]
    warnings += keeper.warnings()
    note_parts(completeness, keeper)
    return Extraction(blocks, facts.metadata, warnings, keeper.parts, scanned, completeness)


def _no_text(pages: int, ocr: Ocr, is_scanned: bool) -> str:
    """The message about a PDF without text: the reason, and the remedy."""
    count = "one page" if pages == 1 else f"{pages:,} pages"
    if not is_scanned and not ocr.wanted:
        return (
            f"This PDF contains no text: its {count} {'is' if pages == 1 else 'are'} blank. Check "
            "that the right file was uploaded."
        )
    if ocr.languages:
        return (
            f"This PDF contains no text: OCR found none on its {count}. Scan the original again, "
            "upright and at 300 dots per inch, or check OCR_LANGUAGES."
        )
    return f"This PDF of {count} contains no text; {ocr.lacking}."


def recognised(path: Path, ocr: Ocr) -> list[Page]:
    """The scanned pages as liteparse reads them by Tesseract, without those that it cannot read.

    The folder of the language data is given, since liteparse would download missing data.
    """
    from liteparse import ParseError

    parser = _parser(
        ocr_enabled=True,
        ocr_language="+".join(ocr.languages),
        tessdata_path=ocr.data,
        ocr_failure_fatal=False,
        target_pages=",".join(map(str, ocr.wanted)),
    )
    try:
        pages = parser.parse(path).pages
    except ParseError as error:
        raise DamagedFile(DAMAGED) from error
    return [Page(page.page_num, page.height, _blocks(page)) for page in pages]


def _parser(**options: Any) -> LiteParse:
    from liteparse import LiteParse

    options = {"ocr_enabled": False, **options}
    return LiteParse(
        extract_blocks=True,
        # liteparse would drop repeated lines near a page's edge, including a table's last row.
        keep_headers_footers=True,
        extract_links=False,
        extract_vector_graphics=True,
        image_mode="off",
        continue_on_page_error=True,
        num_workers=1,
        quiet=True,
        **options,
    )


def _pages(path: Path, words: WordReader, unreadable: list[int]) -> Iterator[Page]:
    """The pages in order; the numbers of unreadable pages are added to `unreadable`."""
    from liteparse import ParseError

    try:
        # In batches: the boxes of all words of all pages would take 2.5 times the memory.
        has_headings = False
        for batch in _parser().parse_batches(path, BATCH_PAGES):
            unreadable += [error.page_num for error in batch.result.page_errors]
            for parsed in batch.result.pages:
                parsed.blocks = words.in_order(parsed)
            for page in _batch(path, words, batch.result.pages, is_sized=not has_headings):
                has_headings = has_headings or contains_heading(page)
                yield replace(page, blocks=words.repaired(page.number, page.blocks))
    except ParseError as error:
        if "password" in str(error).lower():
            raise EncryptedFile(ENCRYPTED) from error
        raise DamagedFile(DAMAGED) from error


def _batch(
    path: Path, words: WordReader, pages: Sequence[ParsedPage], *, is_sized: bool
) -> Iterator[Page]:
    """The pages of a batch; pages with rotated text are read again, turned upright."""
    upright = {page.page_num: _blocks(page, is_sized=is_sized) for page in pages}
    expected = {page.page_num: _expected(page) for page in pages}
    poor = [
        page
        for page in pages
        if _is_poor(upright[page.page_num], expected[page.page_num]) or _turn(page)
    ]
    for number, turned in _turned(path, poor).items():
        if _extracted(turned) >= COVERAGE * _extracted(upright[number]):
            upright[number] = turned
    for page in poor:
        if _is_poor(upright[page.page_num], expected[page.page_num]):
            upright[page.page_num] = _content(page, words)
    for page in pages:
        yield Page(page.page_num, page.height, upright[page.page_num], expected[page.page_num])


def _is_poor(blocks: list[Placed], expected: int) -> bool:
    # liteparse sees nothing of some turned pages.
    return not blocks or _extracted(blocks) < COVERAGE * expected


def _expected(page: ParsedPage) -> int:
    return sum(len("".join(item.text.split())) for item in page.text_items)


def _extracted(blocks: list[Placed]) -> int:
    return sum(visible(placed.block) for placed in blocks)


def _turned(path: Path, pages: Sequence[ParsedPage]) -> dict[int, list[Placed]]:
    """The blocks of pages with mostly rotated text, read after turning them upright."""
    turns = {page.page_num: turn for page in pages if (turn := _turn(page))}
    if not turns:
        return {}
    parser = _parser(
        page_orientation_corrections=list(turns.items()), target_pages=",".join(map(str, turns))
    )
    return {page.page_num: _blocks(page) for page in parser.parse(path).pages}


def _turn(page: ParsedPage) -> int:
    """The rotation of most of the page's text in degrees: 0, 90, 180 or 270."""
    angles = Counter(round(item.rotation / 90) % 4 * 90 for item in page.text_items)
    return angles.most_common(1)[0][0] if angles else 0


def _content(page: ParsedPage, words: WordReader) -> list[Placed]:
    """The page's text in content order as one paragraph, without boxes."""
    lines = "\n".join(
        line.strip() for line in words.text(page.page_num).splitlines() if line.strip()
    )
    block = Block(BlockKind.PARAGRAPH, lines, page=page.page_num)
    return [Placed(block, 0, page.height)] if lines else []


def _blocks(page: ParsedPage, *, is_sized: bool = False) -> list[Placed]:
    """The page's blocks, and its turned text; with the size of their letters if `is_sized`."""
    out = []
    sizes = LetterSizes(page.text_items if is_sized else ())
    whole = with_whole_tables(page.blocks or (), page.text_items)
    whole = in_order(with_values(whole, page.text_items))
    tables = [with_divided_rows(with_joined_rows(block), page.text_items) for block in whole]
    for layout in without_margins(tables):
        block = _block(layout, page.page_num)
        if block is not None and block.text.strip():
            box = layout.bbox
            if block.kind is BlockKind.CODE and box:
                listing = indented(layout.lines or (), box, page.text_items)
                block = replace(block, text="\n".join(listing))
            top = box.y if box else 0.0
            bottom = top + box.height if box else page.height
            size = sizes.within(box.x, top, box.x + box.width, bottom) if box else 0
            out.append(Placed(block, top, bottom, size))
    # A legend in the margin, the name of an axis: liteparse has them in no block.
    aside = "\n".join(item.text for item in page.text_items if round(item.rotation / 90) % 2)
    if aside.strip():
        out.append(Placed(Block(BlockKind.PARAGRAPH, aside, page=page.page_num), 0, 0))
    return out


def _block(layout: LayoutBlock, page: int) -> Block | None:
    text = plain(layout.text or "")
    if layout.kind == "heading":
        text = LAST_PERMALINK.sub("", text)  # of a printed page
        return Block(BlockKind.HEADING, text, level=min(max(layout.level or 1, 1), 6), page=page)
    if layout.kind == "list_item":
        label = f"{layout.marker} " if layout.ordered and layout.marker else ""
        return Block(BlockKind.LIST_ITEM, label + text, level=layout.level or 0, page=page)
    if layout.kind == "table":
        return _table(layout, page)
    if layout.kind in ("code", "grid_fallback"):
        lines = "\n".join(layout.lines or ())
        # A single line in a monospaced font is more often a product's name than code.
        is_code = layout.kind == "code" and ("\n" in lines or _PROGRAM_LIKE.search(lines))
        return Block(BlockKind.CODE if is_code else BlockKind.PARAGRAPH, lines, page=page)
    return Block(BlockKind.PARAGRAPH, text, page=page) if text else None


def _table(layout: LayoutBlock, page: int) -> Block:
    cells = [[(plain(cell.text), 1, 1) for cell in row] for row in rows_of(layout)]
    if max(map(len, cells), default=0) < 2:
        text = "\n".join(text for row in cells for text, _, _ in row)
        return Block(BlockKind.PARAGRAPH, text, page=page)
    # liteparse takes the first of several lines such as "Date: 3 May" for a header.
    has_labels = all(row[0][0].endswith(":") for row in cells)
    has_head = False if has_labels else bool(layout.header) or None
    return replace(table_of(cells, has_head=has_head), page=page)


def plain(text: str) -> str:
    """liteparse's text without emphasis marks; words hyphenated at line ends are joined."""
    if "*" in text or "\\" in text or "~~" in text:
        text = _EMPHASIS.sub(lambda match: match[1] or "", text)
    return joined_in_line(text)


PARSER = PdfParser()
