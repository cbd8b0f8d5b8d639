"""Results as readers see them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache, partial
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.urls import get_script_prefix, reverse
from django.utils.safestring import SafeString, mark_safe

from ingestion.currency_dates import Currency
from ingestion.document_dates import DocumentDate, date_of
from ingestion.documents import completeness, currency
from ingestion.domain import BlockKind
from ingestion.metadata import FOLDER
from ingestion.models.visibility import Viewer
from ingestion.parsing.page_pictures import is_deck, is_drawn
from search.domain import Group, Hit, Query, TermStatistic
from search.presentation.excerpts import excerpt, with_class
from search.presentation.passage_blocks import Layout, NamedSection, Part, matched_section, within
from search.presentation.records import NO_LOOKUP, RecordLookup, numbered_names
from search.presentation.result_rows import Rows, read_rows
from search.presentation.snippets import MARKED, SNIPPET_CHARS, mark_spans, snippet
from search.retrieval.phrases import phrase_places

_CAPTION = re.compile(r"^(?:fig(?:ure|\.)|abb(?:ildung|\.)) ?\d", re.IGNORECASE | re.MULTILINE)
_WORDS = re.compile(r"[^\W\d_]+")
# The maximum of folded passages, and of copies, shown under a result, and the characters of each:
# guesses. The rest are counted.
MAX_FOLDED = 3
MAX_SIBLINGS = 2
FOLDED_CHARS = 160
BETWEEN = " › "
NEAREST = '<mark class="nearest">'
NO_QUERY = Query("")
NO_CURRENCIES: Mapping[int, Currency] = MappingProxyType({})
_ANY = "7e57da7a-0000-4000-8000-000000000000"  # stands for any document's id in an address


def document_path(name: str, document_id: str, *more: int) -> str:
    """The path of a page of a document. `reverse` takes 70 microseconds, for each of 40 links."""
    return _path(name, get_script_prefix(), *more).replace(_ANY, document_id)


@lru_cache(maxsize=16)
def _path(name: str, prefix: str, *more: int) -> str:
    """The path of the document _ANY. `reverse` puts the server's `prefix` before it."""
    return reverse(name, args=(_ANY, *more))


