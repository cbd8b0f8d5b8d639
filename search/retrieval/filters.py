"""Where a question may look: what the viewer may read, narrowed by filters.

Filters only ever take chunks away.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Self

from django.db.models import QuerySet

from ingestion.models import Chunk, Collection
from ingestion.models.library import Viewer


@dataclass(frozen=True, slots=True)
class Filters:
    """Empty fields filter nothing. `after` and `before` are inclusive days of the document's date.

    `collections` are slugs, `media_types` exact media types, `languages` ISO 639-1 codes.
    """

    collections: tuple[str, ...] = ()
    media_types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    after: date | None = None
    before: date | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """The chunks that a question may find, and the collections that its statistics come from."""

    chunks: QuerySet[Chunk]
    collections: QuerySet[Collection]

    @classmethod
    def of(cls, viewer: Viewer, filters: Filters) -> Self:
        """Everything `viewer` may read that the filters leave; an unknown value leaves nothing."""
        chunks = Chunk.objects.visible_to(viewer, collections=filters.collections)
        collections = Collection.objects.visible_to(viewer)
        if filters.collections:
            collections = collections.filter(slug__in=filters.collections)
        if filters.media_types:
            chunks = chunks.filter(version__media_type__in=filters.media_types)
        if filters.languages:
            chunks = chunks.filter(document__language__in=filters.languages)
        if filters.after:
            chunks = chunks.filter(document__created__date__gte=filters.after)
        if filters.before:
            chunks = chunks.filter(document__created__date__lte=filters.before)
        return cls(chunks, collections)
