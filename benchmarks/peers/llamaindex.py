"""LlamaIndex: fusion of its BM25 retriever (bm25s) and its vector index in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import QueryBundle, TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from benchmarks.peers.shared import CHUNKS, DEPTH, Library, Vector

SETTINGS = "BM25Retriever (english), SimpleVectorStore, 100 each; reciprocal_rerank"


class _Known(BaseEmbedding):  # type: ignore[misc]
    """The vectors that were computed before."""

    vectors: dict[str, Any] = {}

    def _get_query_embedding(self, query: str) -> list[float]:
        return self.vectors[query]  # type: ignore[no-any-return]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self.vectors[text]  # type: ignore[no-any-return]


class Searcher:
    """All in this process."""

    def __init__(self, library: Library, folder: Path) -> None:
        nodes = [
            TextNode(id_=str(i), text=text, embedding=vector)
            for i, (text, vector) in enumerate(
                zip(library.texts, library.vectors.tolist(), strict=True)
            )
        ]
        self._known = _Known()
        meaning = VectorStoreIndex(nodes, embed_model=self._known).as_retriever(
            similarity_top_k=DEPTH
        )
        words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=DEPTH)
        self._both = QueryFusionRetriever(
            [words, meaning],
            llm=MockLLM(),
            mode="reciprocal_rerank",
            num_queries=1,
            similarity_top_k=CHUNKS,
            use_async=False,
        )
        self.processes: list[int] = []

    def search(self, question: str, vector: Vector) -> list[str]:
        self._known.vectors = {question: vector.tolist()}
        nodes = self._both.retrieve(QueryBundle(question))
        return [each.node.node_id for each in nodes]
