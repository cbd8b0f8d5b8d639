"""LangChain: an ensemble of its BM25 retriever and FAISS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from benchmarks.peers.shared import CHUNKS, DEPTH, RRF_K, Library, Vector

SETTINGS = "BM25Retriever (words by spaces), FAISS flat, 100 each; EnsembleRetriever .5/.5, c 60"


class _Known(Embeddings):
    """The vectors that were computed before."""

    def __init__(self) -> None:
        self.vectors: dict[str, Any] = {}

    def embed_query(self, text: str) -> list[float]:
        return self.vectors[text]  # type: ignore[no-any-return]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.vectors[text] for text in texts]


class Searcher:
    """All in this process."""

    def __init__(self, library: Library, folder: Path) -> None:
        known = _Known()
        metadata = [{"id": str(i)} for i in range(len(library.texts))]
        pairs = list(zip(library.texts, library.vectors.tolist(), strict=True))
        store = FAISS.from_embeddings(pairs, known, metadatas=metadata)
        documents = [
            Document(text, metadata=each)
            for text, each in zip(library.texts, metadata, strict=True)
        ]
        words = BM25Retriever.from_documents(documents, k=DEPTH)
        meaning = store.as_retriever(search_kwargs={"k": DEPTH})
        self._known = known
        self._both = EnsembleRetriever(
            retrievers=[words, meaning], weights=[0.5, 0.5], c=RRF_K, id_key="id"
        )
        self.processes: list[int] = []

    def search(self, question: str, vector: Vector) -> list[str]:
        self._known.vectors = {question: vector.tolist()}
        return [each.metadata["id"] for each in self._both.invoke(question)[:CHUNKS]]