@dataclass(frozen=True)
class Result:
    """A group's best hit with its displayed fields; `chars` is the length of its snippet.

    `results_of` makes the results of its group's other hits when they are first read.
    `layout` has the blocks of the text; empty if they are not known, as of a hand edit.
    `is_edited`: the text was edited by hand; `note` is the editor's, for staff only.
    `metadata` is the document's. `marked` is the whole text with its matches between MARK_START and
    MARK_END; `is_nearest`: its mark is the sentence nearest in meaning. The passage has
    `matched_words` of the `query_words` different words of the question, without stop words.
    `qualifier` is the file's name if it tells documents of one title apart. `section` is
    the one of the passage's `sections` that matched, None without headings; `lookup` has the
    question's identifiers. `completeness` is the column of its version, `currency` why its document
    is not current, None if it is; `date` is the document's own, or that of its upload.
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
    kind: str = ""
    layout: Layout = ()
    marked: str = ""
    is_nearest: bool = False
    chars: int = SNIPPET_CHARS
    matched_words: int = 0
    query_words: int = 0
    qualifier: str = ""
    sections: Sequence[Sequence[Any]] = ()
    section: NamedSection | None = None
    lookup: RecordLookup = NO_LOOKUP
    part_path: str = ""
    is_edited: bool = False
    note: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    completeness: Mapping[str, Any] | None = None
    currency: Currency | None = None
    date: DocumentDate | None = None
    results_of: Callable[[Sequence[Hit]], tuple[Result, ...]] = field(
        default=lambda _: (), repr=False, compare=False
    )

    @cached_property
    def folded(self) -> tuple[Result, ...]:
        """The best other passages of the same document, in the ranking's order."""
        return self.results_of(_shortened(self.group).folded)

    @cached_property
    def copies(self) -> tuple[Result, ...]:
        """The best near-duplicates from other documents, one passage each, in that order, too."""
        return self.results_of(_shortened(self.group).copies)

    @property
    def gap(self) -> str:
        """A short note if not all of its document is searchable; else empty."""
        return completeness.note(self.completeness)

    @property
    def currency_label(self) -> str:
        """A sentence if its document is not current; else empty."""
        return currency.label(self.currency)

    @property
    def date_label(self) -> str:
        return currency.date_label(self.date)

    @property
    def is_pictured(self) -> bool:
        """Whether the picture of its page says more than its text: a table, a figure or a slide."""
        if not (self.page and settings.PAGE_PICTURES_BYTES and is_drawn(self.media_type)):
            return False
        has_table = any(kind == BlockKind.TABLE for _, kind, *_ in self.layout)
        return is_deck(self.media_type) or has_table or bool(_CAPTION.search(self.text))

    @property
    def folder(self) -> str:
        """The path of its document's folder among the files that it was imported with; or empty."""
        folders = self.metadata.get(FOLDER)
        return str(folders[-1]) if isinstance(folders, list) and folders else ""

    @property
    def hit(self) -> Hit:
        return self.group.best

    @property
    def holds_record(self) -> bool:
        """Whether its title, the headings of its section, or its text hold what is looked up."""
        path = self.section.path if self.section else self.heading_path
        numbered = set(self.lookup.numbered)
        is_said = bool(numbered) and not numbered.isdisjoint(numbered_names(self.text))
        matches = () if self.is_nearest else MARKED.findall(self.marked)
        is_said = is_said or any(map(self.lookup.is_written_as, matches))
        return is_said or any(self.lookup.holders([(self.title, *path)], [self.text]))

    @property
    def section_text(self) -> str:
        """The marked text of the section that matched; of the passage without one."""
        return within(self.section, self.marked)[0]

    @property
    def snippet(self) -> SafeString:
        """About `chars` characters of the section that matched, as escaped HTML with <mark>.

        Made on demand: many callers show no folded passages.
        """
        html = snippet(self.section_text, self.chars)
        return mark_safe(html.replace("<mark>", NEAREST)) if self.is_nearest else html  # noqa: S308

    @property
    def heading(self) -> str:
        """The heading of the section that matched; the document's title if there is none.

        With the heading above it if it says nothing by itself.
        """
        path = (self.title, *trail(self))
        return BETWEEN.join(path[-2:]) if is_generic(path[-1]) else path[-1]

    @property
    def path(self) -> tuple[str, ...]:
        """The document's title and the headings above `heading`; empty if that is the title."""
        path = trail(self)
        return (self.title, *path[:-1]) if path else ()

    @property
    def fragment(self) -> str:
        """The end of an address: the section that matched, or the passage if it begins earlier."""
        if self.section is not None and self.section.begins:
            return f"section-{self.section.anchor}"
        return f"chunk-{self.chunk}"

    @property
    def address(self) -> str:
        """The path of the document's page at the passage."""
        path = document_path("search:document", self.document_id)
        return f"{path}?chunk={self.chunk}#{self.fragment}"

    @property
    def excerpt(self) -> tuple[Part, ...]:
        """The parts of the matched section to show: prose, and code or a table where it matched."""
        marked, layout = within(self.section, self.marked, self.layout)
        parts = excerpt(marked, self.heading_path, self.kind, layout)
        return with_class(parts, NEAREST) if self.is_nearest else parts

    def with_nearest(self, marked: str) -> Result:
        """The result with its nearest sentence marked, and the section of that."""
        section = matched_section(marked, self.heading_path, self.sections, lookup=self.lookup)
        return replace(self, marked=marked, section=section, is_nearest=True)

    @property
    def siblings(self) -> tuple[Result, ...]:
        """The best of `folded` from other sections of the document, one each, by their names."""
        seen = {self.heading, self.title}
        others = []
        for passage in self.folded:
            if passage.heading not in seen:
                seen.add(passage.heading)
                others.append(passage)
        return tuple(others[:MAX_SIBLINGS])

    @property
    def passages(self) -> int:
        """The number of its document's passages among the hits."""
        return 1 + len(self.group.folded)

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
    query: Query = NO_QUERY,
    lookup: RecordLookup = NO_LOOKUP,
    currencies: Mapping[int, Currency] = NO_CURRENCIES,
    cached: Rows | None = None,
    mark_folded: bool = False,
) -> tuple[Result, ...]:
    """The results of `groups` in their order, with their folded passages.

    A chunk deleted since it was ranked is omitted, with its group if it was the best. `cached`
    caches rows by chunk for the same viewer and terms; new rows are added to it. The words of the
    `query` that a result's passage holds are counted, and its phrases marked; `lookup` has its
    identifiers. `currencies` has the documents that are not current. Folded passages have marks
    with `mark_folded` alone: see `search.pipeline.search`.
    """
    if not groups:
        return ()
    stems = [term.lexeme for term in terms]
    passages = [_shortened(group) for group in groups]
    hits = [hit for parts in passages for hit in (parts.best, *parts.folded, *parts.copies)]
    by_id = {} if cached is None else cached
    missing = {hit.chunk_id for hit in hits} - by_id.keys()
    if missing:
        best = {parts.best.chunk_id for parts in passages}
        folded = missing - best
        # A cached row may be that of a result the next time.
        uncounted = folded if cached is None or not mark_folded else ()
        plain = () if mark_folded else folded
        text = query.text
        by_id.update(read_rows(missing, viewer, terms, text, plain=plain, uncounted=uncounted))
    others = partial(_folded, rows=by_id, stems=stems, lookup=lookup)
    results = tuple(
        _result(
            group,
            by_id[group.best.chunk_id](),
            SNIPPET_CHARS,
            stems,
            lookup,
            query,
            currency=currencies.get(group.best.document_id),
            results_of=others,
        )
        for group in groups
        if group.best.chunk_id in by_id
    )
    return _qualified(results)


