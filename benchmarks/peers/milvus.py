"""Milvus-lite: its BM25 function and dense vectors, fused by its RRF ranker."""

from __future__ import annotations

import shutil
from itertools import islice
from pathlib import Path

from pymilvus import AnnSearchRequest, DataType, Function, FunctionType, MilvusClient, RRFRanker

from benchmarks.peers.shared import CHUNKS, DEPTH, RESULTS, RRF_K, Library, Vector, build_once

SETTINGS = (
    "BM25 function, english analyzer, k1 1.2, b .75; dense FLAT by cosine; RRF k 60 of 100 each"
)
_BATCH = 500
_ENGLISH = {
    "tokenizer": "standard",
    "filter": [
        "lowercase",
        {"type": "stop", "stop_words": ["_english_"]},
        {"type": "stemmer", "language": "english"},
    ],
}


class Searcher:
    """A collection with a sparse field that Milvus computes from the text."""

    def __init__(self, library: Library, folder: Path) -> None:
        place = folder / "milvus.db"
        build_once(place, SETTINGS, lambda: _build(library, place))
        self._client = MilvusClient(str(place))
        self._client.load_collection("chunk")
        self.processes: list[int] = []

    def search(self, question: str, vector: Vector) -> list[str]:
        requests = [
            AnnSearchRequest([question], "words", {"metric_type": "BM25"}, limit=DEPTH),
            AnnSearchRequest([vector.tolist()], "vector", {"metric_type": "COSINE"}, limit=DEPTH),
        ]
        (hits,) = self._client.hybrid_search("chunk", requests, RRFRanker(RRF_K), limit=CHUNKS)
        return [str(each["id"]) for each in hits]

    def nearest(self, question: str, vector: Vector) -> list[str]:
        (hits,) = self._client.search(
            "chunk", [vector.tolist()], anns_field="vector", limit=RESULTS
        )
        return [str(each["id"]) for each in hits]


def _build(library: Library, place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    client = MilvusClient(str(place))
    schema = client.create_schema()
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field(
        "text", DataType.VARCHAR, max_length=65_000, enable_analyzer=True, analyzer_params=_ENGLISH
    )
    schema.add_field("words", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=library.vectors.shape[1])
    schema.add_function(Function("bm25", FunctionType.BM25, ["text"], ["words"]))
    indexes = client.prepare_index_params()
    bm25 = {"bm25_k1": 1.2, "bm25_b": 0.75}
    indexes.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=bm25)
    indexes.add_index("vector", index_type="FLAT", metric_type="COSINE")
    if client.has_collection("chunk"):
        client.drop_collection("chunk")
    client.create_collection("chunk", schema=schema, index_params=indexes)
    rows = (
        {"id": i, "text": text, "vector": library.vectors[i].tolist()}
        for i, text in enumerate(library.texts)
    )
    while batch := list(islice(rows, _BATCH)):
        client.insert("chunk", batch)
    client.close()
