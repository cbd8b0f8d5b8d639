"""The OpenAI embedder under an allowance that it shares with others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ingestion.embedding import OpenAIConfig
from ingestion.embedding.openai import OpenAIEmbedder
from ingestion.errors import EmbeddingUnavailable
from tests.support.fake_openai import FakeOpenAI, status

TEXTS = ["first text", "second text", "third text"]


class Allowance:
    """Writes down what is asked of it."""

    def __init__(self, patience: float = float("inf")) -> None:
        self.patience = patience
        self.taken: list[int] = []
        self.held: list[float] = []

    def take(self, tokens: int, *, longest: float) -> None:
        self.taken.append(tokens)

    def hold(self, seconds: float) -> None:
        self.held.append(seconds)


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


def embedder_for(server: FakeOpenAI, allowance: Allowance) -> OpenAIEmbedder:
    config = OpenAIConfig(
        model="fake", api_key="key", base_url=server.base_url, known_dimensions=8, batch_size=2
    )
    return OpenAIEmbedder(config, allowance, sleep=lambda seconds: None, draw=lambda: 1.0)


def test_each_request_is_asked_for_with_its_tokens(server: FakeOpenAI) -> None:
    allowance = Allowance()
    embedder = embedder_for(server, allowance)
    embedder.embed_documents(TEXTS)
    counts = [embedder.tokenizer.count(text) for text in TEXTS]
    assert allowance.taken == [counts[0] + counts[1], counts[2]]


def test_the_dimensions_that_are_known_are_not_asked_for(server: FakeOpenAI) -> None:
    assert embedder_for(server, Allowance()).card.dimensions == 8
    assert server.requests == []


def test_a_second_attempt_is_asked_for_too_and_retry_after_holds_all(server: FakeOpenAI) -> None:
    server.then(status(429, retry_after="7"), status(503))
    allowance = Allowance()
    embedder_for(server, allowance).embed_documents(TEXTS[:1])
    assert len(allowance.taken) == 3
    assert allowance.held == [7.0]


def test_questions_are_not_held_up(server: FakeOpenAI) -> None:
    allowance = Allowance()
    embedder_for(server, allowance).embed_query("a question")
    assert allowance.taken == []


def test_who_has_no_patience_comes_back_later(server: FakeOpenAI) -> None:
    server.then(status(429, retry_after="7"))
    embedder = embedder_for(server, Allowance(patience=3))
    with pytest.raises(EmbeddingUnavailable) as caught:
        embedder.embed_documents(TEXTS[:1])
    assert caught.value.retry_after == 7.0
    assert len(server.requests) == 1
