"""Hidden documents: not among the results, not counted, not guessed at; the why for curators."""

from __future__ import annotations

import pytest

from common.accounts.models import User
from ingestion.models import Document
from search.engine import configuration
from search.models import Hide, Pin
from search.pipeline import Choices, search
from search.tuning.candidate_pools import Width
from tests.support.golden_library import active_profile
from tests.support.ranking import wide_candidates
from tests.support.shown_results import titles

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


def test_hidden_document_is_missing_from_its_question_only(harbour: dict[str, Document]) -> None:
    Hide.objects.create(query="the  Ferry", document=harbour["ferry"])
    before = search("ferry", viewer=None)
    hidden = search("THE FERRY", viewer=None)
    assert "Crossing" in [result.title for result in before.results]
    assert "Crossing" not in [result.title for result in hidden.results]
    assert hidden.total == before.total - 1
    assert "Crossing" not in titles("the ferry", group=False)
    assert "Crossing" not in titles("the ferry", choices=Choices(exact=True))
    Hide.objects.update(enabled=False)
    configuration.bump()
    assert "Crossing" in titles("the ferry")


def test_document_hidden_from_all_questions_is_never_found(harbour: dict[str, Document]) -> None:
    hide = Hide.objects.create(document=harbour["bread"])
    for text in ("yeast dough", '"dough of a loaf"', "title:baking yeast"):
        assert "Baking" not in titles(text)
    Pin.objects.create(query="yeast", document=harbour["bread"])
    assert "Baking" not in titles("yeast")
    hide.delete()
    assert titles("yeast")[0] == "Baking"


def test_words_of_a_hidden_document_are_no_correction(harbour: dict[str, Document]) -> None:
    assert search("yeasst", viewer=None).corrected_from == "yeasst"
    Hide.objects.create(document=harbour["bread"])
    hidden = search("yeasst", viewer=None)
    assert (hidden.corrected_from, hidden.suggestion) == ("", "")


def test_note_on_hidden_documents_is_for_curators_only(
    harbour: dict[str, Document], administrator: User, reader: User
) -> None:
    Hide.objects.create(query="ferry", document=harbour["ferry"])
    assert "Hidden from this question: “Crossing”." in search("ferry", viewer=administrator).notes
    assert search("ferry", viewer=reader).notes == search("ferry", viewer=None).notes == ()


def test_pools_leave_out_hidden_documents(harbour: dict[str, Document]) -> None:
    profile = active_profile().as_profile()
    before = Width.of(profile).key(configuration.current())
    Hide.objects.create(query="ferry", document=harbour["ferry"])
    configured = configuration.current()
    assert Width.of(profile).key(configured) != before
    found = wide_candidates("ferry", configured, profile, viewer=None)
    assert harbour["ferry"].pk not in found.rows["document"].tolist()
