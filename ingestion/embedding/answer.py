"""An embeddings response, checked: the bytes of the answer -> vectors in the order asked."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

import numpy as np
import numpy.typing as npt

from ingestion.embedding.protocol import Vectors
from ingestion.embedding.retry import TransientError
from ingestion.embedding.vectors import unit_vectors
from ingestion.errors import EmbeddingRejected


def read_answer(body: bytes, *, asked: int, dimensions: int | None) -> Vectors:
    """Shape (asked, dimensions), rows in the order asked, of length 1.

    Raises TransientError for what is no embeddings response at all (a proxy's error page), and
    EmbeddingRejected for one that breaks its contract: a server that miscounts, or answers
    with another dimension, will do so again.
    """
    try:
        items = json.loads(body)["data"]
        given = {item.get("index", place): item["embedding"] for place, item in enumerate(items)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TransientError("answered with something that is not a list of embeddings") from error
    if len(items) != asked or set(given) != set(range(asked)):
        raise EmbeddingRejected(
            f"The embedding server was sent {asked} texts and answered with {len(items)} "
            "embeddings, or numbered them wrongly. Set a smaller OPENAI_BATCH_SIZE, or report "
            "it to whoever runs the server."
        )
    vectors = [_vector(given[place]) for place in range(asked)]
    widths = {vector.size for vector in vectors}
    expected = dimensions or vectors[0].size
    if widths != {expected} or expected == 0:
        raise EmbeddingRejected(
            f"The embedding server answered with {max(widths)} dimensions instead of {expected}. "
            "Check the model's name, or set OPENAI_EMBEDDING_DIMENSIONS to what the model gives."
        )
    return unit_vectors(np.stack(vectors), "The embedding server")


def _vector(given: Any) -> npt.NDArray[np.float32]:
    """One embedding, sent as base64 of little-endian floats or as a list of numbers."""
    try:
        if isinstance(given, str):
            return np.frombuffer(base64.b64decode(given, validate=True), dtype="<f4")
        vector = np.asarray(given, dtype=np.float32)
    except (ValueError, TypeError, OverflowError, binascii.Error) as error:
        raise EmbeddingRejected(_UNREADABLE) from error
    if vector.ndim != 1:
        raise EmbeddingRejected(_UNREADABLE)
    return vector


_UNREADABLE = (
    "The embedding server answered with an embedding that is not a list of numbers. Check that "
    "OPENAI_BASE_URL names a server that speaks OpenAI's embeddings protocol."
)
