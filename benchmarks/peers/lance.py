"""LanceDB: its own hybrid search."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
from lancedb.rerankers import RRFReranker

from benchmarks.peers.shared import CHUNKS, LARGE, RESULTS, RRF_K, Library, Vector, build_once

_INDEX: dict[str, Any] = {"index_type": "IVF_PQ"}
# Without refining, its default, it finds a tenth of the ten nearest (benchmarks/README.md).
_OPTIONS: dict[str, int] = {"nprobes": 20, "refine_factor": 50}
_BUILT = f"FTS index with stemming, stop words removed; from {LARGE:,} chunks on {_INDEX}"
SETTINGS = f"{_BUILT}, {_OPTIONS}, else vectors exact; RRF k {RRF_K} of {CHUNKS} each"
_BATCH = 5_000


class Searcher:
    """One table with text and vectors."""

    def __init__(self, library: Library, folder: Path) -> None:
        place = folder / "lance"
        self._indexed = len(library.texts) >= LARGE
        build_once(place, _BUILT, lambda: self._build(library, place))
        self._table = lancedb.connect(place).open_table("chunks")
        self._reranker = RRFReranker(K=RRF_K)
        self.processes: list[int] = []

    def _build(self, library: Library, place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)
        width = library.vectors.shape[1]
        schema = pa.schema(
            [("id", pa.string()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), width))]
        )
        table = lancedb.connect(place).create_table(
            "chunks", _batches(library, schema), schema=schema
        )
        table.create_fts_index("text", stem=True, remove_stop_words=True, language="English")
        if self._indexed:
            table.create_index(metric="cosine", **_INDEX)
        table.optimize()

    def search(self, question: str, vector: Vector) -> list[str]:
        search = self._table.search(query_type="hybrid").vector(vector).text(question)
        search = self._by_index(search.distance_type("cosine"))
        rows = search.rerank(self._reranker).limit(CHUNKS).to_arrow()
        return [str(each) for each in rows["id"].to_pylist()]

    def nearest(self, question: str, vector: Vector) -> list[str]:
        search = self._by_index(self._table.search(vector).distance_type("cosine"))
        # As many as the hybrid search requests from its vectors: refining depends on it.
        return [str(each) for each in search.limit(CHUNKS).to_arrow()["id"].to_pylist()][:RESULTS]

    def _by_index(self, search: Any) -> Any:
        if self._indexed:
            for name, value in _OPTIONS.items():
                search = getattr(search, name)(value)
        return search


def _batches(library: Library, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows, a batch at a time."""
    texts = iter(library.texts)
    for start in range(0, len(library.texts), _BATCH):
        vectors = library.vectors[start : start + _BATCH]
        numbers = range(start, start + len(vectors))
        columns = [
            pa.array([str(i) for i in numbers]),
            pa.array([next(texts) for _ in numbers]),
            pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1]),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
