"""Rerankers of this process: a cross-encoder, and the best sentence of a passage (ADR 41).

A passage's own embedding blends all that it speaks of; its best sentence tells whether one of them
answers. The model is that of the settings if it runs in this process, else MiniLM; the process
remembers the sentences' vectors, so that passages that came first before cost no time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

from django.conf import settings

from common.circuit_breaker import PerProcess
from ingestion.embedding.config import IN_PROCESS, usable_cores
from ingestion.embedding.protocol import encodable
from ingestion.errors import EmbeddingError
from ingestion.spaces import vectors
from ingestion.spaces.configuring import build, config_of_settings, embedder_config
from search.errors import RerankerUnavailable
from search.parts.reranker.protocol import RerankerConfig
from search.ranking.rerank import RerankerInput


class FastembedReranker:
    """A cross-encoder in this process; the logistic function makes strengths of its logits."""

    def __init__(self, config: RerankerConfig) -> None:
        self._config = config
        self._model = PerProcess(self._load)

    def strengths(
        self, query: str, passages: Sequence[RerankerInput], *, seconds: float
    ) -> Sequence[float]:
        """See the protocol. Raises RerankerUnavailable, also between passages after `seconds`."""
        end = time.monotonic() + seconds
        strengths = []
        texts = [encodable(passage.text) for passage in passages]
        try:
            # One at a time: padding and dynamic ranges would make them depend on one another.
            for logit in self._model.get().rerank(encodable(query), texts, batch_size=1):
                if time.monotonic() > end:
                    raise RerankerUnavailable("The reranker did not read the passages in time.")
                strengths.append(1 / (1 + math.exp(min(-logit, 700.0))))
        except EmbeddingError as error:
            raise RerankerUnavailable(str(error), is_final=True) from error
        return strengths

    def _load(self) -> Any:
        from ingestion.embedding.fastembed import cross_encoder

        options = settings.EMBEDDER_OPTIONS["fastembed"]
        threads = options["threads"] or usable_cores()
        return cross_encoder(self._config.model, options["models_dir"], threads)


class SentenceReranker:
    """Strengths by the largest cosine of a question and a sentence; below 0 they are 0."""

    def __init__(self, config: RerankerConfig) -> None:
        del config  # its model is that of `model_of_settings`

    def strengths(
        self, query: str, passages: Sequence[RerankerInput], *, seconds: float
    ) -> Sequence[float]:
        """A strength in [0, 1] for each passage. The model is not stopped after `seconds`."""
        del seconds
        texts = [_text(passage) for passage in passages]
        try:
            config = config_of_settings() if model_of_settings() else {"kind": "local"}
            embedder = build(embedder_config(config)).questions
            question = embedder.embed_query(query)
            rows = vectors.embedded_sentences(embedder, texts)
        except EmbeddingError as error:
            raise RerankerUnavailable(f"The sentences could not be compared: {error}") from error
        return [min(max(float((rows[text].vectors @ question).max()), 0.0), 1.0) for text in texts]


def model_of_settings() -> str:
    """The model of the settings if it runs in this process; otherwise empty, for MiniLM."""
    return settings.EMBEDDER if settings.EMBEDDER.partition(":")[0] in IN_PROCESS else ""


def _text(passage: RerankerInput) -> str:
    """The passage without its first line, which has the title and the headings."""
    return passage.text.partition("\n")[2] or passage.text
