"""Answers, end to end: exact pieces, several searches at once.

And interrupted: by their reader, a deletion, a change of who may read what.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from common.accounts.models import User
from ingestion.models import Collection, Document, Visibility
from search.answers import answering, recording, threads
from search.answers.domain import AnswerParameters, Done, Event, Failed, Mode, State, Token, Verdict
from search.answers.models import Answer
from search.answers.request import AnswerRequest
from search.engine.response import SearchResponse
from search.errors import ModelUnavailable
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS, TIMEOUTS
from tests.support.scripted_model import Piece, ScriptedModel

QUESTION = "How long is a connection timeout?"
TRUE = "Set the timeout to five seconds [1]."
PARAMETERS = AnswerParameters(refusal="No.", system_prompt="Answer from $fence.", refuse_below=0.0)


@pytest.fixture
def library(db: None) -> Document:
    return make_document(make_collection(), TIMEOUTS)


def use(monkeypatch: pytest.MonkeyPatch, *pieces: Piece, **replies: str) -> ScriptedModel:
    model = ScriptedModel(pieces, **replies)
    monkeypatch.setattr(answering, "model_for", lambda *_: model)
    return model


def asked(viewer: User | None = None, **changed: Any) -> AnswerRequest:
    given = {
        "visitor": "" if viewer else "somebody",
        "mode": Mode.INSTANT,
        "parameters": PARAMETERS,
    }
    return AnswerRequest(QUESTION, viewer, **{**given, **changed})


def told(question: AnswerRequest) -> list[Event]:
    async def collected() -> list[Event]:
        return [event async for event in answering.events(question)]

    return async_to_sync(collected)()


@pytest.mark.django_db
def test_an_answer_quotes_its_sources_exactly() -> None:
    """S5-18, S5-25."""
    make_document(make_collection(), CONNECTIONS)
    answered = answering.answer(AnswerRequest(QUESTION, viewer=None))

    assert answered.state is State.DONE
    # Why the weights lean is said of the results alone.
    assert answered.notes == ()
    assert answered.cited
    for sentence in answered.sentences:
        assert sentence.verdict is Verdict.SUPPORTED
        (citation,) = sentence.citations
        passage = answered.context.passage(citation.passage)
        assert passage is not None
        quoted = passage.text[citation.start : citation.end]
        assert " ".join(quoted.split()) == sentence.text
    row = Answer.objects.with_readable_sources(None).get(public_id=answered.id)
    assert row.source_count == len(answered.context.passages) == row.readable


@pytest.mark.django_db
def test_refused_quotes_have_the_confidence_for_which_they_are_refused() -> None:
    """A program would believe that of the search, of a question whose words are all found."""
    make_document(make_collection(), CONNECTIONS)
    strict = replace(PARAMETERS, refuse_below=0.98)
    refused = answering.answer(AnswerRequest(QUESTION, viewer=None, parameters=strict))
    given = answering.answer(AnswerRequest(QUESTION, viewer=None, parameters=PARAMETERS))
    assert (refused.state, given.state) == (State.REFUSED, State.DONE)
    assert refused.confidence == given.confidence != refused.retrieval_confidence


@pytest.mark.django_db(transaction=True)
def test_source_or_thread_deleted_during_writing_withholds_the_answer(
    monkeypatch: pytest.MonkeyPatch, reader: User
) -> None:
    """A document: the answer is stored without text, and withheld. A thread: nothing is."""
    library = make_document(make_collection(), TIMEOUTS)
    use(monkeypatch, TRUE, library.delete)
    assert answering.answer(asked(reader)).withheld
    row = Answer.objects.get()
    assert (row.state, row.text) == ("done", "")
    assert row.source_count > 0
    stored = recording.readable(str(row.public_id), reader)
    assert stored is not None
    assert recording.for_reader(stored).withheld

    make_document(Collection.objects.get(), TIMEOUTS)
    thread = threads.start(reader, QUESTION)
    use(monkeypatch, TRUE, lambda: threads.delete(thread, acting_user=reader))
    assert answering.answer(asked(reader, thread=thread)).text == TRUE
    assert Answer.objects.count() == 1


def test_a_reader_who_leaves_stops_the_model(
    library: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request is closed at once, and the text so far is recorded."""
    model = use(monkeypatch, f"{TRUE} ", "And so ", "on.")

    async def left() -> None:
        async with aclosing(answering.events(asked())) as events:  # type: ignore[type-var]
            async for event in events:
                if isinstance(event, Token) and "so" in event.text:
                    break
        assert model.closed == 1

    async_to_sync(left)()
    row = Answer.objects.get()
    assert (row.state, row.model) == ("stopped", "scripted")
    assert row.text.startswith(TRUE)
    assert row.sentences[0]["verdict"] == "supported"
    assert row.prompt_tokens == 100
    assert row.sources.count() == row.source_count > 0


