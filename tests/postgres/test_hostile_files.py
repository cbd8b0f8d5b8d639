"""Hostile files on the whole way: the document fails and says why, and the worker goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from ingestion.documents import processing_steps
from ingestion.models import Document, State
from tests.samples import builders
from tests.support.factories import make_collection, make_document, upload
from tests.unit.parsing import hostile

pytestmark = pytest.mark.django_db


def test_each_hostile_file_fails_alone(settings: Any) -> None:
    settings.PARSE_LIMITS = {**settings.PARSE_LIMITS, "PARSE_MEMORY_MB": 512}
    collection = make_collection()
    parts = {"word/document.xml": "<w:document/>"}
    cases = {
        "lies.docx": (hostile.lying(parts, "word/a.bin", 600), "damaged"),
        "laughs.xml": (hostile.laughs("<x>&l9;</x>"), "parse_failed"),
        "stream.pdf": (hostile.pdf_of_stream(hostile.zeros(1_000, wbits=15)), ""),
        "loop.pdf": (hostile.looping_pdf(), ""),
        "other.docx": (builders.make_zip({"word/other.xml": "<x/>"}), "damaged"),
    }
    for name, (content, code) in cases.items():
        document = make_document(collection, content, file_name=name)
        assert document.latest is not None
        assert document.latest.state == State.FAILED, name
        assert document.latest.error_code.endswith(code)
        assert document.latest.error.endswith(".")
    healthy = make_document(collection, "# Beam\n\nThe long arm.\n")
    assert healthy.latest is not None
    assert healthy.latest.state == State.READY


def test_the_limits_are_those_of_the_settings(settings: Any) -> None:
    settings.PARSE_LIMITS = {**settings.PARSE_LIMITS, "PARSE_PAGES": 1, "PARSE_CHARACTERS": 50}
    collection = make_collection()
    pages = make_document(
        collection, builders.make_pdf([[("p", "one")], [("p", "two")]]), file_name="two.pdf"
    )
    text = make_document(collection, "# Beam\n\n" + "The long arm. " * 20)
    assert pages.latest is not None
    assert text.latest is not None
    assert (pages.latest.error_code, text.latest.error_code) == ("parse_limit", "parse_limit")
    assert "more than 50 characters" in text.latest.error


@pytest.mark.parametrize(
    "name",
    [
        "../../../etc/passwd.md", "\u202egnp.md", "a" * 300 + ".md", "é" * 255 + ".md",
        "a\x00b\n.md", "/abs/olute.md", "CON.md",
    ],
    ids=ascii,
)  # fmt: skip
def test_a_file_name_is_never_a_path(name: str, settings: Any) -> None:
    receipt = upload(make_collection(), "# Beam\n\nThe long arm.\n", file_name=name)
    version = receipt.version
    root = Path(settings.MEDIA_ROOT).resolve()
    assert Path(version.file.path).resolve().is_relative_to(root / "originals")
    assert len(version.file_name) <= 200
    assert version.file_name.isprintable()
    assert "/" not in version.file_name
    assert processing_steps.advance(version.pk)
    assert Document.objects.get().current_id is not None


# --- the limits as settings --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("PARSE_PAGES", 0, "PARSE_PAGES must be above 0"),
        ("PARSE_WALL_SECONDS", -1, "PARSE_WALL_SECONDS must be above 0"),
        ("URL_IMPORT_ALLOW", ["*.example.org"], "neither a host nor a network"),
        ("URL_IMPORT_DENY", ["10.0.0.0/99"], "neither a host nor a network"),
        ("URL_IMPORT_MAX_PAGES", 0, "URL_IMPORT_MAX_PAGES must be above 0"),
    ],
)
def test_invalid_limits_are_configuration_errors(
    settings: Any, name: str, value: object, message: str
) -> None:
    if name in settings.PARSE_LIMITS:
        name, value = "PARSE_LIMITS", {**settings.PARSE_LIMITS, name: value}
    setattr(settings, name, value)
    with pytest.raises(SystemCheckError, match=message):
        call_command("check")
