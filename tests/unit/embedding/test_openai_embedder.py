"""The OpenAI embedder against a real HTTP server that misbehaves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ingestion.embedding import EmbedderConfig, OpenAIConfig
from ingestion.embedding.openai import OpenAIEmbedder
from ingestion.errors import EmbeddingRejected, EmbeddingUnavailable
from tests.support.fake_openai import (
    Behaviour,
    FakeOpenAI,
    dripping,
    dropped,
    filled_with,
    garbage,
    half,
    hang,
    ok,
    plain_lists,
    same_number,
    shuffled,
    status,
    vector_of,
    wrong_dimension,
)

TEXTS = ["first text", "second text", "third text", "fourth text", "fifth text"]


class Clock:
    """Time that passes only in `sleep`, so that waits are seen and not waited for."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def read(self) -> float:
        return self.now


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def clock() -> Clock:
    return Clock()


def embedder_for(server: FakeOpenAI, clock: Clock, **options: object) -> OpenAIEmbedder:
    settings = {"model": "fake", "api_key": "key", "dimensions": 8, "base_url": server.base_url}
    config = EmbedderConfig.of("openai", **{**settings, **options}).openai
    assert config is not None
    return OpenAIEmbedder(config, sleep=clock.sleep, clock=clock.read, draw=lambda: 1.0)


def expected(texts: list[str], dimensions: int = 8) -> np.ndarray:
    return np.stack([vector_of(text, dimensions) for text in texts])


@pytest.mark.parametrize("answer", [ok, shuffled, plain_lists])
def test_vectors_stand_in_the_order_of_the_texts(
    server: FakeOpenAI, clock: Clock, answer: Behaviour
) -> None:
    server.then(answer())
    vectors = embedder_for(server, clock).embed_documents(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected(TEXTS), atol=1e-6)
    assert server.requests[0].stated_dimensions == 8
    assert clock.waits == []


def test_no_texts_ask_nothing(server: FakeOpenAI, clock: Clock) -> None:
    assert embedder_for(server, clock).embed_documents([]).shape == (0, 8)
    assert server.requests == []


def test_vectors_are_scaled_to_length_1(server: FakeOpenAI, clock: Clock) -> None:
    server.then(filled_with(3.0))
    vector = embedder_for(server, clock).embed_query("question")
    np.testing.assert_allclose(vector, np.full(8, 1 / np.sqrt(8)), atol=1e-6)


@pytest.mark.parametrize(
    ("trouble", "waits"),
    [
        pytest.param([status(429, retry_after="7")], [7.5], id="429 with Retry-After"),
        pytest.param([status(503, retry_after="0")], [0.5], id="503 with Retry-After 0"),
        pytest.param([status(429)], [0.5], id="429 without"),
        pytest.param([status(500), status(502), status(503)], [0.5, 1.0, 2.0], id="5xx thrice"),
        pytest.param([garbage()], [0.5], id="not JSON"),
        pytest.param([garbage(b'{"error": "busy"}')], [0.5], id="no data"),
        pytest.param([garbage(b"[]")], [0.5], id="a list"),
        pytest.param([dropped()], [0.5], id="connection closed"),
    ],
)
def test_passing_trouble_is_tried_again(
    server: FakeOpenAI, clock: Clock, trouble: list[Behaviour], waits: list[float]
) -> None:
    server.then(*trouble)
    vectors = embedder_for(server, clock).embed_documents(TEXTS)
    np.testing.assert_allclose(vectors, expected(TEXTS), atol=1e-6)
    # The dice always show 1, so that a wait is the upper end of its jitter.
    assert clock.waits == pytest.approx(waits)
    assert len(server.requests) == len(trouble) + 1


def test_a_wait_beyond_the_deadline_is_not_begun(server: FakeOpenAI, clock: Clock) -> None:
    server.then(status(429, retry_after="3600"))
    with pytest.raises(EmbeddingUnavailable, match="overloaded and asks to wait 3600 seconds"):
        embedder_for(server, clock, deadline=60).embed_documents(TEXTS)
    assert clock.waits == []


