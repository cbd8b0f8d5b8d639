"""The usual Django recipe: SearchVector and SearchRank with the words joined by OR, and pgvector.

As the SQL that Django sends for them, fused in Python.
"""

from __future__ import annotations

import re
from pathlib import Path

from pgvector import HalfVector

from benchmarks.peers.postgres import HNSW, SEARCHED, Server
from benchmarks.peers.shared import CHUNKS, DEPTH, RESULTS, RRF_K, Library, Vector, fused

_BUILT = f"GIN, ts_rank, english, words joined by OR; HNSW of halfvec, {HNSW}"
SETTINGS = f"{_BUILT}, {SEARCHED}; RRF k {RRF_K} of {DEPTH} each"

_WORDS = f"""
SELECT id FROM chunk, to_tsquery('english', %s) query WHERE words @@ query
ORDER BY ts_rank(words, query) DESC LIMIT {DEPTH}
"""
_MEANING = f"SELECT id FROM chunk ORDER BY vector <=> %s LIMIT {DEPTH}"


class Searcher:
    """Two statements a question."""

    def __init__(self, library: Library, folder: Path) -> None:
        server = Server(
            folder / "django",
            library,
            _BUILT,
            "ALTER TABLE chunk ADD words tsvector"
            " GENERATED ALWAYS AS (to_tsvector('english', text)) STORED",
            "CREATE INDEX ON chunk USING gin (words)",
        )
        self._connection, self.processes = server.connection, server.processes
        self._server = server

    def search(self, question: str, vector: Vector) -> list[str]:
        either = " | ".join(re.findall(r"\w+", question))
        run = self._connection.execute
        by_words = [str(pk) for (pk,) in run(_WORDS, [either])]
        by_meaning = [str(pk) for (pk,) in run(_MEANING, [HalfVector(vector)])]
        return fused(by_words, by_meaning)[:CHUNKS]

    def nearest(self, question: str, vector: Vector) -> list[str]:
        rows = self._connection.execute(_MEANING, [HalfVector(vector)])
        return [str(pk) for (pk,) in rows][:RESULTS]
