"""`manage.py chunk_preview FILE`: print a file's chunks without indexing it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ingestion.documents.previewing import ChunkPreview, preview_chunks
from ingestion.domain import ChunkDraft
from ingestion.errors import IngestionError
from ingestion.parsing.child.scratch import scratch_directory


class Command(BaseCommand):
    help = "Print the chunks that a file would be split into. Nothing is stored."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--chunk-tokens", type=int, default=200, help="Maximum size of a chunk (default: 200)."
        )
        parser.add_argument(
            "--overlap-tokens",
            type=int,
            default=20,
            help="Tokens repeated in the next chunk (default: 20).",
        )
        parser.add_argument("--language", default="", help="ISO 639-1 code (default: detected).")
        parser.add_argument("--json", action="store_true", help="Print JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        if not path.is_file():
            raise CommandError(f"There is no file {path}.")
        try:
            with scratch_directory() as folder:
                preview = preview_chunks(
                    path,
                    path.name,
                    parts_to=folder,
                    chunk_tokens=options["chunk_tokens"],
                    overlap_tokens=options["overlap_tokens"],
                    language=options["language"],
                )
        except (IngestionError, ValueError) as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(_data(preview), ensure_ascii=False, indent=2))
            return
        for line in _lines(preview):
            self.stdout.write(line)


def _data(preview: ChunkPreview) -> dict[str, Any]:
    return {
        "title": preview.title,
        "language": preview.language,
        "parser": preview.parsed.parser,
        "pages": preview.parsed.page_count,
        "warnings": list(preview.parsed.warnings),
        "parts": list(preview.parts),
        "model": preview.model,
        "options": asdict(preview.options),
        "chunks": [asdict(chunk) for chunk in preview.chunks],
    }


def _lines(preview: ChunkPreview) -> list[str]:
    parsed = preview.parsed
    blocks = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in preview.kinds)
    lines = [
        preview.title,
        f"  language   {preview.language or 'not recognised'}",
        f"  parser     {parsed.parser}",
        *([f"  pages      {parsed.page_count}"] if parsed.page_count else []),
        f"  blocks     {blocks}",
        f"  chunks     {len(preview.chunks)} with {preview.tokens:,} tokens of {preview.model}",
        *(f"  warning    {warning}" for warning in parsed.warnings),
        *(f"  part       {path}" for path in preview.parts),
    ]
    for chunk in preview.chunks:
        lines += ["", _heading(chunk), *(f"  {line}" for line in chunk.text.splitlines())]
    return lines


def _heading(chunk: ChunkDraft) -> str:
    where = " > ".join(chunk.heading_path)
    page = f"page {chunk.page}" if chunk.page else ""
    heading = (
        f"#{chunk.ordinal}",
        chunk.kind.replace("_", " "),
        f"{chunk.tokens} tokens",
        page,
        where,
    )
    return " · ".join(part for part in heading if part)
