"""What the MCP tools return: read as their caller, and shaped. Synchronous."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin
from uuid import UUID

from django.db.models import Count, Q
from django.http import HttpRequest
from django.utils.html import strip_tags
from django.utils.translation import gettext as _
from pydantic import BaseModel, Field

from common.accounts import quotas
from ingestion.document_dates import DateKind, DocumentDate, date_of_version
from ingestion.documents import completeness, currency
from ingestion.models import Collection, Document
from ingestion.models.visibility import Viewer, open_to
from search import pipeline
from search.analytics.models import SearchEvent
from search.analytics.recording import new_search_id, record_search
from search.answers.as_json import passage_url
from search.answers.checking.conflicts import differ
from search.answers.domain import CONFIDENCE, NOT_SUPPORTED, Answered, Passage
from search.domain import EvidenceLevel
from search.errors import SearchError
from search.presentation.document_text import MAX_ORDINAL, section_around, whole_text
from search.presentation.notices import unreadable_notes
from search.presentation.rectangles import Rectangles, rectangles_of
from search.presentation.results import Result, trail
from search.retrieval import Filters


class ItemDate(BaseModel):
    value: str = Field(description="A day, a month or a year: 2026-03-01, 2026-03 or 2026.")
    kind: DateKind = Field(description="document: its own; added: of its upload, it states none.")


class FoundItem(BaseModel):
    id: str
    title: str
    url: str
    snippet: str = Field(description="One line of the passage.")
    date: ItemDate | None


class Found(BaseModel):
    results: list[FoundItem]
    evidence: EvidenceLevel = Field(description="none: nothing here seems to answer.")
    confidence: float | None = Field(description="That the results answer, from 0 to 1.")


class Fetched(BaseModel):
    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


class CollectionItem(BaseModel):
    name: str
    slug: str = Field(description="For the argument `collection` of the other tools.")
    description: str
    documents: int


class Collections(BaseModel):
    collections: list[CollectionItem]


class SourceItem(BaseModel):
    number: int = Field(description="The text cites it as [number].")
    id: str = Field(description="For `fetch`.")
    title: str
    url: str
    collection: str
    page: int | None
    cited: bool
    date: ItemDate | None
    not_current: str = Field(description="Empty if its document is current; say it if you quote.")
    text: str
    rectangles: list[dict[str, Any]] | None = Field(
        default=None,
        description="If asked for: page and boxes (left, top, right, bottom, 0 to 1) of its lines.",
    )


class Unsupported(BaseModel):
    text: str
    reasons: list[str]


class AnswerItem(BaseModel):
    text: str = Field(description="Markdown with citations such as [1].")
    state: str = Field(description="done, or refused if nothing readable seems to answer.")
    evidence: EvidenceLevel = Field(description="How well the sources bear it out.")
    confidence: float | None = Field(description=CONFIDENCE)
    sources: list[SourceItem]
    unsupported: list[Unsupported] = Field(
        description="Sentences that the cited passages do not bear out, with the reasons."
    )
    model: str = Field(description="Empty if the answer consists of quotes.")
    notes: list[str]
    degraded: list[str]


# The most characters of a document in one response, some 25,000 tokens: what agents' contexts hold.
MAX_TEXT_CHARS = 100_000
MOST_NAMED = 20  # collections, in an error


@dataclass(frozen=True, slots=True)
class Caller:
    """The user of a call, None if anonymous, their request if any, and the site's address."""

    viewer: Viewer
    base: str
    request: HttpRequest | None = None

    def url(self, path: str) -> str:
        """The absolute URL of a path of this site."""
        return urljoin(self.base, path)


class NotFound(SearchError):
    """The document is missing or hidden from the caller, with the same sentence for both."""

    code = "not_found"


