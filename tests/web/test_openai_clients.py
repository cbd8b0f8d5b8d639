"""Clients of OpenAI's API, unmodified, against this site under uvicorn: the `openai` package,
LangChain's ChatOpenAI and the chat program `llm`.

Those that need Node are in tests/node (`make clients`).
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest
import yaml
from knox.models import AuthToken

from common.accounts.models import User
from search.answers.models import Answer
from tests.support.factories import make_collection, make_document
from tests.support.fake_chat import FakeChat, Pause, says
from tests.support.library import CONNECTIONS
from tests.support.live_site import live_site

QUESTION = "How long is a connection timeout?"
ASK: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]


@dataclass(frozen=True)
class Site:
    """A running site with one document, and a user's token as the API key."""

    address: str
    key: str

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of the constructors of clients."""
        return {"base_url": f"{self.address}/v1", "api_key": self.key, "max_retries": 0}


@pytest.fixture
def site(clean_cache: None, transactional_db: None) -> Iterator[Site]:
    make_document(make_collection(), CONNECTIONS, file_name="connections.md")
    user = User.objects.create_user("programmer", password="pw-programmer")
    with live_site() as address:
        yield Site(address, AuthToken.objects.create(user=user)[1])


def test_the_openai_package_works_unmodified(site: Site) -> None:
    """Models, completions and streams, synchronous and asynchronous."""
    with openai.OpenAI(**site.options) as client:
        _ask_in_turn(client)
    with (
        pytest.raises(openai.AuthenticationError),
        openai.OpenAI(**{**site.options, "api_key": "wrong"}) as client,
    ):
        client.models.list()
    asyncio.run(_ask_at_once(site.options))


def _ask_in_turn(client: openai.OpenAI) -> None:
    names = [model.id for model in client.models.list()]
    assert names == [
        "steelyard", "steelyard:instant", "steelyard:thinking", "steelyard/handbook",
    ]  # fmt: skip
    assert client.models.retrieve("steelyard/handbook").id == "steelyard/handbook"
    messages: Any = ASK
    told = client.chat.completions.create(model="steelyard", messages=messages)
    message = told.choices[0].message
    assert message.content is not None
    assert message.annotations is not None
    cited = message.annotations[0].url_citation
    assert cited.url in message.content
    assert told.model_extra is not None
    assert cited.url in told.model_extra["citations"]
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="steelyard", messages=messages, n=2)
    assert refused.value.param == "n"
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="gpt-5", messages=messages)
    assert missing.value.code == "model_not_found"


async def _ask_at_once(options: dict[str, Any]) -> None:
    messages: Any = ASK
    async with openai.AsyncOpenAI(**options) as client:

        async def streamed() -> str:
            stream = await client.chat.completions.create(
                model="steelyard:instant",
                messages=messages,
                stream=True,
                stream_options={"include_usage": True},
            )
            chunks = [chunk async for chunk in stream]
            assert chunks[-1].usage is not None
            return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)

        one, other = await asyncio.gather(streamed(), streamed())
    assert "timeout" in one
    assert one == other


def test_langchain_asks_and_streams_unmodified(site: Site) -> None:
    """Its chat model whole and in pieces, after a system prompt, and with tools."""
    # Imported when it is needed: it takes half a second of every process that collects.
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="steelyard:instant", stream_usage=True, **site.options)
    asked = [("system", "Answer like a pirate."), ("human", QUESTION)]
    whole = model.invoke(asked)
    assert model.bind_tools([{"name": "f", "parameters": {}}]).invoke(asked).text == whole.text
    assert "timeout" in whole.text
    assert f"]({site.address}/documents/" in whole.text
    assert whole.response_metadata["finish_reason"] == "stop"
    pieces = list(model.stream(asked))
    assert "".join(piece.text for piece in pieces) == whole.text
    assert len(pieces) > 1


def test_the_chat_program_llm_answers_streams_and_continues(site: Site, tmp_path: Path) -> None:
    """From the configuration of its manual: a model of `extra-openai-models.yaml`."""
    model = {
        "model_id": "manual",
        "model_name": "steelyard:instant",
        "api_base": f"{site.address}/v1",
        "api_key_name": "steelyard",
    }
    (tmp_path / "extra-openai-models.yaml").write_text(yaml.safe_dump([model]))
    environment = {**os.environ, "LLM_USER_PATH": str(tmp_path)}

    (tmp_path / "keys.json").write_text(json.dumps({"steelyard": site.key}))

    def llm(*arguments: str) -> str:
        command = [sys.executable, "-m", "llm", *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, check=True
        ).stdout

    for told in (
        llm("--model", "manual", QUESTION),
        llm("--continue", "--no-stream", "And the idle timeout?"),
    ):
        assert "timeout" in told
        assert f"]({site.address}/documents/" in told
    first, second = Answer.objects.order_by("at").select_related("user")
    assert (first.question, second.question) == (QUESTION, "And the idle timeout?")
    assert str(first.user) == str(second.user) == "programmer"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("clean_cache")
def test_answer_is_streamed_and_disconnecting_stops_the_model(
    settings: Any,
) -> None:
    """S5-26: through the site's server, neither buffered nor left running."""
    make_document(make_collection(), CONNECTIONS, file_name="connections.md")
    with FakeChat(says("Set the timeout ", "to five seconds [1]. ", Pause())) as model:
        settings.ANSWER_BASE_URL, settings.ANSWERS_GENERATED = model.base_url, True
        with (
            live_site() as address,
            openai.OpenAI(base_url=f"{address}/v1", api_key="anonymous", max_retries=0) as client,
        ):
            messages: Any = [{"role": "user", "content": "What is the timeout of a connection?"}]
            stream = client.chat.completions.create(
                model="steelyard:instant", messages=messages, stream=True
            )
            said = ""
            for chunk in stream:
                said += chunk.choices[0].delta.content or ""
                if "five seconds [1](http" in said:
                    break
            assert model.open == 1
            stream.close()
            model.wait_for(lambda fake: fake.disconnects == 1)
            model.wait_for(lambda _: Answer.objects.filter(state="stopped").exists())
