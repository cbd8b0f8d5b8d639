"""The OpenAI embedder against a real HTTP server that misbehaves."""

from __future__ import annotations

import threading
import time
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


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of the embedder's threads, which are noted and not waited for."""
    noted: list[float] = []
    sleep = time.sleep

    def note(seconds: float) -> None:
        if threading.current_thread().name.startswith(("MainThread", "embedding")):
            noted.append(seconds)
        else:
            sleep(seconds)

    monkeypatch.setattr(time, "sleep", note)
    return noted


def embedder_for(server: FakeOpenAI, **options: object) -> OpenAIEmbedder:
    settings = {"model": "fake", "api_key": "key", "dimensions": 8, "base_url": server.base_url}
    config = EmbedderConfig.of("openai", **{**settings, **options}).openai
    assert config is not None
    return OpenAIEmbedder(config)


def expected(texts: list[str], dimensions: int = 8) -> np.ndarray:
    return np.stack([vector_of(text, dimensions) for text in texts])


@pytest.mark.parametrize("answer", [ok, shuffled, plain_lists])
def test_vectors_are_in_the_order_of_the_texts(
    server: FakeOpenAI, waits: list[float], answer: Behaviour
) -> None:
    server.then(answer())
    vectors = embedder_for(server).embed_documents(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected(TEXTS), atol=1e-6)
    assert server.requests[0].stated_dimensions == 8
    assert waits == []


def test_empty_list_of_texts_sends_no_request(server: FakeOpenAI) -> None:
    assert embedder_for(server).embed_documents([]).shape == (0, 8)
    assert server.requests == []


def test_vectors_are_scaled_to_length_1(server: FakeOpenAI) -> None:
    server.then(filled_with(3.0))
    vector = embedder_for(server).embed_query("question")
    np.testing.assert_allclose(vector, np.full(8, 1 / np.sqrt(8)), atol=1e-6)


@pytest.mark.parametrize(
    ("trouble", "most"),
    [
        pytest.param([status(429, retry_after="7")], [7.0], id="429 with Retry-After"),
        pytest.param([status(503, retry_after="0")], [0.5], id="503 with Retry-After 0"),
        pytest.param([status(429)], [0.5], id="429 without"),
        pytest.param([status(500), status(502), status(503)], [0.5, 1.0, 2.0], id="5xx thrice"),
        pytest.param([dropped()], [0.5], id="connection closed"),
    ],
)
def test_temporary_errors_are_retried(
    server: FakeOpenAI, trouble: list[Behaviour], most: list[float], waits: list[float]
) -> None:
    server.then(*trouble)
    vectors = embedder_for(server).embed_documents(TEXTS)
    np.testing.assert_allclose(vectors, expected(TEXTS), atol=1e-6)
    # The client takes up to a quarter off its own pauses, at random.
    assert all(0.75 * last <= wait <= last for wait, last in zip(waits, most, strict=True))
    assert len(server.requests) == len(trouble) + 1


@pytest.mark.parametrize(
    "answer",
    [garbage(), garbage(b'{"error": "busy"}'), garbage(b"[]")],
    ids=["not JSON", "no data", "a list"],
)
def test_an_answer_that_is_none_is_for_a_later_attempt(
    server: FakeOpenAI, answer: Behaviour
) -> None:
    """Of the job: what stands in front of the server rarely comes to its senses in seconds."""
    server.then(answer)
    with pytest.raises(EmbeddingUnavailable, match="not a list of embeddings"):
        embedder_for(server).embed_documents(TEXTS)
    assert len(server.requests) == 1


@pytest.mark.parametrize("seconds", ["11", "3600"])
def test_a_long_pause_is_left_to_the_job(
    server: FakeOpenAI, waits: list[float], seconds: str
) -> None:
    server.then(status(429, retry_after=seconds))
    wish = f"overloaded and asks to wait {seconds} seconds"
    with pytest.raises(EmbeddingUnavailable, match=wish) as caught:
        embedder_for(server).embed_documents(TEXTS)
    assert caught.value.retry_after == float(seconds)
    assert len(server.requests) == 1
    assert waits == []


def test_number_of_attempts_is_limited(server: FakeOpenAI, waits: list[float]) -> None:
    server.then(*[status(500)] * 9)
    with pytest.raises(EmbeddingUnavailable, match=r"answered with error 500"):
        embedder_for(server, attempts=3).embed_documents(TEXTS)
    assert len(server.requests) == 3


def test_silent_server_is_reported_as_unavailable(server: FakeOpenAI) -> None:
    """It is not asked again: its time is used up, and it may still be at work."""
    server.then(hang(20), hang(20))
    with pytest.raises(EmbeddingUnavailable, match="did not answer in time"):
        embedder_for(server, timeout=0.1).embed_documents(TEXTS)
    assert len(server.requests) == 1


