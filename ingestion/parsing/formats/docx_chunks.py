"""Documents embedded in the text of a DOCX (`altChunk`) -> Blocks, by the parsers of their types.

Programs that write reports embed HTML, web archives (MHT), RTF, plain text and other DOCX.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from ingestion.domain import Block, Completeness, Unit, Why, visible
from ingestion.errors import ParseFailed, RefusedUpload
from ingestion.files import filetypes
from ingestion.parsing.formats.asides import CHUNK
from ingestion.parsing.formats.zip_safety import UNREADABLE
from ingestion.parsing.protocol import Source
from ingestion.parsing.registry import parser_for

_READ = (filetypes.HTML, filetypes.EML, filetypes.RTF, filetypes.TEXT, filetypes.DOCX)
_FOLDER = "chunks"


def with_chunks(
    blocks: Iterable[Block], source: Source, completeness: Completeness
) -> Iterator[Block]:
    """The blocks, with those of each embedded document in place of its name.

    Documents of other types, damaged ones, and those within another are named in `completeness`.
    """
    for block in blocks:
        if not block.text.startswith(CHUNK):
            yield block
            continue
        name = block.text.removeprefix(CHUNK)
        try:
            chunk = _blocks(name, source, completeness)
        except (ParseFailed, RefusedUpload, KeyError, *UNREADABLE):
            chunk = []
        if not chunk:
            completeness.add(Unit.FILE, Why.EMBEDDED, [PurePosixPath(name).name])
        completeness.found += sum(map(visible, chunk))
        yield from chunk


def _blocks(name: str, source: Source, completeness: Completeness) -> list[Block]:
    """The blocks of the member; none if its type is not read, or the container is embedded itself.

    Its own gaps are added to `completeness`.

    Raises subclasses of ParseFailed and RefusedUpload, KeyError, and the errors in UNREADABLE.
    """
    folder = source.scratch / _FOLDER
    if source.path.parent == folder:
        return []
    with zipfile.ZipFile(source.path) as archive:
        data = archive.read(name)
    extension = PurePosixPath(name).suffix.lower()
    file_type = filetypes.sniff(data[: filetypes.HEAD_BYTES], f"chunk{extension}")
    if file_type not in _READ:
        return []
    folder.mkdir(exist_ok=True)
    path = folder / f"chunk{extension}"
    path.write_bytes(data)
    inner = replace(source, path=path, file_type=file_type)
    extraction = parser_for(file_type.media_type).extract(inner)
    blocks = list(extraction.blocks)
    for gap in extraction.completeness.gaps:
        completeness.add(gap.unit, gap.why, gap.places, gap.count)
    return blocks
