"""Conversations: follow-ups, who reads them, exports, retention."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import aclosing
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from common.accounts.models import User
from ingestion.models import Collection, Visibility
from search.answers import answering, recording, threads
from search.answers.domain import Answered, AnswerParameters, Begun, Event, Failed, Mode
from search.answers.making import searching
from search.answers.models import Answer, ModelCall, Thread
from search.answers.request import AnswerRequest
from search.errors import ModelUnavailable, NoActiveProfile, NotPermitted, QueryTooLong, ThreadFull
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS, REGIONS
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.django_db

FIRST = "How long is the connection timeout of Postgres?"
PARAMETERS = AnswerParameters(refusal="No.", system_prompt="Answer from $fence.", refuse_below=0.0)


@pytest.fixture(scope="module")
def shelf(django_db_setup: None, django_db_blocker: Any) -> Iterator[Collection]:
    with lasting(django_db_blocker):
        collection = make_collection()
        make_document(collection, CONNECTIONS, file_name="connections.md")
        make_document(collection, REGIONS, file_name="regions.md")
        yield collection


@pytest.fixture(autouse=True)
def collection(shelf: Collection, db: None) -> Collection:
    return shelf


@pytest.fixture
def thread(reader: User) -> Thread:
    return threads.start(reader, FIRST)


def use(monkeypatch: pytest.MonkeyPatch, model: ScriptedModel | None) -> None:
    monkeypatch.setattr(answering, "model_for", lambda *_: model)


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """None answers, but where a test uses one."""
    use(monkeypatch, None)


def ask(thread: Thread, question: str, **changed: Any) -> Answered:
    given = {
        "viewer": thread.user,
        "thread": thread,
        "mode": Mode.INSTANT,
        "parameters": PARAMETERS,
    }
    return answering.answer(AnswerRequest(question, **{**given, **changed}))


@pytest.mark.parametrize(
    ("question", "searched_for"),
    [
        ("And how large is it?", "And how large is it? connection timeout Postgres"),
        (
            "What about the pool timeout?",
            "What about the pool timeout? connection Postgres",
        ),
        ("Which tool measures the barometer pressure?", None),
        ("What does it say about D40?", None),
    ],
)
def test_follow_up_inherits_rare_words(
    thread: Thread, question: str, searched_for: str | None
) -> None:
    """Without a model; a question that stands alone stays as it is."""
    ask(thread, FIRST)
    answer = ask(thread, question)
    assert answer.question == question
    assert answer.searched_for == (searched_for or question)
    assert (answer.steps[0].name == "standalone") is (searched_for is not None)
    assert Answer.objects.get(public_id=answer.id).searched_for == answer.searched_for


def test_follow_up_keeps_the_subject_only_while_its_sources_are_readable(
    reader: User,
) -> None:
    """Its heading joins, and the words of its question that the answer says too."""
    text = (
        "# Signals\n\n## Saving hooks\n\nThe signal `post_save` runs code after a model is saved."
    )
    inner = make_collection("Inner", visibility=Visibility.SIGNED_IN)
    make_document(inner, text, file_name="signals.md")
    make_document(inner, "Run the code.\n\nRun it at once.", file_name="run.md")
    thread = threads.start(reader, "how do I run code when a model is saved")
    ask(thread, thread.title)
    searched = ask(thread, "and only when it is created?").searched_for
    assert searched.startswith("and only when it is created? ")
    assert {"model", "saved", "Saving", "hooks"} <= set(searched.split())

    Collection.objects.filter(pk=inner.pk).update(visibility=Visibility.GROUPS)
    assert "hooks" not in ask(thread, "and when it is gone?").searched_for


def test_follow_up_inherits_identifiers(reader: User) -> None:
    thread = threads.start(reader, "How is region D40 reached?")
    ask(thread, "How is region D40 reached?")
    answer = ask(thread, "When does it flood?")
    assert answer.searched_for.startswith("When does it flood? D40")
    assert answer.context.passages[0].text.count("D-40")


def test_the_model_makes_a_follow_up_standalone(
    monkeypatch: pytest.MonkeyPatch, thread: Thread
) -> None:
    """It reads the earlier questions, and never an answer: no text of a document returns by it."""
    text = "Set the timeout to five seconds [1]."
    standalone = '{"question": "How large is the connection pool?"}'
    model = ScriptedModel(text, text, standalone=standalone)
    use(monkeypatch, model)
    ask(thread, FIRST)
    assert model.calls == ["answer"]
    answer = ask(thread, "And the pool?")
    assert model.calls == ["answer", "standalone", "answer"]
    assert answer.searched_for == "How large is the connection pool?"
    assert FIRST in model.prompts[1]
    assert "five seconds" not in model.prompts[1]
    assert "How large is the connection pool?" in model.prompts[2]


@pytest.mark.parametrize(
    ("reply", "degraded"),
    [
        ("no JSON", ()),
        ('{"question": ""}', ()),
        ('{"question": "' + "x" * 9999 + '"}', ()),
        (ModelUnavailable("timeout", "It is silent."), ("model",)),
    ],
    ids=["no JSON", "empty", "too long", "away"],
)
def test_bad_rewriting_by_the_model_falls_back_to_the_rule(
    monkeypatch: pytest.MonkeyPatch,
    thread: Thread,
    reply: str | Exception,
    degraded: tuple[str, ...],
) -> None:
    ask(thread, FIRST)
    use(monkeypatch, ScriptedModel("Set the timeout to five seconds [1].", standalone=reply))
    answer = ask(thread, "And how large is it?")
    assert answer.searched_for == "And how large is it? connection timeout Postgres"
    assert answer.degraded == degraded


def test_first_event_precedes_the_model_call(
    monkeypatch: pytest.MonkeyPatch, thread: Thread
) -> None:
    """Until the first event the request holds a thread of the web server."""
    model = ScriptedModel()
    use(monkeypatch, model)

    async def first() -> Event:
        asked = AnswerRequest(
            "And it?", None, mode=Mode.INSTANT, parameters=PARAMETERS, earlier=(FIRST,)
        )
        async with aclosing(answering.events(asked)) as events:  # type: ignore[type-var]
            return await anext(events)

    assert async_to_sync(first)() == Begun()
    assert model.calls == []
    assert Answer.objects.get().state == "stopped"


def test_a_search_that_fails_after_the_model_was_asked_ends_the_stream(
    monkeypatch: pytest.MonkeyPatch, thread: Thread
) -> None:
    use(monkeypatch, ScriptedModel(standalone="{}"))

    def fails(*_: object, **__: object) -> None:
        raise NoActiveProfile("There is no profile.")

    monkeypatch.setattr(searching.pipeline, "search", fails)
    end = answering.final_event(
        AnswerRequest("And it?", None, parameters=PARAMETERS, earlier=(FIRST,))
    )
    assert isinstance(end, Failed)
    assert (end.code, end.message) == ("no_active_profile", "There is no profile.")


def test_earlier_questions_of_a_chat_client_are_used() -> None:
    """Chat programs send their history; what cannot be read of it is left out."""
    for earlier in ((FIRST,), ("x" * 99_999, FIRST), (FIRST, "  ")):
        asked = AnswerRequest("And how large is it?", None, earlier=earlier, parameters=PARAMETERS)
        answer = answering.answer(asked)
        assert answer.searched_for == "And how large is it? connection timeout Postgres"
    for earlier in (("-timeout",), ("meta.x:",)):
        asked = AnswerRequest("And how large is it?", None, earlier=earlier, parameters=PARAMETERS)
        assert answering.answer(asked).searched_for.startswith("And how large is it?")


def test_a_question_too_long_is_refused_in_a_thread(thread: Thread) -> None:
    """Even if what is searched for is short."""
    for searched_for in (None, "short"):
        with pytest.raises(QueryTooLong):
            ask(thread, "long " * 5000, searched_for=searched_for)
    assert not Answer.objects.exists()


def test_length_of_a_thread_is_limited(thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pages and exports show it whole."""
    monkeypatch.setattr(answering, "MOST_ANSWERS", 1)
    ask(thread, FIRST)
    with pytest.raises(ThreadFull, match="This thread has 1 answers"):
        ask(thread, FIRST)


