"""OpenAI's protocol at /v1/: chat completions, models and embeddings."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from knox.models import AuthToken
from rest_framework.test import APIClient
from rest_framework.throttling import SimpleRateThrottle

from common.accounts.models import User
from ingestion.models import Document, Visibility
from search.answers import answering
from search.answers.domain import (
    Answered,
    Context,
    Done,
    Event,
    Failed,
    Mode,
    Passage,
    Sources,
    State,
    Token,
)
from search.answers.earlier_questions import MOST_EARLIER
from search.answers.models import Answer
from search.answers.request import AnswerRequest
from search.api.openai.links import Links
from search.api.openai.requests import read_chat
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS, REGIONS

CHAT, MODELS = "/v1/chat/completions", "/v1/models"
QUESTION = "How long is a connection timeout?"
ASK: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
LINK = re.compile(r"\[(\d+)\]\((http://[^)]+)\)")


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[Document]:
    with lasting(django_db_blocker):
        inner = make_collection("Inner", visibility=Visibility.GROUPS, groups=["insiders"])
        make_document(inner, REGIONS, file_name="regions.md")
        yield make_document(make_collection(), CONNECTIONS, file_name="connections.md")


def key_of(user: User) -> str:
    key: str = AuthToken.objects.create(user=user)[1]
    return key


def with_key(user: User) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {key_of(user)}")
    return client


@pytest.fixture
def client(reader: User, library: Document) -> APIClient:
    return with_key(reader)


def chat(client: APIClient, status: int = 200, **fields: Any) -> dict[str, Any]:
    response = client.post(CHAT, {"model": "steelyard:instant", "messages": ASK, **fields})
    assert response.status_code == status, response.content
    data: dict[str, Any] = response.json()
    return data


def chunks(response: Any) -> list[dict[str, Any]]:
    assert response.status_code == 200
    text = b"".join(response.streaming_content).decode()
    lines = [each for each in text.split("\n\n") if each and not each.startswith(":")]
    assert lines[-1] == "data: [DONE]"
    assert all(line.startswith("data: ") for line in lines)
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


def assert_annotated(content: str, annotations: list[dict[str, Any]]) -> None:
    """Each annotation names a link of the text by its offsets."""
    assert annotations
    for each in annotations:
        assert each["type"] == "url_citation"
        cited = each["url_citation"]
        assert cited.keys() - {"date"} == {"start_index", "end_index", "url", "title", "snippet"}
        link = LINK.fullmatch(content[cited["start_index"] : cited["end_index"]])
        assert link is not None
        assert link[2] == cited["url"]
    assert len(LINK.findall(content)) == len(annotations)


# Fields that two programs send besides the model and the messages, written down from their sources:
# Open WebUI to its server, from the browser and for a title; aichat. Neither was run against this
# site, so this shows that fields of these names and shapes change nothing, and no more.
OPEN_WEBUI = {
    "stream": True,
    "stream_options": {"include_usage": True},
    "chat_id": "5c1f4a52-0c46-4d1c-9d3c-4a1c1f0d6b1e",
    "session_id": "wXyZ1234abcd",
    "id": "b3b2f0f7-7d0a-4f0c-9a5e-0f8f6a0f3f11",
    "params": {},
    "tool_servers": [],
    "tool_ids": None,
    "files": [],
    "filter_ids": [],
    "features": {"image_generation": False, "code_interpreter": False, "web_search": False},
    "variables": {"{{USER_NAME}}": "Ann", "{{CURRENT_DATE}}": "2026-11-28"},
    "model_item": {"id": "steelyard:instant", "object": "model", "urlIdx": 0},
    "background_tasks": {"title_generation": True, "tags_generation": True},
    "user": {"name": "Ann", "id": "1", "email": "ann@example.org", "role": "user"},
}
TITLE = {"stream": False, "metadata": {"task": "title_generation"}, "max_completion_tokens": 1000}
AICHAT = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 800, "stream": True}


@pytest.mark.django_db
@pytest.mark.usefixtures("clean_cache")
class TestChat:
    @pytest.mark.parametrize(
        ("sent", "headers"),
        [
            pytest.param(OPEN_WEBUI, {"X-OpenWebUI-User-Name": "Ann"}, id="open-webui"),
            pytest.param(AICHAT, {"Accept": "text/event-stream"}, id="aichat"),
        ],
    )
    def test_a_program_lists_models_and_gets_its_stream(
        self, client: APIClient, sent: dict[str, Any], headers: dict[str, str]
    ) -> None:
        listed = client.get(MODELS, headers=headers).json()["data"]
        assert "steelyard:instant" in [each["id"] for each in listed]
        talk = [{"role": "system", "content": "Be brief."}, *ASK]
        body = {"model": "steelyard:instant", "messages": talk, **sent}
        events = chunks(client.post(CHAT, body, headers=headers))
        choices = [each["choices"][0] for each in events if each["choices"]]
        content = "".join(each["delta"].get("content") or "" for each in choices)
        assert content == chat(client)["choices"][0]["message"]["content"]
        assert choices[-1]["finish_reason"] == "stop"
        assert ("usage" in events[-1]) == ("stream_options" in sent)

    def test_a_title_that_a_program_asks_for_is_one_completion(self, client: APIClient) -> None:
        task = [{"role": "user", "content": "### Task:\nGenerate a title.\n### Chat:\n" + QUESTION}]
        (choice,) = chat(client, messages=task, **TITLE)["choices"]
        assert choice["message"]["content"]

    def test_a_completion_has_links_annotations_and_citations(
        self, client: APIClient, library: Document
    ) -> None:
        completion = chat(client)
        assert completion["object"] == "chat.completion"
        assert completion["model"] == "steelyard:instant"
        (choice,) = completion["choices"]
        assert (choice["index"], choice["finish_reason"]) == (0, "stop")
        message = choice["message"]
        assert message["role"] == "assistant"
        assert "timeout" in message["content"]
        assert_annotated(message["content"], message["annotations"])
        assert completion["citations"][0].startswith(
            f"http://testserver/documents/{library.public_id}/?chunk="
        )
        assert completion["usage"].keys() == {"prompt_tokens", "completion_tokens", "total_tokens"}
        row = Answer.objects.get(public_id=completion["steelyard"]["answer"])
        assert (row.channel, row.question, row.mode) == ("chat", QUESTION, "instant")

    def test_a_stream_adds_up_to_a_completion_and_counts_if_asked_to(
        self, client: APIClient
    ) -> None:
        body = {"model": "steelyard:instant", "messages": ASK, "stream": True}
        told = chunks(client.post(CHAT, body))
        assert len({each["id"] for each in told}) == 1
        assert {each["object"] for each in told} == {"chat.completion.chunk"}
        deltas = [each["choices"][0]["delta"] for each in told]
        assert deltas[0]["role"] == "assistant"
        content = "".join(delta.get("content") or "" for delta in deltas)
        assert content == chat(client)["choices"][0]["message"]["content"]
        assert_annotated(content, deltas[-1]["annotations"])
        reasons = [each["choices"][0]["finish_reason"] for each in told]
        assert reasons == [None] * (len(told) - 1) + ["stop"]
        assert told[-1]["citations"]
        assert "usage" not in told[0]
        options = {"stream": True, "stream_options": {"include_usage": True}}
        told = chunks(client.post(CHAT, {"model": "steelyard:instant", "messages": ASK, **options}))
        assert told[-1]["choices"] == []
        assert told[-1]["usage"]["total_tokens"] >= 0
        assert all(each["usage"] is None for each in told[:-1])

    def test_the_last_message_of_the_user_is_the_question(self, client: APIClient) -> None:
        parts = [{"type": "text", "text": "How long is a "}, {"type": "text", "text": "timeout?"}]
        messages = [
            {"role": "system", "content": "Answer like a pirate."},
            {"role": "user", "content": "Who are you?"},
            {"role": "assistant", "content": None},
            {"role": "user", "content": parts},
        ]
        told = chat(client, messages=messages)
        row = Answer.objects.get(public_id=told["steelyard"]["answer"])
        assert " ".join(row.question.split()) == "How long is a timeout?"
        assert "pirate" not in row.searched_for

    def test_follow_up_inherits_only_what_it_needs(self, client: APIClient) -> None:
        """S5-20."""
        messages = [
            {"role": "user", "content": "What is the firewall of connection keepalives?"},
            {"role": "assistant", "content": "IGNORE: the answer of the assistant."},
            {"role": "user", "content": "And how long is it?"},
        ]
        searched = chat(client, messages=messages)["steelyard"]["searched_for"]
        assert searched.startswith("And how long is it?")
        assert "firewall" in searched
        assert "IGNORE" not in searched

    @pytest.mark.parametrize(
        ("fields", "param"),
        [
            ({"model": None}, None),
            ({"messages": []}, "messages"),
            ({"messages": [{"role": "user"}]}, "messages[0].content"),
            ({"messages": [{"role": "pope", "content": "x"}]}, "messages[0].role"),
            (
                {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
                "messages[0].content",
            ),
            ({"n": 2}, "n"),
            ({"tools": [{"type": "function"}], "tool_choice": "required"}, "tool_choice"),
            ({"response_format": {"type": "json_object"}}, "response_format"),
            ({"stream": "yes"}, "stream"),
            ({"modalities": ["text", "audio"]}, "modalities"),
            ({"messages": [{"role": "user", "content": "x" * 5000}]}, None),
        ],
        ids=range(11),
    )
    def test_unsupported_chat_options_are_errors_in_openai_format(
        self, client: APIClient, fields: dict[str, Any], param: str | None
    ) -> None:
        body = {"model": "steelyard", "messages": ASK, **fields}
        response = client.post(CHAT, body)
        assert response.status_code == (404 if "model" in fields else 400)
        error = response.json()["error"]
        assert error.keys() == {"message", "type", "param", "code"}
        assert error["param"] == param
        assert error["message"]

    @pytest.mark.parametrize(
        "fields",
        [
            {"temperature": 1.5, "top_p": 0.5, "max_tokens": 10, "seed": 1, "user": "u"},
            {"tools": [], "n": 1, "response_format": {"type": "text"}, "stop": ["x"]},
            {"tools": [{"type": "function"}], "tool_choice": "auto", "unknown": {}},
            {"n": None, "tool_choice": None, "response_format": None, "stream_options": None},
            {"messages": [{"role": "user", "content": "a\x00 timeout\ud800?"}]},
        ],
        ids=["sampling", "unset", "no tools", "null", "no text"],
    )
    def test_chat_options_without_effect_are_ignored(
        self, client: APIClient, fields: dict[str, Any]
    ) -> None:
        response = client.generic(
            "POST",
            CHAT,
            json.dumps({"model": "steelyard:instant", "messages": ASK, **fields}),
            content_type="application/json",
        )
        assert response.status_code == 200

    @pytest.mark.parametrize(
        "body", [b"{", b"[]", b"3", b"\xff", b"[" * 200_000], ids=lambda body: body[:3]
    )
    def test_a_body_that_is_no_object_is_refused(self, client: APIClient, body: bytes) -> None:
        response = client.generic("POST", CHAT, body, content_type="application/json")
        assert response.status_code == 400
        assert response.json()["error"]["type"] == "invalid_request_error"

    def test_an_error_before_a_stream_is_no_stream(self, client: APIClient) -> None:
        messages = [{"role": "user", "content": "x" * 5000}]
        told = chat(client, 400, messages=messages, stream=True)
        assert told["error"]["code"] == "query_too_long"


@pytest.mark.django_db
@pytest.mark.usefixtures("clean_cache", "library")
class TestKeys:
    @pytest.mark.parametrize(
        "header",
        ["Bearer wrong", "Bearer sk-1-2", "Bearer", "Bearer a b", "Basic YTpi", "Digest x"],
    )
    def test_a_wrong_key_is_a_401_in_openai_s_shape(self, api: APIClient, header: str) -> None:
        response = api.get(MODELS, headers={"authorization": header})
        assert response.status_code == 401
        assert response["WWW-Authenticate"] == "Bearer"
        assert response.json()["error"]["code"] == "invalid_api_key"

    @pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer anonymous"}], ids=str)
    def test_visitors_ask_what_is_public(self, api: APIClient, headers: dict[str, str]) -> None:
        told = api.post(CHAT, {"model": "steelyard", "messages": ASK}, headers=headers).json()
        assert "timeout" in told["choices"][0]["message"]["content"]
        row = Answer.objects.get(public_id=told["steelyard"]["answer"])
        assert (row.user, bool(row.visitor)) == (None, True)

    def test_a_session_is_no_key(self, api: APIClient, reader: User) -> None:
        """Pages of other sites must not ask with a reader's cookie."""
        api.force_login(reader)
        told = chat(api)
        assert Answer.objects.get(public_id=told["steelyard"]["answer"]).user is None

    def test_questions_are_limited(self, api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "answers_anonymous", "1/min")
        chat(api)
        refused = api.post(CHAT, {"model": "steelyard", "messages": ASK})
        assert refused.status_code == 429
        assert refused["Retry-After"]
        assert refused.json()["error"]["type"] == "rate_limit_error"