def _qualified(results: Sequence[Result]) -> tuple[Result, ...]:
    """The results; documents of one title also have their files' names, where these differ."""
    names: dict[str, set[str]] = {}
    for result in results:
        names.setdefault(result.title.casefold(), set()).add(result.part_path or result.file_name)
    return tuple(
        replace(result, qualifier=result.part_path or result.file_name)
        if len(names[result.title.casefold()]) > 1
        else result
        for result in results
    )


def _shortened(group: Group[Hit]) -> Group[Hit]:
    """The displayed part of a group: the best of each kind, one copy per document."""
    documents = {hit.document_id: hit for hit in reversed(group.copies)}
    copies = sorted(documents.values(), key=lambda hit: hit.rank)
    return Group(group.best, group.folded[:MAX_FOLDED], tuple(copies[:MAX_FOLDED]))


def _folded(
    hits: Sequence[Hit], rows: Rows, stems: Sequence[str], lookup: RecordLookup
) -> tuple[Result, ...]:
    """The results of folded passages, without those deleted since they were ranked."""
    return tuple(
        _result(Group(hit), rows[hit.chunk_id](), FOLDED_CHARS, stems, lookup)
        for hit in hits
        if hit.chunk_id in rows
    )


def _result(
    group: Group[Hit],
    row: Mapping[str, Any],
    chars: int,
    stems: Sequence[str],
    lookup: RecordLookup,
    query: Query = NO_QUERY,
    **others: Any,
) -> Result:
    marked, path, sections = str(row["marked"]), row["heading_path"], row["sections"]
    # Postgres marks lexemes: of "in the view" any form of *view*, and no stop word. A reader who
    # quotes wants to see the place.
    if exact := phrase_places(row["text"], query.phrases):
        marked, stems = mark_spans(marked, exact, alone=query.is_quoted), ()
    elif lookup.leads:
        marked = mark_spans(marked, ((at, end) for _, at, end in lookup.matches(row["text"])))
    return Result(
        group=group,
        document_id=str(row["document__public_id"]),
        chunk=row["ordinal"],
        title=row["document__title"],
        heading_path=tuple(path),
        page=row["page"],
        collection_id=row["collection_id"],
        collection=row["document__collection__name"],
        collection_slug=row["document__collection__slug"],
        media_type=row["version__media_type"],
        file_name=row["version__file_name"],
        language=row["document__language"],
        created=row["document__created"],
        text=row["text"],
        kind=row["kind"],
        layout=() if row["original"] else row["layout"],
        marked=marked,
        sections=sections,
        section=matched_section(marked, path, sections, stems, lookup, row["document__title"]),
        lookup=lookup,
        chars=chars,
        matched_words=row["words"][0],
        query_words=row["words"][1],
        part_path=row["document__part_path"],
        is_edited=bool(row["original"]),
        note=row.get("edit__note") or "",
        metadata=row["document__metadata"],
        completeness=row["version__completeness"],
        date=date_of(row),
        **others,
    )


# Headings that say what kind of text follows, and not of what.
_GENERIC = frozenset(
    """
    api arguments attributes background basics caveats configuration default description details
    example examples faq functions general installation introduction limitations methods
    miscellaneous note notes options other overview parameters properties reference returns setup
    summary syntax usage warning warnings
    allgemeines beispiel beispiele beschreibung einleitung hinweis hinweise methoden parameter
    zusammenfassung überblick
    """.split()  # noqa: SIM905
)


def is_generic(heading: str) -> bool:
    """Whether a heading needs the one above it to be understood: Examples, 2. Notes."""
    words = _WORDS.findall(heading.casefold())
    return len(words) == 1 and words[0] in _GENERIC


def trail(result: Result) -> tuple[str, ...]:
    """The path of the section that matched, without a heading that repeats the document's title."""
    path = result.section.path if result.section else result.heading_path
    repeats = bool(path) and path[0].casefold() == result.title.casefold()
    return path[1:] if repeats else path
