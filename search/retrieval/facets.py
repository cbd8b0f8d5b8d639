"""Filters that parts add: keys of documents, offered beside the results with their counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from django.db.models import QuerySet

from ingestion.models import Document
from ingestion.models.visibility import Viewer

Value = tuple[str, str, int]
"""A key, its label, and the number of documents that have it."""


class Facet(Protocol):
    """A kind of keys that documents have; a subclass says which.

    `name` is the parameter of the page and the API, and `label` its name for people. `invitation`
    and `about` introduce the offered keys, `page` is the name of the page with `every` key, where
    `?about=` lists the documents of one.
    """

    name: str
    label: Any
    about: Any
    invitation: Any
    every: Any
    page: str
    too_many: Any
    help_text: str

    def documents(self, key: str) -> QuerySet[Any, Any]:
        """The ids of the documents with the key."""

    def of(self, document: Document) -> Sequence[tuple[str, str]]:
        """The document's keys with their labels, the most characteristic first."""

    def offered(
        self, documents: Sequence[int], viewer: Viewer, *, chosen: Sequence[str], most: int
    ) -> Sequence[Value]:
        """The keys to choose among these documents next, the best first; at most one query."""

    def named(self, keys: Sequence[str], viewer: Viewer) -> Sequence[Value]:
        """The keys that some readable document has, in any order; one query."""


_facets: dict[str, Facet] = {}


def register(facet: Facet) -> None:
    """Add the facet, or replace the one of its name."""
    _facets[facet.name] = facet


def installed() -> Iterator[Facet]:
    """The facets of the site's parts, in the order of registration."""
    return iter(_facets.values())


def chosen(values: Callable[[str], Iterable[str]]) -> tuple[tuple[str, str], ...]:
    """The facets' names with the chosen keys, which `values` returns by name."""
    return tuple((name, key) for name in _facets for key in values(name))


def with_key(name: str, key: str) -> QuerySet[Any, Any]:
    """The ids of the documents that have the key."""
    return _facets[name].documents(key)
