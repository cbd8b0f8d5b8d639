"""The language model's server misbehaves: each time a clear outcome, nothing charged twice."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import DataError, connection

from common.database import in_thread
from ingestion.embedding import openai_client
from search.answers.budgets import Payer
from search.answers.domain import AnswerParameters
from search.answers.generating import server as servers
from search.answers.generating.language_model import Model, model_for
from search.answers.models import ModelCall, ModelPrice
from search.errors import ModelUnavailable
from tests.support.fake_chat import (
    Behaviour,
    FakeChat,
    Pause,
    chunk,
    cuts,
    dropped,
    endless,
    event,
    reasons,
    refuses,
    says,
    sends,
    stalls,
    status,
    without,
)

pytestmark = pytest.mark.django_db

ASKED = [{"role": "user", "content": "When does the pool close?"}]
PATIENT = {"first_token_seconds": 10.0, "token_seconds": 10.0, "total_seconds": 20.0}
HASTY = {
    "first_token_timeout": {**PATIENT, "first_token_seconds": 0.2},
    "token_timeout": {**PATIENT, "token_seconds": 0.2},
}


@dataclass
class Outcome:
    """What a caller of the model got."""

    text: str = ""
    code: str = ""
    message: str = ""


@pytest.fixture
def chat(settings: Any) -> Iterator[FakeChat]:
    """A server that answers correctly until its script says otherwise; each token costs 0.1."""
    servers._known.forget_inherited()
    ModelPrice.objects.create(
        model="fake-chat", input_per_million=100_000, output_per_million=100_000
    )
    with FakeChat() as fake:
        settings.ANSWERS_GENERATED = True
        settings.ANSWER_BASE_URL = fake.base_url
        settings.ANSWER_API_KEY = "key"
        settings.ANSWER_MODEL = "fake-chat"
        yield fake
    servers._known.forget_inherited()


def asked(parameters: AnswerParameters | None = None) -> Outcome:
    """The outcome of one streamed call."""

    async def read() -> Outcome:
        outcome = Outcome()
        try:
            async with aclosing(model.stream(ASKED, purpose="answer")) as pieces:
                async for piece in pieces:
                    outcome.text += piece
        except ModelUnavailable as error:
            outcome.code, outcome.message = error.code, str(error)
        return outcome

    model = the_model(parameters)
    return async_to_sync(read)()


def the_model(parameters: AnswerParameters | None = None) -> Model:
    model = model_for(parameters or AnswerParameters(**PATIENT), Payer())
    assert model is not None
    return model


def the_call() -> ModelCall:
    """The only call that was recorded; it is settled."""
    call = ModelCall.objects.get()
    assert call.settled
    return call


def test_a_reply_is_streamed_and_charged_once(chat: FakeChat) -> None:
    """The server's own count of tokens, at the price of the table."""
    chat.then(says("The pool ", "closes [1].", usage=(70, 7)))

    assert asked() == Outcome("The pool closes [1].")

    call = the_call()
    assert (call.prompt_tokens, call.completion_tokens, call.estimated) == (70, 7, False)
    assert call.cost == Decimal("7.7")
    assert call.first_token_ms is not None
    assert call.error == ""
    (request,) = chat.requests
    assert request["model"] == "fake-chat"
    assert request["messages"] == ASKED
    assert chat.keys == ["Bearer key"]


def test_a_server_that_counts_no_tokens_is_estimated(chat: FakeChat) -> None:
    chat.then(says("Seven short words stand in this reply.", usage=None))

    asked()

    call = the_call()
    assert call.estimated
    assert call.completion_tokens >= 7
    assert call.prompt_tokens >= 6