def test_tries_end(server: FakeOpenAI, clock: Clock) -> None:
    server.then(*[status(500)] * 9)
    with pytest.raises(EmbeddingUnavailable, match=r"error 500 \(tried 3 times"):
        embedder_for(server, clock, attempts=3).embed_documents(TEXTS)
    assert len(server.requests) == 3


def test_a_silent_server_is_unavailable(server: FakeOpenAI, clock: Clock) -> None:
    server.then(hang(20), hang(20))
    with pytest.raises(EmbeddingUnavailable, match="did not answer in time"):
        embedder_for(server, clock, timeout=0.1, attempts=2).embed_documents(TEXTS)


def test_no_server_is_unavailable(clock: Clock) -> None:
    with FakeOpenAI() as gone:
        embedder = embedder_for(gone, clock, attempts=2)
    with pytest.raises(EmbeddingUnavailable, match="cannot be reached"):
        embedder.embed_documents(TEXTS)


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        pytest.param(wrong_dimension(5), "5 dimensions instead of 8", id="wrong dimension"),
        pytest.param(filled_with(float("nan")), "not finite", id="NaN"),
        pytest.param(filled_with(float("inf")), "not finite", id="infinity"),
        pytest.param(filled_with(0.0), "zeros", id="zeros"),
        pytest.param(half(), "sent 5 texts and returned 2", id="half a batch"),
        pytest.param(same_number(), "numbered them wrongly", id="repeated numbers"),
        pytest.param(
            garbage(b'{"data": [%s]}' % b", ".join([b'{"embedding": ["x"]}'] * 5)),
            "not a list of numbers",
            id="words for numbers",
        ),
        pytest.param(status(400, message="bad input"), "bad input", id="400"),
        pytest.param(status(401), "OPENAI_API_KEY", id="401"),
        pytest.param(status(404), "OPENAI_EMBEDDING_MODEL", id="404"),
        pytest.param(status(429, "insufficient_quota"), "billing", id="no quota"),
    ],
)
def test_lasting_trouble_is_for_people_and_asked_once(
    server: FakeOpenAI, clock: Clock, trouble: Behaviour, message: str
) -> None:
    server.then(trouble)
    with pytest.raises(EmbeddingRejected, match=message):
        embedder_for(server, clock).embed_documents(TEXTS)
    assert len(server.requests) == 1
    assert clock.waits == []


def test_the_key_is_sent_and_never_shown(server: FakeOpenAI, clock: Clock) -> None:
    with pytest.raises(EmbeddingRejected) as caught:
        embedder_for(server, clock, api_key="wrong-secret").embed_documents(TEXTS)
    assert server.requests[0].authorization == "Bearer wrong-secret"
    assert "wrong-secret" not in str(caught.value)


def test_batches_keep_to_both_limits(server: FakeOpenAI, clock: Clock) -> None:
    # Estimated tokens: words of up to five letters count 1.
    texts = ["a b c", "a b", "a b c d", "a", "a", "a", "a", "one two three four five six"]
    embedder = embedder_for(server, clock, batch_size=3, max_request_tokens=5)
    batches = [list(indices) for indices, _ in embedder.embed_batches(texts)]
    assert batches == [[0, 1], [2, 3], [4, 5, 6], [7]]
    assert [list(request.texts) for request in server.requests] == [
        [texts[i] for i in batch] for batch in batches
    ]


