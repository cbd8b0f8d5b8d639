"""DOCX, DOC, ODT and RTF -> Blocks, by anydoc; metadata from the container's own files.

`spreadsheets` and `slides` build on this module.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ingestion.domain import Block, BlockKind, Completeness, Unit, Why
from ingestion.errors import DamagedFile, EncryptedFile, ParseLimitExceeded, TypeMismatch
from ingestion.files import filetypes
from ingestion.parsing.formats import docx_repair, odf_repair, rtf_repair
from ingestion.parsing.formats.asides import with_asides
from ingestion.parsing.formats.doc_margins import with_margins, without_deleted
from ingestion.parsing.formats.docx_chunks import with_chunks
from ingestion.parsing.formats.office_counts import container, counted
from ingestion.parsing.formats.ooxml import copied
from ingestion.parsing.formats.tables_of_contents import without_contents
from ingestion.parsing.formats.tabular import table_of
from ingestion.parsing.formats.xml_data import read_properties
from ingestion.parsing.formats.zip_safety import UNREADABLE, check_archive
from ingestion.parsing.protocol import Extraction, Source, StatedMetadata

if TYPE_CHECKING:
    import anydoc


_FORMATS: dict[filetypes.FileType, anydoc.Format] = {
    filetypes.DOCX: "docx",
    filetypes.DOC: "doc",
    filetypes.ODT: "odt",
    filetypes.RTF: "rtf",
    # anydoc reads both generations of workbooks under one name.
    filetypes.XLSX: "xlsx",
    filetypes.XLS: "xlsx",
    filetypes.ODS: "ods",
    filetypes.PPTX: "pptx",
    filetypes.PPT: "ppt",
    filetypes.ODP: "odp",
}
_OOXML = frozenset({filetypes.DOCX, filetypes.XLSX, filetypes.PPTX})
_OPEN_DOCUMENT = frozenset({filetypes.ODT, filetypes.ODS, filetypes.ODP})
# The stream that holds a password-protected DOCX, named in UTF-16 in its OLE container.
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_OLE = b"\xd0\xcf\x11\xe0"
_OLDER = {filetypes.DOCX: ".doc", filetypes.XLSX: ".xls", filetypes.PPTX: ".ppt"}

_LATEX_CHARACTER = re.compile(r"\\(?:char`)?([\^~_%&#$])")
_REPAIRED_PARTS = {
    filetypes.DOCX: docx_repair.repaired_parts,
    filetypes.ODT: odf_repair.repaired_parts,
}


class OfficeParser:
    """Headings, nested lists with their numbers, tables with merged cells, notes."""

    name = "anydoc"

    def extract(self, source: Source) -> Extraction:
        data, completeness = read_checked(source), container(source)
        whole = repaired(data, source.file_type, completeness)
        document = open_document(whole, source.file_type)
        blocks = DocumentReader(document).blocks()
        blocks = with_asides(with_chunks(blocks, source, completeness))
        if source.file_type == filetypes.DOC:
            blocks = with_margins(source.path, blocks)
        blocks = counted(blocks, completeness)
        metadata = read_metadata(source)
        result = Extraction(without_contents(blocks), metadata, completeness=completeness)
        return result.cut_off(source.file_type == filetypes.RTF and _is_cut_off(data))


def _is_cut_off(rtf: bytes) -> bool:
    """Whether groups of an RTF are open at its end."""
    opened, closed = (len(re.findall(rb"(?<!\\)" + brace, rtf)) for brace in (rb"\{", rb"\}"))
    return opened > closed


def read_checked(source: Source) -> bytes:
    """The file's bytes, checked before unpacking. Raises subclasses of ParseFailed."""
    data = source.path.read_bytes()
    if source.file_type in _OOXML | _OPEN_DOCUMENT:
        if _ENCRYPTED_PACKAGE in data:
            raise _encrypted()
        if data.startswith(_OLE):
            raise TypeMismatch(
                f"This file has the extension of a current {source.file_type.label} but the format "
                f"of Office 97-2003. Rename it to end in {_OLDER[source.file_type]} and upload it "
                "again."
            )
        check_archive(source.path, source.limits)
    return data


def open_document(data: bytes, file_type: filetypes.FileType) -> anydoc.Document:
    """anydoc's model of the file. Raises EncryptedFile, DamagedFile, ParseLimitExceeded."""
    import anydoc

    try:
        return anydoc.to_document(data, _FORMATS[file_type])
    except anydoc.EncryptedError as error:
        raise _encrypted() from error
    except anydoc.ResourceLimitError as error:
        raise ParseLimitExceeded(
            f"This {file_type.label} unpacks to more than is allowed for one file. Split it."
        ) from error
    except anydoc.ConvertError as error:
        raise DamagedFile(
            f"This {file_type.label} is damaged: {str(error).rstrip('.')}. Open it in the program "
            "it was made with, save it again and upload the new file."
        ) from error


def _encrypted() -> EncryptedFile:
    return EncryptedFile(
        "This document is protected by a password. Remove the password and upload it again."
    )


