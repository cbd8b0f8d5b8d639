"""POST /v1/embeddings: texts as vectors of the model that this site searches with."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from ingestion import spaces
from ingestion.errors import EmbeddingUnavailable
from search.api.compatible.base import AnsweringView, BadRequest, NoSuchModel, fields_of
from search.api.compatible.requests import NAME, texts_of
from search.engine import configuration

# A request holds a worker while it lasts: about a second on one core with the packaged model.
MAX_TEXTS = 64
MAX_CHARACTERS = 100_000
FORMATS = ("float", "base64")
PURPOSES = ("document", "query")


class EmbeddingsView(AnsweringView):
    """The vectors of texts. For signed-in users: strangers would only cost time."""

    permission_classes: tuple[type[BasePermission], ...] = (IsAuthenticated,)

    def post(self, request: Request) -> Response:
        """Embed texts."""
        body = fields_of(request)
        texts = texts_of(body.get("input"))
        if len(texts) > MAX_TEXTS or sum(map(len, texts)) > MAX_CHARACTERS:
            raise BadRequest(
                f"At most {MAX_TEXTS} texts of {MAX_CHARACTERS:,} characters in all.", "input"
            )
        form = _one_of(body, "encoding_format", FORMATS)
        purpose = _one_of(body, "input_type", PURPOSES)
        space = configuration.current().space
        if space is None:
            raise EmbeddingUnavailable("This site has no embedding model at the moment.")
        embedder = spaces.embedder(space)
        card = embedder.card
        if body.get("model") not in (NAME, card.name):
            raise NoSuchModel(str(body.get("model"))[:200])
        if body.get("dimensions") not in (None, card.dimensions):
            raise BadRequest(f"The vectors have {card.dimensions} dimensions.", "dimensions")
        if purpose == "query":
            vectors = np.stack([embedder.embed_query(text) for text in texts])
        else:
            vectors = embedder.embed_documents(texts)
        tokens = sum(embedder.tokenizer.count(text) for text in texts)
        return Response(
            {
                "object": "list",
                "model": card.name,
                "data": [_data(place, each, form) for place, each in enumerate(vectors)],
                "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            }
        )


def _data(place: int, vector: Any, form: str) -> dict[str, Any]:
    values = np.asarray(vector, dtype="<f4")
    value: Any = values.tolist()
    if form == "base64":
        value = base64.b64encode(values.tobytes()).decode("ascii")
    return {"object": "embedding", "index": place, "embedding": value}


def _one_of(body: dict[str, Any], name: str, choices: tuple[str, ...]) -> str:
    value = body.get(name)
    if value is None:
        return choices[0]
    if value not in choices:
        raise BadRequest(f"{name} must be one of: {', '.join(choices)}.", name)
    return str(value)
