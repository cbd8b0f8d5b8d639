"""pg_textsearch + pgvector, reciprocal rank fusion in one SQL statement."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pgvector import HalfVector

from benchmarks.peers.postgres import HNSW, SEARCHED, Server
from benchmarks.peers.shared import CHUNKS, DEPTH, RESULTS, RRF_K, Library, Vector

_BUILT = f"bm25 index, english, k1 1.2, b .75; HNSW of halfvec, {HNSW}"
SETTINGS = f"{_BUILT}, {SEARCHED}; RRF k {RRF_K} of {DEPTH} each"

_SEARCH = f"""
WITH word AS (
    SELECT id, row_number() OVER () AS rank FROM (
        SELECT id FROM chunk ORDER BY text <@> to_bm25query(%(text)s, 'chunk_bm25') LIMIT {DEPTH}) w
), meaning AS (
    SELECT id, row_number() OVER () AS rank FROM (
        SELECT id FROM chunk ORDER BY vector <=> %(vector)s LIMIT {DEPTH}) v
)
SELECT id FROM word FULL JOIN meaning USING (id)
ORDER BY coalesce(1.0 / ({RRF_K} + word.rank), 0) + coalesce(1.0 / ({RRF_K} + meaning.rank), 0) DESC
LIMIT {CHUNKS}
"""
_MEANING = f"SELECT id FROM chunk ORDER BY vector <=> %s LIMIT {DEPTH}"


class Searcher:
    """A statement a question."""

    def __init__(self, library: Library, folder: Path) -> None:
        index = "CREATE INDEX chunk_bm25 ON chunk USING bm25 (text) WITH (text_config = 'english')"
        server = Server(folder / "bm25", library, _BUILT, index)
        self._connection, self.processes = server.connection, server.processes
        self._server = server

    def search(self, question: str, vector: Vector) -> list[str]:
        values = {"text": question, "vector": HalfVector(vector.astype(np.float32))}
        return [str(pk) for (pk,) in self._connection.execute(_SEARCH, values)]

    def nearest(self, question: str, vector: Vector) -> list[str]:
        rows = self._connection.execute(_MEANING, [HalfVector(vector.astype(np.float32))])
        return [str(pk) for (pk,) in rows][:RESULTS]
