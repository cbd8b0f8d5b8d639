"""Spaces send texts to servers, and keys from variables, that the settings list alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError, SystemCheckError

from ingestion.errors import EmbeddingError, EmbeddingRejected
from ingestion.models import EmbeddingSpace
from ingestion.spaces import allowed_servers, changes, configuring
from tests.support.factories import make_collection, make_document
from tests.support.fake_openai import FakeOpenAI

pytestmark = pytest.mark.django_db
CANARY = "canary-in-the-environment"


@pytest.fixture
def listener() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(dimensions=8, api_key="none") as server:
        yield server


def _given(server: FakeOpenAI, **more: Any) -> dict[str, Any]:
    return {"model": "new", "base_url": server.base_url, **more}


def test_a_server_that_is_not_listed_gets_nothing(
    listener: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setenv("SECRET_KEY", CANARY)
    settings.EMBEDDING_KEY_VARIABLES = ["SECRET_KEY"]
    with pytest.raises(EmbeddingRejected, match="EMBEDDING_ADDRESSES"):
        changes.create("openai", _given(listener, api_key_env="SECRET_KEY"), acting_user=None)
    assert listener.requests == []


@pytest.mark.parametrize("name", ["SECRET_KEY", "DATABASE_URL", "PATH", "HOME"])
def test_a_variable_that_is_not_listed_is_not_sent(
    listener: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, settings: Any, name: str
) -> None:
    monkeypatch.setenv(name, CANARY)
    settings.EMBEDDING_ADDRESSES = [listener.base_url]
    with pytest.raises(EmbeddingRejected, match="EMBEDDING_KEY_VARIABLES"):
        changes.create("openai", _given(listener, api_key_env=name), acting_user=None)
    assert listener.requests == []


def test_listed_addresses_and_variables_are_used(
    listener: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setenv("NEW_KEY", "none")
    settings.EMBEDDING_ADDRESSES = [listener.base_url.replace("/v1", "")]
    settings.EMBEDDING_KEY_VARIABLES = ["NEW_KEY"]
    made = changes.create("openai", _given(listener, api_key_env="NEW_KEY"), acting_user=None)
    assert made.dimensions == 8


def test_existing_space_with_an_unlisted_address_sends_nothing(
    listener: FakeOpenAI, settings: Any
) -> None:
    """Written before the settings knew of servers, or by hand: it is refused when it is used."""
    make_document(make_collection(), "# Beam\n\nThe long arm.\n")
    settings.EMBEDDING_ADDRESSES = [listener.base_url]
    space = changes.create("openai", _given(listener), acting_user=None)
    asked = len(listener.requests)
    settings.EMBEDDING_ADDRESSES = []
    configuring.forget_embedders()
    with pytest.raises(EmbeddingError, match="EMBEDDING_ADDRESSES"):
        configuring.embedder(EmbeddingSpace.objects.get(pk=space.pk))
    assert len(listener.requests) == asked


def test_check_names_spaces_that_are_not_allowed(
    listener: FakeOpenAI, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.EMBEDDING_ADDRESSES = [listener.base_url]
    changes.create("openai", _given(listener), acting_user=None)
    call_command("check", "--database", "default")
    assert "steelyard.W021" not in capsys.readouterr().err
    settings.EMBEDDING_ADDRESSES = []
    call_command("check", "--database", "default")
    printed = capsys.readouterr().err
    assert "steelyard.W021" in printed
    assert listener.base_url in printed


def test_command_respects_the_allowed_addresses(listener: FakeOpenAI) -> None:
    arguments = ["create", "openai", "--model", "new", "--base-url", listener.base_url]
    with pytest.raises(CommandError, match="EMBEDDING_ADDRESSES"):
        call_command("embedding_space", *arguments)


@pytest.mark.parametrize(
    "address",
    [
        "https://models.example.org.evil.org/v1",
        "https://models.example.org@evil.org/v1",
        "https://evil.org#models.example.org",
        "https://evil.org\\@models.example.org/v1",
        "https://models.example.org:444/v1",
        "http://models.example.org/v1",
        "https://models.example.org%2eevil.org/v1",
        "https://models.example.org\n.evil.org/v1",
        "https://mödels.example.org/v1",
        "//models.example.org/v1",
        "https://api.openai.com.evil.org/v1",
    ],
)
def test_addresses_similar_to_a_listed_one_are_refused(settings: Any, address: str) -> None:
    settings.EMBEDDING_ADDRESSES = ["https://models.example.org/v1"]
    with pytest.raises(EmbeddingRejected, match="not in the settings"):
        allowed_servers.require_address(address)


@pytest.mark.parametrize(
    "address",
    [
        None, "", "https://api.openai.com/v1", "https://models.example.org",
        "https://MODELS.example.org:443/v2/", "http://10.0.0.7:8080/v1", "http://[fd00::7]:8080/v1",
        "http://ollama:11434/v1",
    ],
)  # fmt: skip
def test_listed_addresses_are_accepted(settings: Any, address: str | None) -> None:
    options = {**settings.EMBEDDER_OPTIONS["openai"], "base_url": "http://ollama:11434/v1"}
    settings.EMBEDDER_OPTIONS = {**settings.EMBEDDER_OPTIONS, "openai": options}
    settings.EMBEDDING_ADDRESSES = [
        "https://models.example.org/v1", "http://10.0.0.7:8080", "http://[fd00::7]:8080/v1",
    ]  # fmt: skip
    allowed_servers.require_address(address)


def test_an_entry_that_is_no_address_is_an_error(settings: Any) -> None:
    settings.EMBEDDING_ADDRESSES = ["models.example.org"]
    with pytest.raises(SystemCheckError, match="not the address of a server"):
        call_command("check")
