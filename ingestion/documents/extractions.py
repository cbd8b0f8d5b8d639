"""What parts of the site read from a document's passages and store beside them.

A part registers an extractor. Its rows are replaced in the transaction that makes the passages
searchable, so that they are always those of the searchable text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ingestion.models import Document


class Extractor(Protocol):
    """Reads the passages of a version, then stores the result within the caller's transaction."""

    def is_slow(self) -> bool:
        """Whether it asks another server, which costs seconds or money."""
        ...

    def extract(self, version_id: int, *, fast: bool = False) -> Any:
        """The result for the version's chunks; `fast`: without asking another server."""
        ...

    def store(self, document: Document, result: Any) -> None:
        """Replace the document's rows; the caller holds the transaction and the document's lock."""
        ...


Results = Mapping[int, Any]
"""The results by the extractor's place in the registry."""

_extractors: list[Extractor] = []


def register(extractor: Extractor) -> None:
    """Run the extractor for every version from now on."""
    _extractors.append(extractor)


def extract_early(version_id: int) -> Results:
    """The results that cost no more than time, for a version that may still fail."""
    quick = {at: one for at, one in enumerate(_extractors) if not one.is_slow()}
    return {at: one.extract(version_id) for at, one in quick.items()}


def extract(version_id: int, known: Results, *, fast: bool = False) -> Results:
    """All results, without asking again for the known ones."""
    return {
        at: known[at] if at in known else one.extract(version_id, fast=fast)
        for at, one in enumerate(_extractors)
    }


def store(document: Document, results: Results) -> None:
    """Store the results of the document's current version."""
    for at, result in results.items():
        _extractors[at].store(document, result)