@pytest.mark.parametrize("times", [1, 2])
def test_cancelled_task_stores_its_answer_as_stopped(
    library: Document, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Also if it is cancelled again while it records."""
    writing = asyncio.Event()
    model = use(monkeypatch, f"{TRUE} ", writing.set)

    async def left() -> None:
        async def reads() -> None:
            async for _ in answering.events(asked()):
                if writing.is_set():
                    await asyncio.Event().wait()

        async def stalls(*_: object, **__: object) -> Any:
            try:
                yield TRUE + " "
                writing.set()
                await asyncio.Event().wait()
            finally:
                model.closed += 1

        monkeypatch.setattr(model, "stream", stalls)
        task = asyncio.ensure_future(reads())
        await writing.wait()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        while not await sync_to_async(Answer.objects.filter(state="stopped").exists)():
            await asyncio.sleep(0.01)

    async_to_sync(left)()
    assert model.closed == 1
    assert Answer.objects.get().text.strip() == TRUE


def test_reader_leaving_before_the_first_event_stops_everything(
    library: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = use(monkeypatch, TRUE)

    async def left() -> None:
        events = answering.events(asked())
        await anext(events)
        await events.aclose()  # type: ignore[attr-defined]

    async_to_sync(left)()
    assert model.calls == []
    assert Answer.objects.get().state == "stopped"


def test_an_error_after_the_first_event_ends_the_stream_in_words(
    library: Document, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use(monkeypatch, TRUE, RuntimeError("secret detail"))
    *_, last = told(asked())
    assert isinstance(last, Failed)
    assert last.code == "internal"
    assert "secret" not in last.message
    row = Answer.objects.get()
    assert (row.state, row.error) == ("failed", "internal")
    assert "secret detail" in caplog.text


def hide(collection: Collection) -> None:
    Collection.objects.filter(pk=collection.pk).update(visibility=Visibility.GROUPS)


@pytest.mark.parametrize("failing", [False, True])
def test_answer_is_withheld_if_its_source_becomes_private_during_writing(
    library: Document, monkeypatch: pytest.MonkeyPatch, reader: User, failing: bool
) -> None:
    """The end is withheld, and so is the stored answer, whatever became of it."""
    away = [ModelUnavailable("cut", "It broke off.")] if failing else []
    use(monkeypatch, f"{TRUE} ", lambda: hide(library.collection), *away)
    *_, last = told(asked(reader))
    assert isinstance(last, Done)
    assert last.answer.withheld
    assert (last.answer.text, last.answer.context.passages) == ("", ())
    assert_withheld(last.answer.id, reader)


@pytest.mark.parametrize(("mode", "purpose"), [(Mode.AUTO, "rewrite"), (Mode.THINKING, "split")])
def test_answer_is_withheld_if_its_source_becomes_private_during_planning(
    library: Document, monkeypatch: pytest.MonkeyPatch, reader: User, mode: Mode, purpose: str
) -> None:
    """The model is not sent what the asker may no longer read."""
    model = use(monkeypatch, TRUE, rewrite='{"question": "a"}', split='{"searches": ["b"]}')
    model.meanwhile = lambda: hide(library.collection)
    monkeypatch.setattr(SearchResponse, "confidence", 0.25)
    answer = answering.answer(asked(reader, mode=mode))
    assert model.calls == [purpose]
    assert (answer.state, answer.context.passages) == (State.REFUSED, ())


def test_answer_is_withheld_if_its_source_becomes_private_before_the_repair(
    library: Document, monkeypatch: pytest.MonkeyPatch, reader: User
) -> None:
    false, hides = "It takes 47 hours [1].", lambda: hide(library.collection)
    model = use(monkeypatch, false, hides, split="{}", repair=TRUE)
    answer = answering.answer(asked(reader, mode=Mode.THINKING))
    assert model.calls == ["split", "answer"]
    assert answer.withheld


def test_answer_is_withheld_if_its_source_becomes_private_before_reading(
    library: Document, monkeypatch: pytest.MonkeyPatch, reader: User
) -> None:
    use(monkeypatch, TRUE)
    answer = answering.answer(asked(reader))
    row = recording.readable(answer.id, reader)
    assert row is not None
    shown = recording.for_reader(row)
    assert (shown.text, shown.sentences) == (answer.text, answer.sentences)
    # Sections and layout of a passage name its citations when they are made, and are not stored.
    passages = tuple(replace(each, sections=(), layout=()) for each in answer.context.passages)
    assert shown.context.passages == passages
    assert (shown.usage, shown.confidence) == (answer.usage, answer.confidence)
    hide(library.collection)
    assert_withheld(answer.id, reader)


def test_answer_is_withheld_if_its_source_is_deleted(
    library: Document, monkeypatch: pytest.MonkeyPatch, reader: User
) -> None:
    use(monkeypatch, TRUE)
    answer = answering.answer(asked(reader))
    library.delete()
    assert_withheld(answer.id, reader)
    row = Answer.objects.get()
    assert (row.text, row.sentences) == ("", [])


def assert_withheld(public_id: str, reader: User) -> None:
    row = recording.readable(public_id, reader)
    assert row is not None
    shown = recording.for_reader(row)
    assert shown.withheld
    assert (shown.text, shown.sentences, shown.context.passages) == ("", (), ())
    assert (shown.question, shown.searched_for, shown.steps) == (QUESTION, QUESTION, ())


def test_only_the_asker_reads_an_answer(
    library: Document,
    monkeypatch: pytest.MonkeyPatch,
    reader: User,
    member: User,
    administrator: User,
) -> None:
    use(monkeypatch, TRUE)
    own = answering.answer(asked(reader)).id
    assert recording.readable(own, reader) is not None
    for other in (member, administrator, None):
        assert recording.readable(own, other, visitor="somebody") is None
    use(monkeypatch, TRUE)
    visitors = answering.answer(asked()).id
    assert recording.readable(visitors, None, visitor="somebody") is not None
    assert recording.readable(visitors, None, visitor="another") is None
    assert recording.readable(visitors, None) is None
    assert recording.readable(visitors, administrator, visitor="somebody") is None
    assert recording.readable("no-uuid", reader) is None


def test_instant_answer_takes_this_number_of_queries(
    library: Document, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr(answering, "model_for", lambda *_: None)
    answering.answer(asked())
    # The profile, the search (3: its words are ordinary, so no spelling is looked up), the context
    # (2), the answer and its sources.
    with django_assert_max_num_queries(12) as captured:
        answer = answering.answer(asked(parameters=None))
    sent = [query["sql"] for query in captured.captured_queries]
    assert len([sql for sql in sent if not sql.startswith(("SAVEPOINT", "RELEASE"))]) == 8
    use(monkeypatch, TRUE)
    with django_assert_max_num_queries(14) as captured:
        answering.answer(
            asked(parameters=None)
        )  # twice stored, and once more checked, but no space
    sent = [query["sql"] for query in captured.captured_queries]
    assert len([sql for sql in sent if not sql.startswith(("SAVEPOINT", "RELEASE"))]) == 11
    with django_assert_max_num_queries(2):
        row = recording.readable(answer.id, None, visitor="somebody")
        assert row is not None
        recording.for_reader(row)


@pytest.mark.django_db
def test_question_for_documents_gets_their_number_and_the_first_of_them(library: Document) -> None:
    make_document(library.collection, CONNECTIONS)
    count = answering.answer(replace(asked(), question="How many documents do you have?"))
    assert (count.text, count.cited, count.state) == ("2 documents", (), State.DONE)
    topic = "Which documents mention a timeout?"
    listed = answering.answer(replace(asked(), question=topic))
    lead, *lines = listed.text.splitlines()
    assert lead == "2 results. The first are:"
    assert len(lines) == len(listed.cited) == 2
    assert all(each.title in listed.text for each in listed.cited_passages)


@pytest.mark.django_db
def test_courtesy_is_neither_searched_for_nor_answered(library: Document) -> None:
    end = answering.answer(replace(asked(), question="Thanks a lot!"))
    assert (end.state, end.context.passages, end.steps) == (State.REFUSED, (), ())
