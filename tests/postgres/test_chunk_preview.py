"""`manage.py chunk_preview`: what it prints, and that nothing is stored."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from ingestion.models import Chunk, Document
from tests.samples import builders
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers")]


def preview(*arguments: object) -> str:
    out = StringIO()
    call_command("chunk_preview", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_it_prints_what_an_upload_would_become(tmp_path: Path) -> None:
    content = builders.make_pdf()
    path = tmp_path / "beam.pdf"
    path.write_bytes(content)
    found = json.loads(preview(path, "--json"))
    assert not Document.objects.exists()

    stored = make_document(make_collection(), content, file_name="beam.pdf")
    hashes = Chunk.objects.filter(document=stored).values_list("content_hash", flat=True)
    assert [chunk["content_hash"] for chunk in found["chunks"]] == list(hashes)
    assert (found["title"], found["language"], found["pages"]) == (
        stored.title,
        stored.language,
        2,
    )


def test_it_prints_headings_pages_and_sizes(tmp_path: Path) -> None:
    path = tmp_path / "beam.pdf"
    path.write_bytes(builders.make_pdf())
    printed = preview(path, "--chunk-tokens", 32, "--overlap-tokens", 0)
    assert "  parser     liteparse" in printed
    assert "page 1 · Beam handbook > Parts" in printed
    assert "  D40 | 120" in printed


def test_it_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="There is no file"):
        preview(tmp_path / "none.pdf")
    path = tmp_path / "a.md"
    path.write_text("text")
    with pytest.raises(CommandError, match="at least 32"):
        preview(path, "--chunk-tokens", 3)
    path.write_text("")
    with pytest.raises(CommandError, match="is empty"):
        preview(path)
