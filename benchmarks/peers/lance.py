"""LanceDB: its own hybrid search."""

from __future__ import annotations

import shutil
from pathlib import Path

import lancedb
from lancedb.rerankers import RRFReranker

from benchmarks.peers.shared import KEPT, RRF_K, Library, Vector

SETTINGS = "FTS index with stemming, stop words removed; exact vectors under 100,000 rows; RRF k 60"


class Searcher:
    """One table with text and vectors."""

    def __init__(self, library: Library, folder: Path) -> None:
        place = folder / "lance"
        shutil.rmtree(place, ignore_errors=True)
        rows = [
            {"id": str(i), "text": text, "vector": vector}
            for i, (text, vector) in enumerate(zip(library.texts, library.vectors, strict=True))
        ]
        self._table = lancedb.connect(place).create_table("chunks", rows)
        self._table.create_fts_index("text", stem=True, remove_stop_words=True, language="English")
        if len(rows) >= 100_000:
            self._table.create_index(metric="cosine")
        self._reranker = RRFReranker(K=RRF_K)
        self.processes: list[int] = []

    def search(self, question: str, vector: Vector) -> list[str]:
        asked = self._table.search(query_type="hybrid").vector(vector).text(question)
        rows = asked.distance_type("cosine").rerank(self._reranker).limit(KEPT).to_arrow()
        return [str(each) for each in rows["id"].to_pylist()]
