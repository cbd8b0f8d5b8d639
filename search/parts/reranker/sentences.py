"""A reranker without a server: how near the best sentence of a passage is to the question (ADR 87).

A passage's own embedding blends all that it speaks of. Its best sentence tells whether one of them
answers. The model is a local one, that of the settings or a packaged one; the sentences' vectors
are kept, so that only passages that never came first before cost time.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings

from ingestion.errors import EmbeddingError
from ingestion.spaces import sentences
from ingestion.spaces.configuring import build, config_of_settings, embedder_config
from search.errors import RerankerUnavailable
from search.parts.reranker.protocol import RerankerConfig
from search.ranking.reranking import RerankerInput


class SentenceReranker:
    """Strengths by the largest cosine of a question and a sentence; below 0 they are 0."""

    def __init__(self, config: RerankerConfig) -> None:
        self._model = config.model

    def strengths(
        self, query: str, passages: Sequence[RerankerInput], *, seconds: float
    ) -> Sequence[float]:
        """A strength in [0, 1] for each passage. The model is not stopped after `seconds`."""
        del seconds
        texts = [_text(passage) for passage in passages]
        try:
            embedder = build(embedder_config(_config(self._model))).questions
            question = embedder.embed_query(query)
            rows = sentences.held(embedder, texts)
            missing = [text for text in dict.fromkeys(texts) if text not in rows]
            rows |= sentences.embedded(embedder, missing)
        except EmbeddingError as error:
            raise RerankerUnavailable(f"The sentences could not be compared: {error}") from error
        return [min(max(float((rows[text].vectors @ question).max()), 0.0), 1.0) for text in texts]


def model_of_settings() -> str:
    """The local model of the settings; MiniLM where they name a server."""
    return settings.EMBEDDER if settings.EMBEDDER.partition(":")[0] == "local" else ""


def _config(model: str) -> dict[str, object]:
    """The configuration of the model; of the settings' own, so that it is loaded once."""
    if model and model == model_of_settings():
        return config_of_settings()
    named = model.removeprefix("local:")
    return {"kind": "local", "model": named} if named not in ("", "local") else {"kind": "local"}


def _text(passage: RerankerInput) -> str:
    """The passage without its first line, which has the title and the headings."""
    return passage.text.partition("\n")[2] or passage.text
