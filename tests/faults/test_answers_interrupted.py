"""Answers over a real chat server: readers who leave, a killed worker, fifty askers at once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext, async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.db import connection

from common.database import in_thread
from kbsite.serving.dispatch import Pages, Site, Threads
from search.answers import answering, recording
from search.answers.domain import Answered, AnswerParameters, Done, Mode, State, Token
from search.answers.models import Answer, ModelCall
from search.answers.request import AnswerRequest
from search.answers.threads import sweep_running
from tests.faults.asgi import response, scope
from tests.faults.harness import ROOT, environment, wait_for
from tests.support.factories import make_collection, make_document
from tests.support.fake_chat import Behaviour, Body, FakeChat, Reply, chunk, event, says, stalls
from tests.support.library import TIMEOUTS

pytestmark = pytest.mark.django_db(transaction=True)

ASKERS = 50
QUESTION = "How long is a connection timeout?"
TRUE = "Set the timeout to five seconds [1]."
PARAMETERS = AnswerParameters(refusal="No.", system_prompt="Answer from $fence.", refuse_below=0.0)


@pytest.fixture
def chat(settings: Any) -> Iterator[FakeChat]:
    with FakeChat(default=says(TRUE)) as server:
        settings.ANSWERS_GENERATED = True
        settings.ANSWER_BASE_URL = server.base_url
        settings.ANSWER_API_KEY = "key"
        settings.ANSWER_MODEL = "fake-chat"
        yield server


@pytest.fixture(autouse=True)
def _library(db: None) -> None:
    make_document(make_collection(), TIMEOUTS)


def asked(number: int = 0) -> AnswerRequest:
    return AnswerRequest(
        QUESTION, None, visitor=f"visitor {number}", mode=Mode.INSTANT, parameters=PARAMETERS
    )


def gated(gate: threading.Event) -> Behaviour:
    """The true answer, of which the second half waits for the gate."""

    def parts() -> Iterator[bytes]:
        yield chunk({"role": "assistant", "content": "Set the timeout "})
        gate.wait(60)
        yield chunk({"content": "to five seconds [1]."})
        yield chunk({}, "stop")
        yield event("[DONE]")

    def behave(body: Body) -> Reply:
        return Reply(parts(), headers={"Content-Type": "text/event-stream"})  # type: ignore[arg-type]

    return behave


def test_a_reader_who_leaves_ends_the_request(chat: FakeChat) -> None:
    """Nothing runs on, and what was used is settled."""
    chat.then(stalls(f"{TRUE} ", "And then"))

    async def left() -> None:
        async with aclosing(answering.events(asked())) as events:  # type: ignore[type-var]
            async for each in events:
                if isinstance(each, Token) and "And" in each.text:
                    return

    async_to_sync(left)()
    chat.wait_for(lambda server: server.disconnects == 1 and not server.open)
    row = Answer.objects.get()
    assert (row.state, row.text.startswith(TRUE)) == ("stopped", True)
    call = ModelCall.objects.get()
    assert (call.settled, call.estimated, call.error) == (True, True, "stopped")
    assert row.completion_tokens == call.completion_tokens > 0
    assert call.answer == row


@pytest.mark.parametrize("behaviour", [stalls(), stalls("Set the ")], ids=["before", "in"])
def test_a_cancelled_request_ends_the_model(chat: FakeChat, behaviour: Behaviour) -> None:
    """The reader left while the provider was silent: no event comes, the task is cancelled."""
    chat.then(behaviour)

    async def left() -> None:
        async def reads() -> None:
            async for _ in answering.events(asked()):
                pass

        task = asyncio.ensure_future(reads())
        while not chat.open:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async_to_sync(left)()
    chat.wait_for(lambda server: server.disconnects == 1 and not server.open)
    assert Answer.objects.get().state == "stopped"
    assert ModelCall.objects.get().settled


def test_follow_ups_of_a_silent_model_hold_no_thread_of_the_site(
    chat: FakeChat, settings: Any, tmp_path: Path
) -> None:
    """More streams than threads wait for it; others are served all the same."""
    settings.STATIC_ROOT = str(tmp_path)
    chat.then(*[stalls()] * 3)
    said = [{"role": "user", "content": text} for text in (QUESTION, "And how large is it?")]
    body = json.dumps({"model": "steelyard", "stream": True, "messages": said}).encode()
    asking = scope("/v1/chat/completions", "POST")
    length = str(len(body)).encode()
    asking["headers"] += [(b"content-type", b"application/json"), (b"content-length", length)]

    async def run() -> int:
        site = Site(Pages(), None, is_for_agents=lambda _: False, threads=2)  # type: ignore[arg-type]
        clients = [ApplicationCommunicator(site, asking) for _ in range(3)]
        for client in clients:
            await client.send_input({"type": "http.request", "body": body})
            assert (await client.receive_output(60))["status"] == 200
            assert b"assistant" in (await client.receive_output(60))["body"]
        status, _ = await response(site, scope("/api/v1/collections/"))
        for client in clients:
            await client.send_input({"type": "http.disconnect"})
            await client.wait(60)
        return status

    assert async_to_sync(run)() == 200


def test_answer_row_stored_late_still_becomes_stopped(
    chat: FakeChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the web server's pool the first statement and the last run in two threads."""
    storing, ending, order = threading.Event(), threading.Event(), []
    start, finish = recording.start, recording.finish

    def slowly(*given: Any) -> None:
        storing.set()
        ending.wait(0.3)  # the end must not overtake it
        start(*given)
        order.append("start")

    def ends(*given: Any, **named: Any) -> None:
        ending.set()
        finish(*given, **named)
        order.append("finish")

    monkeypatch.setattr(recording, "start", slowly)
    monkeypatch.setattr(recording, "finish", ends)

    async def reads() -> None:
        async for _ in answering.events(asked()):
            pass

    async def left() -> None:
        async with ThreadSensitiveContext(executor=Threads(3)):
            task = asyncio.ensure_future(reads())
            await asyncio.to_thread(storing.wait, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    async_to_sync(left)()
    assert order == ["start", "finish"]
    assert Answer.objects.get().state == "stopped"
    assert not chat.requests


_ASKS = """
import django
django.setup()
from dataclasses import replace
from search.answers.answering import answer
from search.answers.domain import AnswerParameters, Mode
from search.answers.request import AnswerRequest
parameters = AnswerParameters(refusal="No.", system_prompt="Answer from $fence.", refuse_below=0.0)
asked = AnswerRequest("How long is a connection timeout?", None, mode=Mode.INSTANT)
answer(replace(asked, parameters=parameters))
"""


def test_answer_of_a_killed_worker_is_marked_as_interrupted(chat: FakeChat) -> None:
    chat.then(stalls(TRUE))
    variables = environment(
        DJANGO_SETTINGS_MODULE="kbsite.settings",
        ANSWERS_GENERATED="1",
        ANSWER_BASE_URL=chat.base_url,
        ANSWER_API_KEY="key",
        ANSWER_MODEL="fake-chat",
    )
    process = subprocess.Popen(
        [sys.executable, "-c", _ASKS], cwd=ROOT, env=variables, start_new_session=True
    )
    try:
        wait_for(lambda: chat.open)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    chat.wait_for(lambda server: server.disconnects == 1 and not server.open)
    assert Answer.objects.get().state == "running"
    assert sweep_running(timedelta(hours=1)) == 0
    assert sweep_running(timedelta(0)) == 1
    row = Answer.objects.get()
    assert (row.state, row.error, row.text) == ("failed", "interrupted", "")


def test_fifty_askers_of_a_slow_provider_hold_few_connections(chat: FakeChat) -> None:
    """Each in a thread of its own, as under ASGI: no stream that waits holds a connection."""
    gate = threading.Event()
    chat.then(*[gated(gate)] * ASKERS)

    async def one(number: int) -> Answered:
        async with ThreadSensitiveContext():
            async for each in answering.events(asked(number)):
                if isinstance(each, Done):
                    return each.answer
        raise AssertionError("no end")

    async def all_of_them() -> tuple[int, list[Answered]]:
        tasks = [asyncio.ensure_future(one(number)) for number in range(ASKERS)]
        while chat.open < ASKERS:
            assert not any(task.done() for task in tasks)
            await asyncio.sleep(0.05)
        busy = min([await in_thread(_busy) for _ in range(20)])  # some may just be ending
        gate.set()
        return busy, await asyncio.gather(*tasks)

    busy, answers = async_to_sync(all_of_them)()
    pool = connection.settings_dict["OPTIONS"].get("pool") or {"max_size": 0}
    assert busy <= pool["max_size"] + 2
    assert chat.most_open == ASKERS
    assert {(each.state, each.text) for each in answers} == {(State.DONE, TRUE)}
    assert Answer.objects.filter(state="done").count() == ASKERS
    assert ModelCall.objects.filter(settled=True).count() == len(chat.requests) == ASKERS


def _busy() -> int:
    """The connections to the tests' database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        (count,) = cursor.fetchone() or (0,)
    return int(count)