def search(
    query: str, caller: Caller, collection: str = "", abstain_below: float | None = None
) -> Found:
    """The ten best results, one for each document; none below a confidence of `abstain_below`.

    Raises NotFound for an unknown collection.
    """
    quotas.spend(caller.viewer, quotas.SEARCHES)
    response = pipeline.search(query, viewer=caller.viewer, filters=filters(collection, caller))
    named = response.query.filters.collections
    if unreadable := next(unreadable_notes(Filters(), named, caller.viewer), None):
        raise NotFound(unreadable)
    if caller.request is not None:
        search_id = new_search_id(caller.request, response)
        record_search(caller.request, response, search_id, channel=SearchEvent.Channel.MCP)
    response = response.abstaining(abstain_below)
    return Found(
        results=[_found(each, caller) for result in response.results for each in _editions(result)],
        evidence=response.evidence,
        confidence=response.confidence,
    )


def _editions(result: Result) -> Iterator[Result]:
    """The result, and the documents folded under it that differ from its text in a figure."""
    yield result
    yield from (copy for copy in result.copies if differ(result.text, copy.text))


def _found(result: Result, caller: Caller) -> FoundItem:
    snippet = " ".join(html.unescape(strip_tags(result.snippet)).split())
    return FoundItem(
        id=item_id(result),
        title=_title(result),
        url=caller.url(result.address),
        snippet=snippet,
        date=_date(result.date),
    )


def _date(date: DocumentDate | None) -> ItemDate | None:
    return ItemDate(value=date.value, kind=date.kind) if date else None


def filters(collection: str, caller: Caller) -> Filters:
    """The filter of a collection's slug; of none if it is empty. Raises NotFound."""
    slugs = Collection.objects.visible_to(caller.viewer).values_list("slug", flat=True)
    if collection and collection not in (readable := sorted(slugs)):
        names = {"slug": collection[:80], "slugs": ", ".join(readable[:MOST_NAMED]) or "none"}
        text = _("There is no collection “%(slug)s” that you may read. There are: %(slugs)s.")
        raise NotFound(text % names)
    return Filters(collections=(collection,) if collection else ())


def fetch(item: str, caller: Caller) -> Fetched:
    """The section around a passage, or a whole document. Raises NotFound."""
    document, ordinal = _document(item, caller)
    if ordinal is None:
        return _whole(document, caller)
    return _section(document, ordinal, item.strip().partition("#")[2], caller)


def list_collections(caller: Caller) -> Collections:
    """The collections that the caller may read, with the number of their searchable documents."""
    searchable = Q(documents__deleted_at=None, documents__current__isnull=False)
    counted = Count("documents", searchable & open_to(caller.viewer, "documents__"))
    rows: Any = Collection.objects.visible_to(caller.viewer).annotate(searchable=counted)
    values = rows.order_by("name").values("name", "slug", "description", "searchable")
    return Collections(
        collections=[CollectionItem(documents=row.pop("searchable"), **row) for row in values]
    )


def answered(answer: Answered, caller: Caller, *, rectangles: bool = False) -> AnswerItem:
    """The answer in the tool's shape; with `rectangles`, its sources have their places on pages."""
    passages = answer.context.passages if rectangles else ()
    spans = {passage.number: (passage.chunk_ids, "") for passage in passages}
    places = rectangles_of(spans, viewer=caller.viewer) if spans else {}
    return AnswerItem(
        text=answer.text,
        state=answer.state.value,
        evidence=answer.evidence,
        confidence=answer.confidence,
        sources=[
            _source(each, answer, caller, places.get(each.number))
            for each in answer.context.passages
        ],
        unsupported=[
            Unsupported(text=each.text, reasons=list(each.reasons))
            for each in answer.sentences
            if each.verdict in NOT_SUPPORTED
        ],
        model=answer.model,
        notes=list(answer.notes),
        degraded=list(answer.degraded),
    )


def item_id(result: Result) -> str:
    """The id of a result: its document's public id, its passage's ordinal, and the anchor of the
    section that matched if that begins within the passage.
    """
    section = result.section
    anchor = f"#{section.anchor}" if section is not None and section.begins else ""
    return f"{result.document_id}:{result.chunk}{anchor}"


