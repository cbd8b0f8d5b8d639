"""Q7: results as readers see them, and the labels of signals, classes and measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db.models import F
from django.db.models.expressions import RawSQL
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.models import Chunk
from ingestion.models.library import Viewer
from search.domain import (
    Classification,
    Hit,
    KeywordScorer,
    Query,
    QueryClass,
    Signal,
    TermStatistic,
)
from search.presentation.snippets import SNIPPET_CHARS, marked, snippet
from search.query.rule_classifier import FALLBACK_RULE
from search.ranking.grouping import Group

# The maximum of folded passages, and of copies, shown under a result, and the characters of each:
# guesses. The rest are counted.
SHOWN_FOLDED = 3
FOLDED_CHARS = 160
Rows = dict[int, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Result:
    """A group's best hit with its displayed fields. `snippet` is escaped HTML with <mark>.

    `folded` are the best other passages of the same document, `copies` the best
    near-duplicates from other documents, one passage each; both in the ranking's order.
    `is_edited`: the text was edited by hand; `note` is the editor's, for staff only.
    `metadata` is the document's.
    """

    group: Group[Hit]
    document_id: str
    chunk: int
    title: str
    heading_path: tuple[str, ...]
    page: int | None
    collection_id: int
    collection: str
    collection_slug: str
    media_type: str
    file_name: str
    language: str
    created: datetime
    text: str
    snippet: SafeString
    is_edited: bool = False
    note: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    folded: tuple[Result, ...] = ()
    copies: tuple[Result, ...] = ()

    @property
    def hit(self) -> Hit:
        return self.group.best

    @property
    def folded_count(self) -> int:
        """The number of passages folded under this one, of its document and of others."""
        return len(self.group.folded) + len(self.group.copies)

    @property
    def further_copies(self) -> int:
        """The number of documents with near-duplicates that `copies` omits."""
        documents = {hit.document_id for hit in self.group.copies}
        return len(documents) - len(self.copies)


def results_for(
    groups: Sequence[Group[Hit]],
    *,
    viewer: Viewer,
    terms: Sequence[TermStatistic],
    held: Rows | None = None,
) -> tuple[Result, ...]:
    """The results of `groups` in their order, with their folded passages.

    A chunk deleted since it was ranked is omitted, with its group if it was the best. `held`
    caches rows by chunk for the same viewer and terms; new rows are added to it.
    """
    if not groups:
        return ()
    shown = [_shown(group) for group in groups]
    hits = [hit for parts in shown for hit in (parts.best, *parts.folded, *parts.copies)]
    by_id = {} if held is None else held
    missing = {hit.chunk_id for hit in hits} - by_id.keys()
    if missing:
        by_id.update(_read(missing, viewer, terms))
    return tuple(
        replace(
            best,
            folded=tuple(_results(map(Group, parts.folded), by_id, FOLDED_CHARS)),
            copies=tuple(_results(map(Group, parts.copies), by_id, FOLDED_CHARS)),
        )
        for group, parts in zip(groups, shown, strict=True)
        for best in _results([group], by_id, SNIPPET_CHARS)
    )


def _read(chunks: Iterable[int], viewer: Viewer, terms: Sequence[TermStatistic]) -> Rows:
    """The displayed columns of the chunks that the viewer may read, by chunk."""
    rows = (
        Chunk.objects.visible_to(viewer)
        .filter(pk__in=list(chunks))
        .annotate(marked=_marked(terms))
        .values(
            "pk", "ordinal", "text", "marked", "heading_path", "page", "document__language",
            "document__public_id", "document__title", "document__created", "document__metadata",
            "collection_id", "collection__name", "collection__slug",
            "version__media_type", "version__file_name", "original", *_for_staff(viewer),
        )
    )  # fmt: skip
    return {row["pk"]: row for row in rows}


def _shown(group: Group[Hit]) -> Group[Hit]:
    """The part of a group that a result shows: the best of each kind, one copy per document."""
    documents = {hit.document_id: hit for hit in reversed(group.copies)}
    copies = sorted(documents.values(), key=lambda hit: hit.rank)
    return Group(group.best, group.folded[:SHOWN_FOLDED], tuple(copies[:SHOWN_FOLDED]))


def _results(
    groups: Iterable[Group[Hit]], rows: Mapping[int, Mapping[str, Any]], chars: int
) -> Iterator[Result]:
    for group in groups:
        row = rows.get(group.best.chunk_id)
        if row is not None:
            yield _result(group, row, chars)


def _result(group: Group[Hit], row: Mapping[str, Any], chars: int) -> Result:
    return Result(
        group=group,
        document_id=str(row["document__public_id"]),
        chunk=row["ordinal"],
        title=row["document__title"],
        heading_path=tuple(row["heading_path"]),
        page=row["page"],
        collection_id=row["collection_id"],
        collection=row["collection__name"],
        collection_slug=row["collection__slug"],
        media_type=row["version__media_type"],
        file_name=row["version__file_name"],
        language=row["document__language"],
        created=row["document__created"],
        text=row["text"],
        snippet=snippet(str(row["marked"]), chars),
        is_edited=bool(row["original"]),
        note=row.get("edit__note") or "",
        metadata=row["document__metadata"],
    )


def _for_staff(viewer: Viewer) -> tuple[str, ...]:
    """The columns that only staff see."""
    return ("edit__note",) if viewer is not None and getattr(viewer, "is_staff", False) else ()


def _marked(terms: Sequence[TermStatistic]) -> F | RawSQL:
    """The chunk's text with the query's words marked, under the chunk's own configuration."""
    if not terms:
        return F("text")
    question = " | ".join(_quoted(term.lexeme) for term in terms)
    return marked("%s::tsquery", question)


