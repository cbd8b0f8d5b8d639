"""Sections of a chunk: stored with their names, matched by them, beside chunks of the old shape."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from pytest import approx

from ingestion import services
from ingestion.chunking.options import LAYOUT
from ingestion.chunking.sections import paths
from ingestion.documents import processing_steps
from ingestion.domain import SectionPlace
from ingestion.models import Chunk, Collection, Document, DocumentVersion, Identifier
from search.domain import Query, Signal
from search.engine import configuration
from search.pipeline import search
from search.retrieval import Filters, Scope, retrieve
from tests.support.factories import make_collection, make_document
from tests.support.ranking import objects

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

NOBODY = AnonymousUser()
SETTINGS = """# Settings

## Sessions

### SESSION_COOKIE_AGE

Default: 1209600. The age of the cookie in seconds.

### SESSION_COOKIE_DOMAIN

Default: None. Where the cookie is sent to.
"""
GLOSSARY = """<h1>Glossary</h1>
<dl><dt>beam</dt><dd>The long arm.</dd><dt>poise</dt><dd>A weight.</dd></dl>"""


def chunk_of(text: str, **options: Any) -> Chunk:
    collection = Collection.objects.first() or make_collection()
    return make_document(collection, text, **options).chunks.get()


def as_before(chunk: Chunk) -> None:
    """Make the chunk like one of release 0.1.0."""
    Chunk.objects.filter(pk=chunk.pk).update(sections=[], section_terms=None)
    Identifier.objects.filter(chunk=chunk, place=-1).update(place=1)
    DocumentVersion.objects.filter(pk=chunk.version_id).update(chunk_layout=0)


def raw_title(question: str) -> float:
    """The raw title score of the only candidate."""
    found = retrieve(
        Query(question), Scope.of(NOBODY, Filters()), configuration.current().profile()
    )
    (candidate,) = objects(found)
    return candidate.raw[Signal.TITLE]


def test_a_chunk_stores_its_sections_and_what_they_define() -> None:
    chunk = chunk_of(SETTINGS, file_name="settings.md")
    assert chunk.heading_path == ["Settings", "Sessions"]
    places = [SectionPlace(*place) for place in chunk.sections]
    assert [path[-1] for path in paths(chunk.heading_path, places)] == [
        "Settings", "Sessions", "SESSION_COOKIE_AGE", "SESSION_COOKIE_DOMAIN",
    ]  # fmt: skip
    assert places[3].anchor == "session_cookie_domain"
    defined = Identifier.objects.filter(chunk=chunk, place=-1).values_list("form", flat=True)
    assert set(defined) == {"session_cookie_age", "session_cookie_domain"}
    assert chunk.version.chunk_layout == LAYOUT


def test_the_section_that_defines_an_identifier_comes_before_a_title_that_names_it() -> None:
    chunk_of(f"# Notes on SESSION_COOKIE_DOMAIN\n\n{'SESSION_COOKIE_DOMAIN is a setting. ' * 3}")
    chunk_of(SETTINGS, file_name="settings.md")
    best = search("SESSION_COOKIE_DOMAIN", viewer=NOBODY).results[0]
    assert best.title == "Settings"
    assert best.hit.explanation.tier.reason == "it defines session_cookie_domain"


def test_the_title_signal_counts_the_best_section_of_a_chunk() -> None:
    chunk = chunk_of(GLOSSARY, file_name="words.html")
    both = raw_title("beam poise")  # of equally rare words
    assert both == approx(0.5)
    assert raw_title("glossary poise") == approx(1.0)
    as_before(chunk)
    assert raw_title("beam poise") == 0
    assert raw_title("glossary poise") == approx(0.5)


def test_outdated_chunks_are_reprocessed_with_their_edits() -> None:
    old, new = chunk_of(SETTINGS, file_name="old.md"), chunk_of(GLOSSARY, file_name="new.html")
    text = old.text.replace("1209600", "two weeks")
    services.edit_chunk(old, services.Wish(text=text), acting_user=None)
    as_before(old)
    assert search("age of the cookie", viewer=NOBODY).results[0].title == "Settings"

    out = StringIO()
    call_command("reprocess", "--outdated", "--no-wait", stdout=out)
    assert search("age of the cookie", viewer=NOBODY).results[0].title == "Settings"
    processing_steps.advance(Document.objects.get(pk=old.document_id).latest_id)

    assert "Queued 1 document." in out.getvalue()
    fresh = Chunk.objects.get(document=old.document, searchable=True)
    assert (fresh.version.number, fresh.version.chunk_layout) == (2, LAYOUT)
    assert fresh.text == text
    assert fresh.text[fresh.sections[3][0] :].startswith("SESSION_COOKIE_DOMAIN")
    assert Chunk.objects.filter(pk=new.pk).exists()
    assert not services.outdated().exists()