class DocumentReader:
    """Turns anydoc's document model into blocks. Notes follow the block that refers to them."""

    def __init__(self, document: anydoc.Document) -> None:
        self._document = document
        self._notes = {note.id: note for note in document.notes}
        self._due: list[str] = []

    def blocks(self) -> Iterator[Block]:
        yield from self._all(self._document.blocks, 0)

    def _all(self, blocks: Sequence[anydoc.Block], depth: int) -> Iterator[Block]:
        for block in blocks:
            yield from self._one(block, depth)
            while self._due:
                note = self._notes.pop(self._due.pop(0), None)
                if note is not None:
                    yield from self._all(note.blocks, depth)

    def _one(self, block: anydoc.Block, depth: int) -> Iterator[Block]:
        if block.kind == "heading":
            text = self._text(block.content)
            yield Block(BlockKind.HEADING, text, level=min(max(block.level or 1, 1), 6))
        elif block.list is not None:
            yield from self._list(block.list, depth)
        elif block.table is not None:
            yield from self.table(block.table, depth)
        elif block.kind == "block_quote":
            yield from self._all(block.blocks or (), depth)
        elif block.kind == "code_block":
            yield Block(BlockKind.CODE, block.text or "")
        else:
            text = _formula(block.text) if block.text else self._text(block.content)
            yield Block(BlockKind.PARAGRAPH, text)

    def _list(self, items: anydoc.List, depth: int) -> Iterator[Block]:
        for number, item in enumerate(items.items, items.start):
            label = item.marker_label or ("" if items.marker == "bullet" else f"{number}.")
            blocks = list(item.blocks)
            opening = ""
            if blocks and blocks[0].kind == "paragraph":
                opening = self._text(blocks.pop(0).content)
            text = f"{label} {opening}".strip()
            yield Block(BlockKind.LIST_ITEM, text, level=depth)
            yield from self._all(blocks, depth + 1)

    def table(self, table: anydoc.Table, depth: int) -> Iterator[Block]:
        origins = [[slot.cell for slot in row if slot.cell is not None] for row in table.grid]
        if table.kind == "layout" or max((len(row) for row in table.grid), default=0) < 2:
            for row in origins:
                for cell in row:
                    yield from self._all(cell.blocks, depth)
            return
        texts = [
            [(self.cell_text(cell), cell.row_span, cell.col_span) for cell in row]
            for row in origins
        ]
        yield table_of(texts, has_head=table.header_rows > 0 or None)
        inner = [block for row in origins for cell in row for block in cell.blocks if block.table]
        yield from self._all(inner, depth)

    def cell_text(self, cell: anydoc.Cell) -> str:
        """The text of a cell, without the tables in it."""
        outer = [block for block in cell.blocks if not block.table]
        return " ".join(block.text for block in self._all(outer, 0))

    def _text(self, inlines: Sequence[anydoc.Inline] | None) -> str:
        texts, kind = [], ""
        for inline in inlines or ():
            is_apart = "image" in (kind, inline.kind) or kind == inline.kind == "math"
            texts += [" " if kind and is_apart else "", self._inline(inline)]
            kind = inline.kind
        return "".join(texts)

    def _inline(self, inline: anydoc.Inline) -> str:
        if inline.kind == "math":
            return _formula(inline.text or "")
        if inline.kind == "text":
            return inline.text or ""
        if inline.kind == "link":
            return self._text(inline.content)
        if inline.kind == "line_break":
            return "\n"
        if inline.kind == "image":
            return inline.alt or ""
        if inline.kind == "checkbox":
            return "☒ " if inline.checked else "☐ "
        if inline.kind == "note_ref" and inline.note_id:
            self._due.append(inline.note_id)
        return ""


def _formula(latex: str) -> str:
    """The formula without the backslashes that only LaTeX needs."""
    return _LATEX_CHARACTER.sub(r"\1", latex)


# Of the templates of python-docx and python-pptx: it is the date and author of no document.
_OF_TEMPLATES = re.compile(r"python-docx|2013-(?:12-23T23:15:00|01-27T09:1[45]:\d\d)Z")


def read_metadata(source: Source) -> StatedMetadata:
    """The metadata in the container's property file; empty for formats without one."""
    if source.file_type in _OOXML:
        stated = read_properties(source.path, "docProps/core.xml").items()
        properties = {name: text for name, text in stated if not _OF_TEMPLATES.fullmatch(text)}
        if source.file_type == filetypes.DOCX and not properties.get("title"):
            with zipfile.ZipFile(source.path) as archive:
                properties["title"] = docx_repair.title_of(archive)
        created, modified = properties.get("created", ""), properties.get("modified", "")
    elif source.file_type in _OPEN_DOCUMENT:
        properties = read_properties(source.path, "meta.xml")
        created, modified = properties.get("creation-date", ""), properties.get("date", "")
    else:
        return StatedMetadata()
    return StatedMetadata(
        title=properties.get("title", ""),
        author=properties.get("initial-creator", "") or properties.get("creator", ""),
        language=properties.get("language", ""),
        created=created,
        modified=modified,
    )


def repaired(data: bytes, file_type: filetypes.FileType, completeness: Completeness) -> bytes:
    """The document with corrections of what anydoc 0.2 misreads; unchanged if it needs none.

    A container must have passed `check_archive`. Hidden characters of an RTF are counted.
    """
    if file_type == filetypes.RTF:
        data, hidden = rtf_repair.repaired(data)
        completeness.add(Unit.CHARACTER, Why.HIDDEN, count=hidden)
        return data
    if file_type == filetypes.DOC:
        return without_deleted(data)
    if repaired_parts := _REPAIRED_PARTS.get(file_type):
        # If a member cannot be unpacked, anydoc reports it or reads the others.
        with suppress(KeyError, *UNREADABLE), zipfile.ZipFile(io.BytesIO(data)) as archive:
            return copied(archive, repaired_parts(archive))
    return data


PARSER = OfficeParser()