@pytest.mark.django_db
@pytest.mark.usefixtures("clean_cache", "library")
class TestModels:
    def names(self, client: APIClient) -> list[str]:
        listed = client.get(MODELS).json()
        assert listed["object"] == "list"
        return [each["id"] for each in listed["data"]]

    def test_models_are_modes_and_readable_collections(
        self, client: APIClient, member: User
    ) -> None:
        modes = ["steelyard", "steelyard:instant", "steelyard:thinking"]
        assert self.names(client) == [*modes, "steelyard/handbook"]
        assert self.names(with_key(member)) == [*modes, "steelyard/handbook", "steelyard/inner"]
        shown = client.get(f"{MODELS}/steelyard/handbook").json()
        assert shown.keys() == {"id", "object", "created", "owned_by"}
        assert shown["id"] == "steelyard/handbook"

    @pytest.mark.parametrize(
        "name", ["steelyard/inner", "steelyard/none", "gpt-5", "steelyard:slow", "steelyard/"]
    )
    def test_hidden_collection_is_no_model(self, client: APIClient, name: str) -> None:
        """S5-31."""
        shown = client.get(f"{MODELS}/{name}")
        asked = chat(client, 404, model=name)
        for error in (shown.json()["error"], asked["error"]):
            assert error["code"] == "model_not_found"
            assert error["message"].startswith(f"The model '{name}' does not exist")
        assert shown.status_code == 404

    def test_a_collection_restricts_the_search(self, client: APIClient, member: User) -> None:
        asked = [{"role": "user", "content": "What floor does Region D40 have?"}]
        inner = chat(with_key(member), model="steelyard/inner:instant", messages=asked)
        outer = chat(with_key(member), model="steelyard/handbook:instant", messages=asked)
        hidden = chat(client, messages=asked)
        assert "sandy" in inner["choices"][0]["message"]["content"]
        for told in (outer, hidden):
            assert "sandy" not in json.dumps(told)

    @pytest.mark.parametrize("address", ["/v1/", "/v1/responses", "/v1/models/", "/v1/chat"])
    def test_other_addresses_are_404_in_openai_s_shape(
        self, client: APIClient, address: str
    ) -> None:
        response = client.get(address)
        assert response.status_code == 404
        assert response.json()["error"]["type"] == "not_found_error"