FAILURES: list[tuple[str, Behaviour, Outcome]] = [
    ("cut", cuts("Half an ans"), Outcome("Half an ans", "cut")),
    ("malformed", sends(chunk({"content": "A"}), event("{broken")), Outcome("A", "malformed")),
    ("other shape", sends(event({"choices": "none"})), Outcome("", "malformed")),
    ("error", sends(chunk({"content": "A"}), event({"error": {"message": "oops"}})),
     Outcome("A", "model_error")),
    ("filter", says("Some", finish="content_filter"), Outcome("Some", "content_filter")),
    ("refusal", refuses("I cannot help with that."), Outcome("", "declined")),
    ("empty", says(), Outcome("", "empty")),
    ("blank key", status(401, "invalid_api_key"), Outcome("", "unauthorized")),
    ("wrong model", status(404, "model_not_found"), Outcome("", "unknown_model")),
    ("no quota", status(429, "insufficient_quota"), Outcome("", "quota")),
    ("too long", status(400, "context_length_exceeded"), Outcome("", "too_long")),
    ("stalls at once", stalls(), Outcome("", "first_token_timeout")),
    ("only thinks", reasons(thoughts=["Hm", Pause()]), Outcome("", "first_token_timeout")),
    ("stalls in the middle", stalls("The pool"), Outcome("The pool", "token_timeout")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("behaviour", "outcome"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES]
)
def test_failed_call_has_an_error_code_and_keeps_the_text_so_far(
    chat: FakeChat, behaviour: Behaviour, outcome: Outcome
) -> None:
    """Issue 12, faults. One request: nothing that may have cost something is repeated."""
    chat.then(behaviour)

    got = asked(AnswerParameters(**HASTY.get(outcome.code, PATIENT)))

    assert (got.text, got.code) == (outcome.text, outcome.code)
    assert got.message.endswith(".")
    assert len(chat.requests) == 1
    call = the_call()
    assert call.error == outcome.code
    chat.wait_for(lambda fake: fake.open == 0)


def test_the_whole_answer_has_a_time_limit(chat: FakeChat) -> None:
    chat.then(says(*["word ", Pause(0.05)] * 200))

    got = asked(AnswerParameters(**{**PATIENT, "total_seconds": 0.6}))

    assert got.code == "total_timeout"
    chat.wait_for(lambda fake: fake.disconnects == 1 and fake.open == 0)


THERE = says("There.", usage=(10, 2))


@pytest.mark.parametrize(
    ("script", "code", "requests"),
    [
        pytest.param([status(500), THERE], "", 2, id="500"),
        pytest.param([status(503), THERE], "", 2, id="503"),
        pytest.param([status(429, retry_after="0.05"), THERE], "", 2, id="429 with Retry-After"),
        pytest.param([status(429), THERE], "", 2, id="429"),
        pytest.param([status(500)] * 5, "server_error", 3, id="two retries at most"),
        pytest.param([status(429, retry_after="3600")], "rate_limited", 1, id="no time for it"),
        pytest.param([cuts("The pool"), THERE], "cut", 1, id="after the first token"),
        # Its provider may charge for the prompt.
        pytest.param([dropped(), THERE], "cut", 1, id="the server took it"),
    ],
)
def test_only_calls_that_cost_nothing_are_retried(
    chat: FakeChat, script: list[Behaviour], code: str, requests: int
) -> None:
    chat.then(*script)

    got = asked()

    assert (got.code, len(chat.requests)) == (code, requests)
    assert (the_call().cost > 0) is (code in ("", "cut"))
    assert code or (got.text, the_call().cost) == ("There.", Decimal("1.2"))


def test_a_call_that_cannot_be_recorded_is_not_made(
    chat: FakeChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> int:
        raise DataError

    monkeypatch.setattr("search.answers.budgets.reserve", broken)

    assert asked().code == "not_recorded"

    assert chat.requests == []


def test_unreachable_server_costs_nothing(chat: FakeChat, settings: Any) -> None:
    settings.ANSWER_BASE_URL = "http://127.0.0.1:1/v1"

    assert asked().code == "not_reached"

    assert the_call().cost == 0


def test_server_that_accepts_no_connection_costs_nothing(
    chat: FakeChat, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its queue is full, as behind a firewall that drops packets: nothing can have been charged."""
    monkeypatch.setattr(openai_client, "CONNECT_TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        settings.ANSWER_BASE_URL = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
        with socket.create_connection(full.getsockname()):
            assert asked().code == "not_reached"
    assert the_call().cost == 0


def test_the_estimate_of_tokens_learns_from_what_the_server_counts(chat: FakeChat) -> None:
    """The highest of the last counts, within bounds; a short prompt is mostly the server's own."""
    model = model_for(AnswerParameters(), Payer())
    assert model is not None
    assert model.counted_tokens == 1.0

    def ask(words: int, counted: int) -> float:
        chat.then(says("It closes.", usage=(counted, 5)))
        messages = [{"role": "user", "content": "word " * words}]
        async_to_sync(model.complete)(messages, purpose="answer", max_tokens=50)
        return round(model.counted_tokens, 2)

    assert ask(10, 3_000) == 1.0
    assert ask(996, 700) == 0.7
    assert ask(996, 800) == 0.8
    assert [ask(996, 1) for _ in range(servers.COUNTED)][-1] == servers.FEWEST


def test_a_hundred_thousand_tokens_are_not_read(chat: FakeChat) -> None:
    """The reply ends cleanly soon after its longest permitted length."""
    chat.then(endless("word " * 20, 5_000))
    model = the_model(AnswerParameters(max_tokens=50, **PATIENT))

    async def read() -> int:
        async with aclosing(model.stream(ASKED, purpose="answer")) as pieces:
            return len("".join([piece async for piece in pieces]))

    assert async_to_sync(read)() < 1_000
    assert model.finish == "length"
    chat.wait_for(lambda fake: fake.disconnects == 1)
    assert the_call().completion_tokens < 500


def test_thoughts_are_not_part_of_the_answer(chat: FakeChat) -> None:
    chat.then(reasons("It closes [1]."))

    assert asked() == Outcome("It closes [1].")


@pytest.mark.parametrize("size", [1, 3, 100])
def test_thoughts_within_the_content_are_not_part_of_it(chat: FakeChat, size: int) -> None:
    """As small models on servers without a parser for reasoning write them."""
    text = "\n<think>\nThe user asks <b>. Hm.\n</think>\n\nIt closes [1] <think>."
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    chat.then(says(*pieces, usage=None))

    assert asked() == Outcome("It closes [1] <think>.")

    assert the_call().completion_tokens >= 10


def test_a_model_that_never_stops_thinking_has_not_answered(chat: FakeChat) -> None:
    chat.then(says("<think>Hm, hm, hm.", finish="length"))
    chat.then(reasons(thoughts=["Hm"]))

    assert [asked().code, asked().code] == ["only_thoughts", "only_thoughts"]


@pytest.mark.parametrize("text", ["<", "<thin", " <thinking aloud> is a tag", "</think>a"])
def test_unknown_tags_are_kept_as_text(chat: FakeChat, text: str) -> None:
    chat.then(says(*text))

    assert asked() == Outcome(text)


@pytest.mark.parametrize("parameter", ["stream_options", "temperature", "max_tokens"])
def test_a_parameter_that_the_server_refuses_is_left_out(chat: FakeChat, parameter: str) -> None:
    """Once per process: the second call does not try it again."""
    chat.then(*[without(parameter, says("Fine."))] * 3)

    assert [asked().text, asked().text] == ["Fine.", "Fine."]

    assert [parameter in each for each in chat.requests] == [True, False, False]
    if parameter == "max_tokens":
        assert chat.requests[1]["max_completion_tokens"] == 1000


def test_server_that_names_no_refused_parameter_is_asked_without_stream_options(
    chat: FakeChat,
) -> None:
    """The oldest servers know no `stream_options`."""
    chat.then(status(422, message="Extra inputs are not permitted"), says("Fine."))

    assert asked().text == "Fine."

    assert ["stream_options" in each for each in chat.requests] == [True, False]


def test_whole_reply_in_json_is_read(chat: FakeChat) -> None:
    chat.then(says('{"searches": ', '["pool"]}', usage=(9, 4)))
    model = the_model()

    async def read() -> str:
        return await model.complete(ASKED, purpose="split", max_tokens=77, json=True)

    assert async_to_sync(read)() == '{"searches": ["pool"]}'
    (request,) = chat.requests
    assert request["response_format"] == {"type": "json_object"}
    assert (request["max_tokens"], request["temperature"]) == (77, 0.0)
    assert (model.usage.prompt_tokens, model.usage.completion_tokens) == (9, 4)
    assert the_call().purpose == "split"


def test_the_usage_of_calls_that_run_at_once_adds_up(chat: FakeChat) -> None:
    chat.then(*[says("a", Pause(0.02), usage=(10, 1))] * 4)
    model = the_model()

    async def four() -> None:
        calls = (model.complete(ASKED, purpose="rewrite", max_tokens=9) for _ in range(4))
        await asyncio.gather(*calls)

    async_to_sync(four)()

    assert (model.usage.prompt_tokens, model.usage.completion_tokens) == (40, 4)
    assert model.usage.cost == pytest.approx(4.4)


class TestWhichModel:
    def test_model_of_the_profile_is_used(self, chat: FakeChat) -> None:
        asked(AnswerParameters(model="special", **PATIENT))
        assert chat.requests[0]["model"] == "special"
        assert chat.model_lists == 0

    def test_first_text_model_of_the_server_is_used(self, chat: FakeChat, settings: Any) -> None:
        """The server is asked once per process."""
        settings.ANSWER_MODEL = ""
        chat.models = ("text-embedding-3", "BAAI/bge-m3", "bge-reranker-v2", "qwen3-8b", "other")

        asked()
        asked()

        assert [each["model"] for each in chat.requests] == ["qwen3-8b", "qwen3-8b"]
        assert chat.model_lists == 1

    @pytest.mark.parametrize("models", [("text-embedding-3",), (), None])
    def test_server_without_a_text_model_is_an_error(
        self, chat: FakeChat, settings: Any, models: tuple[str, ...] | None
    ) -> None:
        settings.ANSWER_MODEL = ""
        chat.models = models

        got = asked()

        assert got.code == "no_model"
        assert "ANSWER_MODEL" in got.message
        assert the_model().name == ""
        assert chat.model_lists == 1  # not asked again for every question
        assert not ModelCall.objects.exists()

    def test_openai_is_not_asked_for_its_models(self, settings: Any) -> None:
        settings.ANSWERS_GENERATED, settings.ANSWER_API_KEY = True, "key"
        settings.ANSWER_BASE_URL = settings.ANSWER_MODEL = ""
        assert the_model().name == servers.OPENAI_MODEL

    def test_generation_switched_off_means_no_model(self, chat: FakeChat, settings: Any) -> None:
        settings.ANSWERS_GENERATED = False
        assert model_for(AnswerParameters(), Payer()) is None


@pytest.mark.django_db(transaction=True)
def test_a_stream_holds_no_connection_to_the_database(chat: FakeChat) -> None:
    """In an event loop of its own, as under an ASGI server: transactions are real."""
    chat.then(says("The ", "pool.", usage=(10, 1)))
    model = the_model()

    async def read() -> list[bool]:
        held = []
        async for _ in model.stream(ASKED, purpose="answer"):
            held.append(await sync_to_async(lambda: connection.connection is not None)())
            assert await sync_to_async(ModelCall.objects.filter(settled=False).count)() == 1
            await in_thread(lambda: None)
        return held

    assert asyncio.run(read()) == [False, False]
    assert the_call().cost == Decimal("1.1")


def test_neither_prompts_nor_answers_nor_keys_are_logged(
    chat: FakeChat, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """At INFO and above, of this package, the client and its HTTP library."""
    settings.ANSWER_API_KEY = "sk-secret"
    caplog.set_level(logging.INFO)
    chat.then(says("The answer is confidential."), status(400, "odd", message="no"))

    asked()
    asked()

    logged = caplog.text
    for secret in ("sk-secret", "When does the pool", "confidential"):
        assert secret not in logged