def _quoted(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


# Lazily translated: they become strings when rendered.
SIGNAL_LABELS: dict[Signal, Any] = {
    Signal.VECTOR: _("Meaning"),
    Signal.KEYWORD: _("Keywords"),
    Signal.TITLE: _("Title"),
    Signal.RECENCY: _("Recency"),
    Signal.SYNONYM: _("Synonyms"),
}
CLASS_LABELS: dict[QueryClass, Any] = {
    QueryClass.LOOKUP: _("Lookup"),
    QueryClass.CONCEPT: _("Concept"),
    QueryClass.CODE: _("Code"),
    QueryClass.DEBUG: _("Debugging"),
    QueryClass.COMPARISON: _("Comparison"),
    QueryClass.GENERAL: _("General question"),
}
SCORER_LABELS: dict[KeywordScorer, Any] = {
    KeywordScorer.BM25: "BM25",
    KeywordScorer.BM25_FIXED: _("BM25 without idf"),
    KeywordScorer.TS_RANK: "ts_rank",
    KeywordScorer.TS_RANK_CD: "ts_rank_cd",
    KeywordScorer.OVERLAP: _("share of matched words"),
}
MEASURE_LABELS = {
    "nDCG@10": "nDCG@10",
    "RR@10": "MRR",
    "R@10": "Recall@10",
    "P@5": "P@5",
    "Success@1": "Hit@1",
}
# The segment of a bar for terms added to the signals: feedback, boosts.
ADDED = "added"


def rule_text(classification: Classification) -> str:
    """The rule that decided the class, as text."""
    if classification.rule == FALLBACK_RULE:
        return gettext("no rule matched")
    return gettext("rule: %(name)s") % {"name": classification.rule}


def tier_reason(hit: Hit, query: Query) -> str:
    """The reason for a hit's tier, with its identifier as typed; empty if it has none."""
    reason = hit.explanation.tier.reason
    match = hit.candidate.identifier
    if not reason or match is None:
        return reason
    for identifier in query.identifiers:
        if match.form in dict(identifier.forms):
            return reason.replace(match.form, identifier.text)
    return reason


def trail(result: Result) -> tuple[str, ...]:
    """The headings above a passage, without one that repeats the document's title."""
    path = result.heading_path
    repeats = bool(path) and path[0].casefold() == result.title.casefold()
    return path[1:] if repeats else path


def measure_label(name: str) -> str:
    """The common name of a measure."""
    return MEASURE_LABELS.get(name, name)
