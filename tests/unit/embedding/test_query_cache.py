"""The query cache: hits, spellings, models, time to live, and caches that fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from ingestion.embedding import CachedQueryEmbedder, ModelCard, Vectors
from ingestion.embedding.protocol import EstimatedTokenizer


class CountingEmbedder:
    """Embeds a text as a one-hot vector of its length, and remembers what it was asked."""

    tokenizer = EstimatedTokenizer()

    def __init__(self, fingerprint: str = "one") -> None:
        self.card = ModelCard("counting", fingerprint, dimensions=16, max_tokens=100)
        self.asked: list[str] = []

    def embed_query(self, text: str, *, timeout: float | None = None) -> Vectors:
        self.asked.append(text)
        return np.eye(16, dtype=np.float32)[len(text) % 16]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_batches(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[int], Vectors]]:
        yield range(len(texts)), self.embed_documents(texts)


class DictCache(dict[str, bytes]):
    """A cache in the shape of Django's."""

    timeout: float | None = None

    def set(self, key: str, value: bytes, timeout: float | None) -> None:
        self[key] = value
        self.timeout = timeout


class BrokenCache:
    """A cache whose server is gone."""

    def get(self, key: str) -> Any:
        raise ConnectionRefusedError("no cache")

    def set(self, key: str, value: bytes, timeout: float | None) -> Any:
        raise ConnectionRefusedError("no cache")


def test_repeated_query_is_not_embedded_again() -> None:
    model, cache = CountingEmbedder(), DictCache()
    looked: list[str] = []
    first = CachedQueryEmbedder(model, cache, ttl=60, on_lookup=looked.append)
    # Another process with the same cache.
    second = CachedQueryEmbedder(model, cache, ttl=60, on_lookup=looked.append)
    np.testing.assert_array_equal(first.embed_query("pump"), second.embed_query("pump"))
    assert model.asked == ["pump"]
    assert looked == ["miss", "hit"]
    assert cache.timeout == 60


def test_latest_vectors_are_cached_in_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingestion.embedding.query_cache.MAX_IN_MEMORY", 2)
    model = CountingEmbedder()
    cached = CachedQueryEmbedder(model, BrokenCache(), ttl=60)
    for text in ("a", "ab", "a", "abc", "a", "ab"):
        cached.embed_query(text)
    assert model.asked == ["a", "ab", "abc", "ab"]


def test_sentences_are_embedded_once_and_are_no_questions() -> None:
    model = CountingEmbedder()
    cached = CachedQueryEmbedder(model, BrokenCache(), ttl=60)
    first = cached.embed_documents(["a", "abc", "a"])
    second = cached.embed_documents(["ab", "abc"])
    assert model.asked == ["a", "abc", "ab"]
    assert [list(rows.argmax(axis=1)) for rows in (first, second)] == [[1, 3, 1], [2, 3]]
    cached.embed_query("ab")
    assert model.asked == ["a", "abc", "ab", "ab"]


def test_sentences_in_use_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingestion.embedding.query_cache.MAX_IN_MEMORY", 2)
    model = CountingEmbedder()
    cached = CachedQueryEmbedder(model, BrokenCache(), ttl=60)
    for texts in (["a", "ab"], ["a"], ["abc"], ["a"]):
        cached.embed_documents(texts)
    assert model.asked == ["a", "ab", "abc"]


def test_cut_end_of_a_long_text_is_reported() -> None:
    embedder = CachedQueryEmbedder(CountingEmbedder(), DictCache(), ttl=None)
    assert embedder.left_out("pump " * 400) == ""
    assert embedder.left_out("pump " * 400 + "the end") == "the end"


def test_caller_cannot_change_a_cached_vector() -> None:
    cached = CachedQueryEmbedder(CountingEmbedder(), DictCache(), ttl=60)
    cached.embed_query("pump")
    cached.embed_query("pump")[:] = 0
    assert cached.embed_query("pump").any()


def test_both_spellings_of_an_accent_share_one_vector() -> None:
    model = CountingEmbedder()
    cached = CachedQueryEmbedder(model, DictCache(), ttl=60)
    cached.embed_query("caf\u00e9")
    cached.embed_query("cafe\u0301")
    assert model.asked == ["caf\u00e9"]


def test_cache_separates_models_and_texts() -> None:
    cache = DictCache()
    for model in (CountingEmbedder("one"), CountingEmbedder("two")):
        cached = CachedQueryEmbedder(model, cache, ttl=60)
        cached.embed_query("a")
        cached.embed_query("ab")
        assert model.asked == ["a", "ab"]
    assert len(cache) == 4
    assert all(len(key) < 200 and key.isascii() and " " not in key for key in cache)


@pytest.mark.parametrize("value", [b"short", "text", 7, b"\0" * 128, b"\0" * 64, b"\xff" * 64])
def test_foreign_cache_value_is_ignored(value: Any) -> None:
    model, cache = CountingEmbedder(), DictCache()
    expected = CachedQueryEmbedder(model, cache, ttl=60).embed_query("pump")
    for key in cache:
        cache[key] = value
    another = CachedQueryEmbedder(model, cache, ttl=60)
    np.testing.assert_array_equal(another.embed_query("pump"), expected)
    assert model.asked == ["pump", "pump"]


def test_a_broken_cache_breaks_no_query() -> None:
    looked: list[str] = []
    cached = CachedQueryEmbedder(CountingEmbedder(), BrokenCache(), ttl=60, on_lookup=looked.append)
    np.testing.assert_array_equal(cached.embed_query("pump"), np.eye(16)[4])
    assert looked == ["failure", "miss", "failure"]


def test_lone_surrogate_can_be_embedded() -> None:
    cached = CachedQueryEmbedder(CountingEmbedder(), DictCache(), ttl=60)
    assert cached.embed_query("half \ud800").shape == (16,)
