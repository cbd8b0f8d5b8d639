"""Checked unit vectors out of whatever a model answered."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ingestion.embedding.protocol import Vectors
from ingestion.errors import EmbeddingRejected


def unit_vectors(matrix: npt.NDArray[np.floating], source: str) -> Vectors:
    """`matrix` with rows scaled to length 1, as float32.

    Raises EmbeddingRejected for a number that is not finite and for a row of zeros: such a
    vector would have no cosine to anything. `source` names the model in the message.
    """
    if not np.isfinite(matrix).all():
        raise EmbeddingRejected(
            f"{source} answered with a number that is not finite. The model is broken or "
            "overflows on this text: try another model, or report it to whoever runs it."
        )
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not (lengths > 0).all():
        raise EmbeddingRejected(
            f"{source} answered with a vector of zeros, which has no direction to compare. "
            "Check that the model is an embedding model."
        )
    return np.asarray(matrix / lengths, dtype=np.float32)
