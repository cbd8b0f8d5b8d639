"""Answers, end to end: exact quotes, deletions meanwhile, several searches at once."""

from __future__ import annotations

import pytest

from common.accounts.models import User
from ingestion.models import Collection
from search.answers import answering, recording, threads
from search.answers.domain import AnswerParameters, Mode, State, Verdict
from search.answers.models import Answer, Thread
from search.answers.request import AnswerRequest
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS, TIMEOUTS
from tests.support.scripted_model import Piece, ScriptedModel

QUESTION = "How long is a connection timeout?"
TRUE = "Set the timeout to five seconds [1]."
PARAMETERS = AnswerParameters(refusal="No.", system_prompt="Answer from $fence.", refuse_below=0.0)


def use(monkeypatch: pytest.MonkeyPatch, *pieces: Piece, **replies: str) -> None:
    model = ScriptedModel(pieces, **replies)
    monkeypatch.setattr(answering, "model_for", lambda *_: model)


def asked(
    viewer: User | None, mode: Mode = Mode.INSTANT, thread: Thread | None = None
) -> AnswerRequest:
    return AnswerRequest(QUESTION, viewer, mode=mode, parameters=PARAMETERS, thread=thread)


@pytest.mark.django_db
def test_an_answer_quotes_its_sources_exactly() -> None:
    """S5-18, S5-25."""
    make_document(make_collection(), CONNECTIONS)
    answered = answering.answer(AnswerRequest("How long is a connection timeout?", viewer=None))

    assert answered.state is State.DONE
    assert answered.notes == ()  # why the weights lean is said of the results alone
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


@pytest.mark.django_db(transaction=True)
def test_what_is_deleted_while_the_model_writes(
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
    assert recording.shown(stored).withheld

    make_document(Collection.objects.get(), TIMEOUTS)
    thread = threads.start(reader, QUESTION)
    use(monkeypatch, TRUE, lambda: threads.delete(thread, acting_user=reader))
    assert answering.answer(asked(reader, thread=thread)).text == TRUE
    assert Answer.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_parts_of_a_question_are_searched_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in a thread of its own; the connections are released."""
    make_document(make_collection(), TIMEOUTS)
    use(monkeypatch, TRUE, split='{"searches": ["pool size", "keepalives"]}')
    answer = answering.answer(asked(None, Mode.THINKING))
    assert [step.name for step in answer.steps].count("search") == 3
    assert answer.text == TRUE