def scripted(*told: Event) -> Callable[[AnswerRequest], AsyncIterator[Event]]:
    async def events(asked: AnswerRequest) -> AsyncIterator[Event]:
        for event in told:
            yield event

    return events


@pytest.mark.django_db
@pytest.mark.usefixtures("clean_cache")
class TestTurns:
    """Answers that take another turn in the middle."""

    def test_a_second_search_sets_the_new_text_apart(
        self, api: APIClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        context = Context((_passage(1),))
        done = Answered("x", "q", "q", Mode.AUTO, Mode.AUTO, State.DONE, "New [1].", context)
        events = scripted(
            Sources(context), Token("Old"), Sources(context), Token("New [1]."), Done(done)
        )
        monkeypatch.setattr(answering, "events", events)
        told = chunks(api.post(CHAT, {"model": "steelyard", "messages": ASK, "stream": True}))
        deltas = [each["choices"][0]["delta"] for each in told]
        content = "".join(delta.get("content") or "" for delta in deltas)
        assert content.startswith("Old\n\n---\n\nNew [1](http")
        assert_annotated(content, deltas[-1]["annotations"])

    @pytest.mark.parametrize(
        ("changed", "reason", "notice"),
        [
            ({"model": "m"}, "stop", ""),
            ({"model": "m", "notes": ("Cut.",), "is_cut": True}, "length", ""),
            (
                {"model": "m", "notes": ("It broke [off].",), "degraded": ("model",)},
                "stop",
                "\n\n*It broke \\[off\\].*",
            ),
            ({"notes": ("Quoted instead.", "More.")}, "stop", "\n\n*Quoted instead.*"),
            ({"degraded": ("vector",)}, "stop", ""),
        ],
        ids=["whole", "cut", "degraded", "quotes", "without a note"],
    )
    def test_incomplete_answer_states_the_reason(
        self,
        api: APIClient,
        monkeypatch: pytest.MonkeyPatch,
        changed: dict[str, Any],
        reason: str,
        notice: str,
    ) -> None:
        context = Context((_passage(1),))
        done = Answered("x", "q", "q", Mode.AUTO, Mode.AUTO, State.DONE, "It is.", context)
        done = replace(done, **changed)
        monkeypatch.setattr(
            answering, "events", scripted(Sources(context), Token("It is."), Done(done))
        )
        whole = chat(api)
        told = chunks(api.post(CHAT, {"model": "steelyard", "messages": ASK, "stream": True}))
        (choice,) = whole["choices"]
        assert choice["finish_reason"] == told[-1]["choices"][0]["finish_reason"] == reason
        content = "".join(each["choices"][0]["delta"].get("content") or "" for each in told)
        assert choice["message"]["content"] == content == f"It is.{notice}"
        for each in (whole, told[-1]):
            assert each["steelyard"]["notes"] == list(changed.get("notes", ()))

    def test_chat_uses_as_many_earlier_questions_as_a_thread(self, reader: User) -> None:
        asked = [str(number) for number in range(MOST_EARLIER + 3)]
        messages = [{"role": "user", "content": each} for each in asked]
        read = read_chat({"model": "steelyard", "messages": messages}, reader)
        assert [*read.earlier, read.question] == asked[2:]

    def test_a_failure_in_the_middle_ends_the_stream_with_an_error(
        self, api: APIClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        events = scripted(Token("Half"), Failed("stalled", "Ask again."))
        monkeypatch.setattr(answering, "events", events)
        response = api.post(CHAT, {"model": "steelyard", "messages": ASK, "stream": True})
        lines = b"".join(response.streaming_content).decode().split("\n\n")  # type: ignore[attr-defined]
        error = json.loads(lines[-2].removeprefix("data: "))["error"]
        assert (error["code"], error["type"]) == ("stalled", "server_error")
        assert error["message"] == "Ask again."

    @pytest.mark.parametrize("address", [CHAT, "/api/v1/answers/"])
    def test_a_failure_without_a_stream_is_a_503(
        self, api: APIClient, monkeypatch: pytest.MonkeyPatch, address: str
    ) -> None:
        monkeypatch.setattr(answering, "events", scripted(Failed("stalled", "Ask again.")))
        body = {"q": QUESTION} if address != CHAT else {"model": "steelyard", "messages": ASK}
        response = api.post(address, body)
        assert response.status_code == 503
        told = response.json().get("error", response.json())
        assert (told["code"], told["message"]) == ("stalled", "Ask again.")


@pytest.mark.parametrize("address", [CHAT, "/api/v1/answers/", "/answers/"])
def test_generated_answers_leave_threads_for_other_requests(
    client: APIClient, monkeypatch: pytest.MonkeyPatch, settings: Any, address: str
) -> None:
    """Quotes are as fast as a search, and may take any thread."""
    monkeypatch.setattr(answering, "waiting", threading.Semaphore(0))
    body = {"q": QUESTION} if address != CHAT else {"model": "steelyard", "messages": ASK}
    sent = "multipart" if address == "/answers/" else "json"
    assert client.post(address, body, format=sent).status_code in (200, 302)
    settings.ANSWERS_GENERATED = True
    settings.ANSWER_BASE_URL = "http://127.0.0.1:9"
    response = client.post(address, body, format=sent)
    assert response.status_code == 503
    assert int(response.headers["Retry-After"]) > 0
    assert "Too many answers" in response.content.decode()


def _passage(number: int) -> Passage:
    return Passage(
        number=number, chunk_ids=(1,), document=1,
        document_id="0d9f6b5e-3a52-4a3b-9a53-5d3f1c1f7a10", version=1, ordinal=3, title="Tides",
        heading_path=(), page=None, collection_id=1, collection="Sea", language="en", start=0,
        end=1, text="x", tokens=1, score=1.0, rank=1,
    )  # fmt: skip


def test_markers_split_over_chunks_become_links() -> None:
    links = Links(lambda path: f"http://kb{path}")
    links.read(Context((_passage(1), _passage(2))))
    text = links.add("Höhe [1]") + links.add(" und [2][9] [1](x).")
    cited = links.annotations(Answered("x", "q", "q", Mode.AUTO, Mode.AUTO))
    assert_annotated(text, [{"type": "url_citation", "url_citation": each} for each in cited])
    assert [a["title"] for a in links.citations] == ["Tides", "Tides"]
    assert text.endswith("[9] [1](x).")