def test_only_the_owner_asks_in_and_changes_a_thread(
    thread: Thread, member: User, administrator: User
) -> None:
    threads.share(thread, acting_user=thread.user)
    for other in (member, administrator, None):
        with pytest.raises(NotPermitted):
            ask(thread, FIRST, viewer=other)
        for change in (threads.share, threads.delete):
            with pytest.raises(NotPermitted):
                change(thread, acting_user=other)
        with pytest.raises(NotPermitted):
            threads.rename(thread, "Mine", acting_user=other)


def test_nobody_else_reads_a_thread_unless_it_is_shared(
    thread: Thread, member: User, administrator: User
) -> None:
    answer = ask(thread, FIRST)
    others: tuple[User | None, ...] = (member, administrator, None)
    for other in others:
        assert threads.export_data(thread, other)["answers"] == []
        assert answer.question not in threads.export(thread, other).partition("\n")[2]
        assert recording.readable(answer.id, other) is None
    threads.share(thread, acting_user=thread.user)
    assert [each["id"] for each in threads.export_data(thread, member)["answers"]] == [answer.id]
    assert recording.readable(answer.id, member) is not None
    assert recording.readable(answer.id, None) is None
    threads.share(thread, False, acting_user=thread.user)
    assert threads.export_data(thread, member)["answers"] == []
    assert list(Thread.objects.owned_by(member)) == []


