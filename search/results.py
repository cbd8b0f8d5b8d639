"""Q7: hits -> what is shown, in one query through the same door as the search itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F
from django.db.models.expressions import RawSQL
from django.utils.safestring import SafeString

from ingestion.models import Chunk
from ingestion.models.library import Viewer
from search.domain import Hit, TermStatistic
from search.marking import marked
from search.snippets import snippet


@dataclass(frozen=True, slots=True)
class Result:
    """A hit with what a reader sees of it. `snippet` is escaped HTML with <mark>."""

    hit: Hit
    document_id: str
    chunk: int
    title: str
    heading_path: tuple[str, ...]
    page: int | None
    collection: str
    collection_slug: str
    media_type: str
    file_name: str
    language: str
    created: datetime
    text: str
    snippet: SafeString


def results_for(
    hits: Sequence[Hit], *, viewer: Viewer, terms: Sequence[TermStatistic]
) -> tuple[Result, ...]:
    """The results of `hits` in their order; a chunk deleted since it was ranked is left out."""
    if not hits:
        return ()
    rows = (
        Chunk.objects.visible_to(viewer)
        .filter(pk__in=[hit.candidate.chunk_id for hit in hits])
        .annotate(marked=_marked(terms))
        .values(
            "pk", "ordinal", "text", "marked", "heading_path", "page", "document__language",
            "document__public_id", "document__title", "document__created",
            "collection__name", "collection__slug",
            "version__media_type", "version__file_name",
        )
    )  # fmt: skip
    by_id = {row["pk"]: row for row in rows}
    found = ((hit, by_id.get(hit.candidate.chunk_id)) for hit in hits)
    return tuple(_result(hit, row) for hit, row in found if row is not None)


def _result(hit: Hit, row: Mapping[str, Any]) -> Result:
    return Result(
        hit=hit,
        document_id=str(row["document__public_id"]),
        chunk=row["ordinal"],
        title=row["document__title"],
        heading_path=tuple(row["heading_path"]),
        page=row["page"],
        collection=row["collection__name"],
        collection_slug=row["collection__slug"],
        media_type=row["version__media_type"],
        file_name=row["version__file_name"],
        language=row["document__language"],
        created=row["document__created"],
        text=row["text"],
        snippet=snippet(str(row["marked"])),
    )


def _marked(terms: Sequence[TermStatistic]) -> F | RawSQL:
    """The chunk's text with the query's words marked, under the chunk's own configuration."""
    if not terms:
        return F("text")
    question = " | ".join(_quoted(term.lexeme) for term in terms)
    return marked("%s::tsquery", question)


def _quoted(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
