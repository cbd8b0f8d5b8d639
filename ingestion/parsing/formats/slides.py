"""Slides (PPTX, PPT, ODP) -> Blocks, by anydoc.

anydoc does not report where a slide begins: a mark inserted into every slide beforehand comes out
between the blocks of two slides. PPT is a binary format and gets no slide numbers.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from ingestion.domain import Block, BlockKind
from ingestion.files import filetypes
from ingestion.parsing.formats import odf_repair, office_counts, pptx_repair, word_documents
from ingestion.parsing.formats.asides import comment_mark, with_asides
from ingestion.parsing.formats.ooxml import charts_with_axes, copied, escaped, read_member
from ingestion.parsing.formats.ppt_tables import with_tables
from ingestion.parsing.formats.zip_safety import UNREADABLE
from ingestion.parsing.protocol import Extraction, Source

# U+E000 is for private use and does not occur in ordinary text.
_MARK = "\ue000steelyard-slide\ue000"
_PPTX_MARK = (
    b'<p:sp xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    b'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
    b'<p:nvSpPr><p:cNvPr id="0" name=""/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
    b"<p:txBody><a:bodyPr/><a:p><a:r><a:t>%s</a:t></a:r></a:p></p:txBody></p:sp>"
)
# A separate page, because anydoc moves a page's title before its other shapes.
_ODP_TEXT = b"<draw:frame><draw:text-box><text:p>%s</text:p></draw:text-box></draw:frame>"
_ODP_MARK = (
    b'<draw:page xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
    b'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">'
    + _ODP_TEXT % _MARK.encode()
    + b"</draw:page>"
)
_PPTX_SLIDE = re.compile(r"ppt/slides/[^/]+\.xml")
_PPTX_SHAPES = re.compile(rb"<p:grpSpPr\s*/>|</p:grpSpPr>")
_ODP_PAGE = re.compile(rb"(?=<draw:page[\s>/])")
# PowerPoint's default title of a deck without one, in any of its languages.
_NO_TITLE = re.compile(r"(?=.*PowerPoint).{1,40}", re.IGNORECASE)


class SlidesParser:
    """Titles as headings, texts, tables, the data of charts; each slide's notes and comments."""

    name = "anydoc-slides"

    def extract(self, source: Source) -> Extraction:
        data = word_documents.read_checked(source)
        # If a member cannot be unpacked, anydoc reports it or reads the others.
        with suppress(KeyError, *UNREADABLE):
            data = _marked(data, source.file_type)
        document = word_documents.open_document(data, source.file_type)
        slides = _slides(word_documents.DocumentReader(document).blocks())
        if source.file_type == filetypes.PPT:
            slides = [[*with_tables(source.path, slides[0])]]
        completeness, numbers = office_counts.deck(source, slides)
        metadata = word_documents.read_metadata(source)
        title = "" if _NO_TITLE.fullmatch(metadata.title) else metadata.title
        stated = replace(metadata, title=title, page_count=completeness.total or None)
        return Extraction(_blocks(slides, numbers), stated, completeness=completeness)


def _marked(data: bytes, file_type: filetypes.FileType) -> bytes:
    """The deck without pictures and with a mark before every slide.

    Unchanged if a mark cannot be placed: no slide numbers are better than wrong ones.
    """
    if file_type not in (filetypes.PPTX, filetypes.ODP):
        return data
    footers: set[str] = set()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = charts_with_axes(archive)
        if file_type == filetypes.ODP:
            content = odf_repair.PAGE_NUMBER.sub(b"", read_member(archive, odf_repair.CONTENT))
            content = odf_repair.repaired(content, archive, element=_ODP_TEXT)
            parts[odf_repair.CONTENT] = _ODP_PAGE.sub(_ODP_MARK, content)
        for name in filter(_PPTX_SLIDE.fullmatch, archive.namelist()):
            content = archive.read(name)
            place = _PPTX_SHAPES.search(content)
            if place is None:
                return data
            text = _MARK + "".join(map(comment_mark, pptx_repair.comments_on(archive, name)))
            rest = pptx_repair.repaired(content[place.end() :], footers)
            parts[name] = content[: place.end()] + _PPTX_MARK % escaped(text) + rest
        return copied(archive, parts)


def _slides(blocks: Iterable[Block]) -> list[list[Block]]:
    """The blocks before the first mark (all of them without marks), then those of each slide."""
    slides: list[list[Block]] = [[]]
    comments: list[Block] = []  # on the slide, after its notes
    for block in blocks:
        first, *asides = with_asides([block])
        if first.text == _MARK:
            slides[-1] += comments
            slides.append([])
            comments = asides
        else:
            slides[-1] += [one for one in (first, *asides) if one.text]
    slides[-1] += comments
    return slides


def _blocks(slides: list[list[Block]], numbers: list[int]) -> Iterator[Block]:
    """All blocks with their slide's number, each slide's title first.

    The first slide's title is that of the deck; the others are below it. `numbers` are theirs.
    """
    for number, slide in zip((0, *numbers), slides, strict=True):
        kinds = [block.kind for block in slide]
        if number and BlockKind.HEADING in kinds:
            slide.insert(0, slide.pop(kinds.index(BlockKind.HEADING)))
        for place, block in enumerate(slide):
            is_deck_title = (number, place, block.kind) == (1, 0, BlockKind.HEADING)
            level = 1 if is_deck_title else block.level
            yield replace(block, page=number or None, level=level)


SLIDES = SlidesParser()