def test_a_query_is_tried_twice_and_waits_for_no_long_pause(server: FakeOpenAI) -> None:
    """A reader has a search without vectors to fall back on, and the threads are few."""
    server.then(status(500), status(500), status(429, retry_after="3"))
    embedder = embedder_for(server)
    for asked in (2, 3):
        with pytest.raises(EmbeddingUnavailable, match=r"error 500|overloaded"):
            embedder.embed_query("question", timeout=20)
        assert len(server.requests) == asked


def test_missing_server_is_reported_as_unavailable(waits: list[float]) -> None:
    with FakeOpenAI() as gone:
        embedder = embedder_for(gone, attempts=2)
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
def test_permanent_errors_are_raised_without_a_retry(
    server: FakeOpenAI, waits: list[float], trouble: Behaviour, message: str
) -> None:
    server.then(trouble)
    with pytest.raises(EmbeddingRejected, match=message):
        embedder_for(server).embed_documents(TEXTS)
    assert len(server.requests) == 1
    assert waits == []


def test_the_key_is_sent_and_never_shown(server: FakeOpenAI) -> None:
    with pytest.raises(EmbeddingRejected) as caught:
        embedder_for(server, api_key="wrong-secret").embed_documents(TEXTS)
    assert server.requests[0].authorization == "Bearer wrong-secret"
    assert "wrong-secret" not in str(caught.value)


def test_batches_keep_to_both_limits(server: FakeOpenAI) -> None:
    # Estimated tokens: words of up to five letters count 1.
    texts = ["a b c", "a b", "a b c d", "a", "a", "a", "a", "one two three four five six"]
    embedder = embedder_for(server, batch_size=3, max_request_tokens=5)
    batches = [list(indices) for indices, _ in embedder.embed_batches(texts)]
    assert batches == [[0, 1], [2, 3], [4, 5, 6], [7]]
    assert [list(request.texts) for request in server.requests] == [
        [texts[i] for i in batch] for batch in batches
    ]


def test_a_failed_batch_loses_nothing_and_repeats_nothing(server: FakeOpenAI) -> None:
    texts = [f"text number {i}" for i in range(10)]
    embedder = embedder_for(server, batch_size=3)
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
def test_embedding_of_a_query_has_a_time_limit(server: FakeOpenAI, slow: Behaviour) -> None:
    server.then(slow)
    config = OpenAIConfig(model="fake", api_key="key", dimensions=8, base_url=server.base_url)
    embedder = OpenAIEmbedder(config)
    with pytest.raises(EmbeddingUnavailable):
        embedder.embed_query("question", timeout=0.2)
    np.testing.assert_allclose(
        embedder.embed_query("question", timeout=5), vector_of("question", 8), atol=1e-6
    )


def test_a_dripping_answer_does_not_hold_a_worker(
    server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.then(dripping(0.05))
    monkeypatch.setattr("ingestion.embedding.openai.LONGEST_PAUSE", 0.0)
    embedder = embedder_for(server, timeout=0.5, attempts=1)
    with pytest.raises(EmbeddingUnavailable, match=r"within 0\.5 seconds"):
        embedder.embed_documents(["text"])
    np.testing.assert_allclose(embedder.embed_documents(["text"]), expected(["text"]), atol=1e-6)


def test_long_empty_and_odd_texts_are_made_acceptable(server: FakeOpenAI) -> None:
    embedder = embedder_for(server, max_tokens=100)
    embedder.embed_documents(["word " * 1000, "", "half \ud800 a pair"])
    assert server.requests[0].texts == ("word " * 99 + "word", " ", "half \ufffd a pair")


def test_a_long_question_is_sent_in_windows_of_one_request(server: FakeOpenAI) -> None:
    embedder = embedder_for(server, max_tokens=100, query_prefix="q: ")
    found = embedder.embed_query("pump " * 90 + "word " * 90)
    assert [len(request.texts) for request in server.requests] == [2]
    assert all(text.startswith("q: ") for text in server.requests[0].texts)
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)


def test_prefixes_are_sent_before_the_text(server: FakeOpenAI) -> None:
    options = {"query_prefix": "query: ", "document_prefix": "passage: "}
    embedder = embedder_for(server, **options)
    embedder.embed_query("a")
    embedder.embed_documents(["b"])
    assert [request.texts for request in server.requests] == [("query: a",), ("passage: b",)]
    assert embedder.card.fingerprint != embedder_for(server).card.fingerprint


def test_unknown_dimensions_are_requested_once(server: FakeOpenAI) -> None:
    embedder = embedder_for(server, dimensions=None)
    assert embedder.card.dimensions == 8
    assert embedder.card.fingerprint == "fake@127.0.0.1/8"
    embedder.embed_documents(TEXTS)
    assert len(server.requests) == 2
    assert server.requests[1].stated_dimensions is None


def test_asking_an_absent_server_for_dimensions_fails_fast_again(
    server: FakeOpenAI, waits: list[float]
) -> None:
    server.then(*[status(500)] * 50)
    embedder = embedder_for(server, dimensions=None)
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