def _document(item: str, caller: Caller) -> tuple[Document, int | None]:
    """The document that an id names, and the passage's ordinal if it names one."""
    public_id, _colon, ordinal = item.strip().partition("#")[0].partition(":")
    missing = NotFound(
        _("There is no document with the id %(id)s. Use an id that `search` returned.")
        % {"id": repr(item[:80])}
    )
    try:
        document_id = UUID(public_id)
        number = int(ordinal) if ordinal else None
    except ValueError:
        raise missing from None
    documents = Document.objects.visible_to(caller.viewer).select_related("current", "collection")
    documents = documents.defer("title_terms", "current__text")
    document = documents.filter(public_id=document_id, current__isnull=False).first()
    if document is None or (number is not None and not 0 <= number <= MAX_ORDINAL):
        raise missing
    return document, number


def _section(document: Document, ordinal: int, anchor: str, caller: Caller) -> Fetched:
    around = section_around(document, ordinal, viewer=caller.viewer)
    if around is None:
        raise NotFound(
            _("The document has no passage %(number)s now. Fetch the whole of it: %(id)s")
            % {"number": ordinal, "id": document.public_id}
        )
    metadata = {
        "headings": " > ".join(around.section.path),
        "page": "" if around.page is None else str(around.page),
        "passages": f"{around.section.first}-{around.section.last}",
        "whole_section": "yes" if around.section.is_whole else "no",
    }
    item, fragment = f"{document.public_id}:{ordinal}", f"chunk-{ordinal}"
    if matched := next((each for each in around.names if each.anchor == anchor != ""), None):
        metadata["section"] = " > ".join(matched.path)
        item, fragment = f"{item}#{anchor}", f"section-{anchor}"
    url = f"{document.get_absolute_url()}?chunk={ordinal}#{fragment}"
    return _fetched(item, document, around.text, url, metadata, caller)


def _whole(document: Document, caller: Caller) -> Fetched:
    text = whole_text(document, viewer=caller.viewer, most=MAX_TEXT_CHARS)
    is_cut = len(text) > MAX_TEXT_CHARS
    metadata = {"truncated": "yes"} if is_cut else {}
    url = document.get_absolute_url()
    item = str(document.public_id)
    return _fetched(item, document, text[:MAX_TEXT_CHARS], url, metadata, caller)


def _fetched(
    item: str, document: Document, text: str, url: str, metadata: dict[str, str], caller: Caller
) -> Fetched:
    state = currency.currency_of(document, caller.viewer)
    date = date_of_version(document, document.current)
    common = {
        "document": str(document.public_id),
        "collection": document.collection.name,
        "language": document.language,
        "date": date.value,
        "date_kind": date.kind.value,
        "gap": completeness.note(document.current.completeness) if document.current else "",
        "not_current": currency.label(state, title=True),
        "successor": state.successor,
    }
    values = {name: value for name, value in (common | metadata).items() if value}
    return Fetched(id=item, title=document.title, text=text, url=caller.url(url), metadata=values)


def _source(
    passage: Passage, answer: Answered, caller: Caller, rectangles: Rectangles | None
) -> SourceItem:
    return SourceItem(
        number=passage.number,
        id=f"{passage.document_id}:{passage.ordinal}",
        title=passage.title,
        url=caller.url(passage_url(passage)),
        collection=passage.collection,
        page=passage.page,
        cited=passage.number in answer.cited,
        date=_date(passage.date),
        not_current=currency.label(passage.currency, title=True),
        text=passage.text,
        rectangles=rectangles,
    )


def _title(result: Result) -> str:
    """The document's title, the heading of the section that matched, and a note if it is not
    current.
    """
    title = f"{result.title} - {result.heading}" if trail(result) else result.title
    stale = currency.label(result.currency, title=True)
    return f"{title} ({stale})" if stale else title
