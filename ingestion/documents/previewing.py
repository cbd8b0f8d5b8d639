"""U2: parse a file with the limits of the settings; preview its chunks, storing nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from django.conf import settings

from ingestion import spaces
from ingestion.chunking import ChunkingOptions, chunk_blocks
from ingestion.domain import BlockKind, ChunkDraft, ParsedDocument, extracted_text
from ingestion.embedding import Embedder
from ingestion.lexical.languages import detect_language, primary_code
from ingestion.parsing.child.sandbox import parse_file
from ingestion.parsing.protocol import (
    SWITCHED_OFF,
    Ocr,
    ParseLimits,
    installed,
    title_from_file_name,
)


def open_file(
    path: Path,
    file_name: str,
    *,
    parts_to: Path | None = None,
    ocr_pages: int | None = None,
    seconds: float = math.inf,
) -> ParsedDocument:
    """The file's blocks and metadata; embedded files are copied to the folder `parts_to`.

    OCR reads at most `ocr_pages` scanned pages (default and maximum: the setting OCR_PAGES). The
    parser may take `seconds` at most, and never more than the settings allow.
    """
    most = settings.OCR_PAGES if ocr_pages is None else min(ocr_pages, settings.OCR_PAGES)
    limits = ParseLimits.of(settings.PARSE_LIMITS)
    limits = replace(limits, wall_seconds=min(limits.wall_seconds, seconds))
    return parse_file(
        path,
        file_name,
        limits,
        ocr=ocr_of_settings(most),
        parts_to=parts_to,
        keeps_exif=settings.IMAGE_EXIF,
    )


def ocr_of_settings(pages: int) -> Ocr:
    """The OCR of scanned pages, or the reason why it is not available."""
    if settings.OCR == "off":
        return Ocr(pages=pages, lacking=SWITCHED_OFF)
    return installed(settings.OCR_LANGUAGES, folder=settings.TESSDATA_PREFIX, pages=pages)


# Few: somebody is waiting for the preview.
OCR_PAGES = 5
# In the web process: seconds in which a thread waits for the parser's process.
WEB_SECONDS = 4.0
# Then it cuts the text into passages itself, while others wait for the interpreter: under a second.
CUT_SECONDS = 0.8


@dataclass(frozen=True, slots=True)
class ChunkPreview:
    """A file as it would be indexed. `language` is a code, empty if not recognised.

    `is_cut` if the time sufficed for the first chunks only.
    """

    title: str
    language: str
    parsed: ParsedDocument
    options: ChunkingOptions
    model: str
    chunks: tuple[ChunkDraft, ...]
    is_cut: bool = False

    @property
    def tokens(self) -> int:
        return sum(chunk.tokens for chunk in self.chunks)

    @property
    def parts(self) -> tuple[str, ...]:
        """The paths of the embedded files, which would become separate documents."""
        return tuple(part.path for part in self.parsed.parts)

    @property
    def kinds(self) -> Iterator[tuple[BlockKind, int]]:
        """The number of blocks of each kind that occurs."""
        for kind in BlockKind:
            if count := sum(block.kind is kind for block in self.parsed.blocks):
                yield kind, count


def preview_chunks(
    path: Path,
    file_name: str,
    *,
    parts_to: Path,
    chunk_tokens: int = 200,
    overlap_tokens: int = 20,
    language: str = "",
    seconds: float = math.inf,
) -> ChunkPreview:
    """The chunks of the file at `path` as an upload would get them, for the active model.

    The parser may take `seconds`; with a limit one scanned page is read, and what follows may take
    CUT_SECONDS.

    Raises IngestionError for a file that would be refused or would fail, ValueError with a
    message for incompatible sizes.
    """
    model = spaces.embedder()
    options = _options(chunk_tokens, overlap_tokens, model)
    pages, cutting = (OCR_PAGES, math.inf) if math.isinf(seconds) else (1, CUT_SECONDS)
    parsed = open_file(path, file_name, parts_to=parts_to, ocr_pages=pages, seconds=seconds)
    title = parsed.title.strip() or title_from_file_name(file_name)
    detected = primary_code(parsed.language) or detect_language(extracted_text(parsed.blocks)) or ""
    drafts = chunk_blocks(parsed.blocks, options, model.tokenizer, title=title)
    chunks = tuple(_until(drafts, time.monotonic() + cutting))
    return ChunkPreview(
        title=title,
        language=language or detected,
        parsed=parsed,
        options=options,
        model=model.card.name,
        chunks=chunks,
        is_cut=next(drafts, None) is not None,
    )


def _until(drafts: Iterator[ChunkDraft], due: float) -> Iterator[ChunkDraft]:
    """The drafts that are made until then, one at least."""
    for draft in drafts:
        yield draft
        if time.monotonic() > due:
            return


def _options(chunk_tokens: int, overlap_tokens: int, model: Embedder) -> ChunkingOptions:
    """The requested sizes, limited to the model's window as a collection's are."""
    ChunkingOptions(chunk_tokens, overlap_tokens, max(chunk_tokens, model.card.max_tokens))
    target = min(chunk_tokens, model.card.max_tokens)
    overlap = min(overlap_tokens, (target - 1) // 2)
    return ChunkingOptions(target, overlap, model.card.max_tokens)
