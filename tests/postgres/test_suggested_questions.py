"""What to ask next after an answer: sections that a search of the same reader finds just now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from common.accounts.models import User
from ingestion.models import Collection, Document, Visibility
from search.answers import answering
from search.answers.domain import Answered, AnswerParameters, Mode
from search.answers.request import AnswerRequest
from search.answers.suggested_questions import FIRST, MOST, TRIED, suggested_questions
from search.pipeline import search
from search.retrieval import Filters
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.library import REGIONS
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.django_db

QUESTION = "How is region D40 reached?"
WORDS = "Nobody may leave it open at night, and the warden counts the keys in the morning. " * 8
MANUAL = "# Cave manual\n\n" + "\n\n".join(
    f"## {name}\n\n{text} {WORDS}"
    for name, text in (
        ("Opening the gate", "The gate is opened with the iron key."),
        ("Lighting the carbide lamps", "The carbide lamps are lit with a spark wheel."),
        ("Measuring the water", "The water is measured at the brass gauge."),
        ("Repairing ropes", "Ropes are spliced, never knotted."),
    )
)


@pytest.fixture(scope="module")
def manual(django_db_setup: None, django_db_blocker: Any) -> Iterator[Document]:
    with lasting(django_db_blocker):
        make_document(make_collection("Surveys"), REGIONS, file_name="regions.md")
        yield make_document(make_collection("Manuals"), MANUAL, file_name="manual.md")


def asked(viewer: User | None = None, **changed: Any) -> AnswerRequest:
    given = {"question": "How are the carbide lamps lit?", "is_recorded": False}
    return AnswerRequest(viewer=viewer, **{**given, **changed})


def answer(request: AnswerRequest) -> Answered:
    answered = answering.answer(request)
    assert answered.context.passage(answered.cited[0]).title == "Cave manual"  # type: ignore[union-attr]
    return answered


@pytest.mark.usefixtures("manual")
def test_suggested_questions_are_neighbouring_sections_that_a_search_finds(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    request = asked()
    answered = answer(request)
    with django_assert_max_num_queries(1 + 3 * TRIED):
        found = suggested_questions(answered, request)
    assert found[0] == "Measuring the water (Cave manual)"  # the section after it
    assert "Opening the gate (Cave manual)" in found  # that before it
    assert not any("carbide" in each for each in found)  # what was answered
    assert 1 < len(found) <= MOST
    for each in found:
        heading, _, title = each.rstrip(")").partition(" (")
        first = search(each, viewer=None).results[:FIRST]
        assert any(result.title == title and heading in str(result) for result in first)


def test_sections_that_the_reader_cannot_find_are_not_suggested(
    manual: Document, reader: User
) -> None:
    """Neither of a collection that was closed since, nor outside the filters of the question."""
    request = asked()
    answered = answer(request)
    elsewhere = asked(filters=Filters(collections=("surveys",)))
    assert not any("Cave manual" in each for each in suggested_questions(answered, elsewhere))
    Collection.objects.filter(pk=manual.collection_id).update(visibility=Visibility.GROUPS)
    assert not any("Cave manual" in each for each in suggested_questions(answered, asked(reader)))


@pytest.mark.usefixtures("manual")
def test_questions_are_suggested_after_a_model_answer_and_after_a_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = ScriptedModel("With a spark wheel [1].", "Nothing here.")
    monkeypatch.setattr(answering, "model_for", lambda *_: model)
    parameters = AnswerParameters(refusal="Nothing here.", refuse_below=0.0)
    request = asked(parameters=parameters, mode=Mode.INSTANT)
    assert "Measuring the water (Cave manual)" in suggested_questions(
        answering.answer(request), request
    )
    assert suggested_questions(answering.answer(request), request) == ()
