"""Vectors of quoted sentences: embedded once, then from the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from django.core.cache import cache

from ingestion.embedding import Vectors
from search.answers.extracting.quotes import sentence_embedder, vectors_of

pytestmark = pytest.mark.usefixtures("clean_cache")


@dataclass
class Card:
    fingerprint: str


@dataclass
class Counting:
    """Embeds a text as its length, and counts."""

    card: Card
    embedded: list[str] = field(default_factory=list)

    def embed_query(self, text: str) -> Vectors:
        raise NotImplementedError

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        return np.array([[len(text), 1] for text in texts], np.float32)


def test_a_sentence_is_embedded_once_for_each_model() -> None:
    embedder = Counting(Card("a"))
    assert vectors_of(["one", "three"], embedder).tolist() == [[3, 1], [5, 1]]
    assert vectors_of(["three", "four", "four"], embedder).tolist() == [[5, 1], [4, 1], [4, 1]]
    assert embedder.embedded.count("three") == 1
    other = Counting(Card("b"))
    vectors_of(["one"], other)
    assert other.embedded == ["one"]


def test_a_broken_cache_embeds_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object, **named: object) -> None:
        raise ConnectionError("away")

    monkeypatch.setattr(cache, "get_many", fail)
    monkeypatch.setattr(cache, "set_many", fail)
    embedder = Counting(Card("a"))
    assert vectors_of(["one"], embedder).tolist() == [[3, 1]]
    assert vectors_of(["one"], embedder).tolist() == [[3, 1]]


def test_without_a_space_there_is_no_embedder() -> None:
    assert sentence_embedder(None) is None
