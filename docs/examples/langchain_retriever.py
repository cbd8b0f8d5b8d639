"""A LangChain retriever of Steelyard's passages: needs `langchain-core` alone.

    retriever = SteelyardRetriever(site="https://kb.example.org", token=TOKEN, k=5)
    retriever.invoke("When does the water rise?")

The token needs the scope `read`; without one it finds what visitors may read.
"""

from __future__ import annotations

import json
import warnings
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import SecretStr


class SteelyardRetriever(BaseRetriever):
    """The best `k` passages, up to 50, at most one of a document unless `group` is false."""

    site: str
    token: SecretStr = SecretStr("")
    k: int = 8
    collections: list[str] = []
    group: bool = True

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        asked: dict[str, Any] = {"query": query, "page_size": self.k, "group": self.group}
        if self.collections:
            asked["collection"] = self.collections
        request = Request(
            f"{self.site.rstrip('/')}/api/v1/search/", json.dumps(asked).encode(), method="POST"
        )
        request.add_header("Content-Type", "application/json")
        if token := self.token.get_secret_value():
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urlopen(request, timeout=60) as answer:
                found = json.load(answer)
        except HTTPError as error:
            with error:
                said = error.read().decode(errors="replace")[:500]
            raise ValueError(f"The search failed: {said}") from error
        if self.collections and not found["results"]:
            for note in found["notes"]:  # such as that there is no collection of this slug
                warnings.warn(note, stacklevel=2)
        return [_document(result) for result in found["results"]]


def _document(result: dict[str, Any]) -> Document:
    """A passage with what a citation of it needs."""
    document = result["document"]
    return Document(
        id=f"{document['id']}/{result['chunk']}",
        page_content=result["text"],
        metadata={
            "source": document["url"],
            "title": document["title"],
            "headings": result["heading_path"],
            "page": result["page"],
            "score": result["score"],
            "collection": result["collection"]["slug"],
            "gap": document["gap"],  # what of the document is not searchable
            "not_current": document["currency"]["label"],  # say it if you quote; empty if it is
        },
    )
