"""Q7: hits -> what is shown, in one query through the same door as the search itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import F
from django.db.models.expressions import RawSQL
from django.utils.safestring import SafeString

from ingestion.models import Chunk
from ingestion.models.library import Viewer
from search.domain import Hit, TermStatistic
from search.marking import marked
from search.ranking.grouping import Group
from search.snippets import SNIPPET_CHARS, snippet

# How many passages of the same document, and how many other documents, a result shows of those
# folded under it, and how much of each: guesses. The rest are counted.
SHOWN_FOLDED = 3
FOLDED_CHARS = 160


@dataclass(frozen=True, slots=True)
class Result:
    """A group's best hit with what a reader sees of it. `snippet` is escaped HTML with <mark>.

    `folded` are the best passages of the same document that are folded under it, `copies` the
    best other documents with nearly the same text, one passage each; both in the ranking's order.
    """

    group: Group
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
    folded: tuple[Result, ...] = ()
    copies: tuple[Result, ...] = ()

    @property
    def hit(self) -> Hit:
        return self.group.best

    @property
    def folded_count(self) -> int:
        """How many passages are folded under this one, of its document and of others."""
        return len(self.group.folded) + len(self.group.copies)

    @property
    def further_copies(self) -> int:
        """How many documents with nearly the same text `copies` leaves out."""
        documents = {hit.candidate.document_id for hit in self.group.copies}
        return len(documents) - len(self.copies)


def results_for(
    groups: Sequence[Group], *, viewer: Viewer, terms: Sequence[TermStatistic]
) -> tuple[Result, ...]:
    """The results of `groups` in their order, what is folded with them.

    A chunk deleted since it was ranked is left out; its group too, where it was the best.
    """
    if not groups:
        return ()
    shown = [_shown(group) for group in groups]
    hits = [hit for parts in shown for hit in (parts.best, *parts.folded, *parts.copies)]
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
    return tuple(
        replace(
            best,
            folded=tuple(_results(map(Group, parts.folded), by_id, FOLDED_CHARS)),
            copies=tuple(_results(map(Group, parts.copies), by_id, FOLDED_CHARS)),
        )
        for group, parts in zip(groups, shown, strict=True)
        for best in _results([group], by_id, SNIPPET_CHARS)
    )


def _shown(group: Group) -> Group:
    """What a result shows of a group: the best of each kind, of the copies one a document."""
    documents = {hit.candidate.document_id: hit for hit in reversed(group.copies)}
    copies = sorted(documents.values(), key=lambda hit: hit.rank)
    return Group(group.best, group.folded[:SHOWN_FOLDED], tuple(copies[:SHOWN_FOLDED]))


def _results(
    groups: Iterable[Group], rows: Mapping[int, Mapping[str, Any]], chars: int
) -> Iterator[Result]:
    for group in groups:
        row = rows.get(group.best.candidate.chunk_id)
        if row is not None:
            yield _result(group, row, chars)


def _result(group: Group, row: Mapping[str, Any], chars: int) -> Result:
    return Result(
        group=group,
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
        snippet=snippet(str(row["marked"]), chars),
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