def test_a_reader_of_a_shared_thread_sees_only_what_their_documents_say(
    thread: Thread, collection: Collection, member: User, django_assert_max_num_queries: Any
) -> None:
    """The owner reads on; for the other the answer is withheld, in every form."""
    collection.groups.add(thread.user.groups.create(name="owners"))
    ask(thread, FIRST)
    ask(thread, "And how large is it?")
    threads.share(thread, acting_user=thread.user)
    Collection.objects.update(visibility=Visibility.GROUPS)

    with django_assert_max_num_queries(2):
        own = threads.export_data(thread, thread.user)["answers"]
    assert all(each["text"] for each in own)
    for each in threads.export_data(thread, member)["answers"]:
        assert each["withheld"]
        assert (each["text"], each["sentences"], each["sources"]) == ("", [], [])
        assert each["searched_for"] == each["question"]
    exported = threads.export(thread, member) + json.dumps(threads.export_data(thread, member))
    assert "withheld" in exported
    assert "five seconds" not in exported
    assert "Database connections" not in exported


def test_an_export_links_its_sources_and_loads_nothing(thread: Thread) -> None:
    """A document cannot make an exported answer phone home."""
    answer = ask(thread, FIRST)
    number = answer.cited[0]
    evil = (
        '![x](http://evil/1) <img src="http://evil/2"> \\<b> [a](http://evil/3) ![y][z] '
        f"[{number}](b) set it [{number}].\n\n[z]: http://evil/4\n> - [y]: http://evil/5"
    )
    Answer.objects.update(text=evil)
    text = threads.export(thread, thread.user, base="https://kb.example/")
    assert f"[\\[{number}\\]](https://kb.example/" in text
    assert "![" not in text
    assert "<img" not in text
    assert "](http://evil" not in text
    assert "](b)" not in text
    assert "]: http" not in text
    assert text.startswith("# How long is the connection timeout of Postgres?\n")
    assert "Database connections" in text
    (data,) = threads.export_data(thread, thread.user)["answers"]
    assert (data["id"], data["withheld"]) == (answer.id, False)
    json.dumps(data)


def test_old_answers_and_threads_are_forgotten(thread: Thread, settings: Any) -> None:
    settings.ANSWERS_DAYS = 30
    old, new = ask(thread, FIRST), ask(thread, FIRST)
    empty = threads.start(thread.user, "never asked")
    now = timezone.now()
    Answer.objects.filter(public_id=old.id).update(at=now - timedelta(days=31))
    Thread.objects.filter(pk=empty.pk).update(updated=now - timedelta(days=31))
    assert threads.forget(now) == 1
    assert str(Answer.objects.get().public_id) == new.id
    assert list(Thread.objects.all()) == [thread]
    assert threads.forget(now + timedelta(days=31)) == 1
    assert not Thread.objects.exists()


def test_visitors_are_forgotten_before_their_answers(settings: Any) -> None:
    settings.SEARCH_EVENTS_ANONYMISE_DAYS = 30
    now = timezone.now()
    asked = {"question": FIRST, "searched_for": FIRST, "asked_mode": "auto", "mode": "auto"}
    for days in (29, 31):
        at = now - timedelta(days=days)
        Answer.objects.create(**asked, visitor="key", at=at)
        ModelCall.objects.create(visitor="key", at=at, purpose="answer")
    assert threads.forget(now) == 0
    for rows in (Answer.objects, ModelCall.objects):
        assert list(rows.order_by("-at").values_list("visitor", flat=True)) == ["key", ""]


def test_a_killed_answer_is_marked_as_failed(thread: Thread) -> None:
    rows = [
        Answer(question=FIRST, searched_for=FIRST, asked_mode="auto", mode="auto") for _ in "ab"
    ]
    old, new = Answer.objects.bulk_create(rows)
    Answer.objects.filter(pk=old.pk).update(at=timezone.now() - timedelta(hours=2))
    assert threads.sweep_running() == 1
    assert Answer.objects.get(pk=old.pk).state == "failed"
    assert Answer.objects.get(pk=old.pk).error == "interrupted"
    assert Answer.objects.get(pk=new.pk).state == "running"