def test_a_failed_batch_loses_nothing_and_repeats_nothing(server: FakeOpenAI, clock: Clock) -> None:
    texts = [f"text number {i}" for i in range(10)]
    embedder = embedder_for(server, clock, batch_size=3)
    server.then(ok(), ok(), half())
    kept: dict[int, np.ndarray] = {}

    def embed_rest() -> None:
        left = [i for i in range(len(texts)) if i not in kept]
        for indices, vectors in embedder.embed_batches([texts[i] for i in left]):
            kept.update({left[i]: row for i, row in zip(indices, vectors, strict=True)})

    with pytest.raises(EmbeddingRejected):
        embed_rest()
    assert sorted(kept) == [0, 1, 2, 3, 4, 5]

    embed_rest()
    assert set(server.acknowledged.values()) == {1}
    assert set(server.acknowledged) == set(texts)
    assert [server.received[text] for text in texts] == [1] * 6 + [2] * 3 + [1]
    np.testing.assert_allclose(np.stack([kept[i] for i in range(10)]), expected(texts), atol=1e-6)


@pytest.mark.parametrize("slow", [hang(20), dripping(0.05)], ids=["silent", "dripping"])
def test_a_query_ends_within_its_time(server: FakeOpenAI, slow: Behaviour) -> None:
    server.then(slow)
    config = OpenAIConfig(model="fake", api_key="key", dimensions=8, base_url=server.base_url)
    embedder = OpenAIEmbedder(config)
    with pytest.raises(EmbeddingUnavailable):
        embedder.embed_query("question", timeout=0.2)
    np.testing.assert_allclose(
        embedder.embed_query("question", timeout=5), vector_of("question", 8), atol=1e-6
    )


def test_long_empty_and_odd_texts_are_made_acceptable(server: FakeOpenAI, clock: Clock) -> None:
    embedder = embedder_for(server, clock, max_tokens=100)
    embedder.embed_documents(["word " * 1000, "", "half \ud800 a pair"])
    assert server.requests[0].texts == ("word " * 99 + "word", " ", "half \ufffd a pair")


def test_a_long_question_is_sent_in_windows_of_one_request(
    server: FakeOpenAI, clock: Clock
) -> None:
    embedder = embedder_for(server, clock, max_tokens=100, query_prefix="q: ")
    found = embedder.embed_query("pump " * 90 + "word " * 90)
    assert [len(request.texts) for request in server.requests] == [2]
    assert all(text.startswith("q: ") for text in server.requests[0].texts)
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)


def test_prefixes_stand_before_the_text(server: FakeOpenAI, clock: Clock) -> None:
    options = {"query_prefix": "query: ", "document_prefix": "passage: "}
    embedder = embedder_for(server, clock, **options)
    embedder.embed_query("a")
    embedder.embed_documents(["b"])
    assert [request.texts for request in server.requests] == [("query: a",), ("passage: b",)]
    assert embedder.card.fingerprint != embedder_for(server, clock).card.fingerprint


def test_unknown_dimensions_are_asked_once(server: FakeOpenAI, clock: Clock) -> None:
    embedder = embedder_for(server, clock, dimensions=None)
    assert embedder.card.dimensions == 8
    assert embedder.card.fingerprint == "fake@127.0.0.1/8"
    embedder.embed_documents(TEXTS)
    assert len(server.requests) == 2
    assert server.requests[1].stated_dimensions is None


def test_asking_an_absent_server_for_dimensions_fails_fast_again(
    server: FakeOpenAI, clock: Clock
) -> None:
    server.then(*[status(500)] * 50)
    embedder = embedder_for(server, clock, dimensions=None)
    with pytest.raises(EmbeddingUnavailable):
        _ = embedder.card
    asked = len(server.requests)
    with pytest.raises(EmbeddingUnavailable):
        _ = embedder.card
    assert len(server.requests) == asked


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"api_key": ""}, "set OPENAI_API_KEY"),
        ({"api_key": "key", "batch_size": 0}, "batch_size is 0"),
        ({"api_key": "key", "timeout": 0.0}, "greater than 0 seconds"),
        ({"api_key": "key", "dimensions": -1}, "dimensions is -1"),
    ],
)
def test_senseless_settings_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(EmbeddingRejected, match=message):
        EmbedderConfig.of("openai", **options)
