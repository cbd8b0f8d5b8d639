"""The library: a reader's searchable documents, without a question; orders, and pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import F, QuerySet
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from ingestion.models import Document
from search.pages.facets import type_label

PER_PAGE = 25

# The columns by the value of the parameter, each with its label and order; a hyphen reverses.
_COLUMNS: dict[str, tuple[Any, Any]] = {
    "title": (_("Title"), Lower("title")),
    "collection": (_("Collection"), Lower("collection__name")),
    "type": (_("Type"), F("current__media_type")),
    "size": (_("Size"), F("current__size")),
    "added": (_("Added"), F("created")),
}
NEWEST = "-added"
# Dates and sizes are sorted from the largest on by default, names from A on.
_LARGEST_FIRST = ("added", "size")
SORTS = tuple(sign + name for name in _COLUMNS for sign in ("", "-"))
BY_DATE = "date"  # the order of results by their documents' dates


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's heading: its label, the address that sorts by it, and how it sorts (ARIA)."""

    name: str
    label: str
    address: str
    sorts: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The documents of a page, each with its type's name, and the headings of their columns."""

    documents: tuple[tuple[Document, str], ...]
    headings: tuple[Heading, ...]
    pager: Page[Document]
    links: PageLinks


def listing(
    documents: QuerySet[Document], *, sort: str, page: int, address: Callable[..., str]
) -> Listing:
    """The page of the documents by `sort`, one of SORTS; two queries.

    `address(sort=..., page=...)` is the address of another order or page. A page beyond the last is
    the last.
    """
    rows = (
        documents.select_related("collection", "current", "parent")
        .only(
            "public_id", "title", "created", "part_path", "collection__name", "parent__title",
            "current__media_type", "current__size", "current__file_name", "current__page_count",
        )
        .order_by(*_order(sort))
    )  # fmt: skip
    pager = Paginator(rows, PER_PAGE).get_page(page)

    return Listing(
        documents=tuple((one, type_label(one.current.media_type)) for one in pager if one.current),
        headings=tuple(_heading(name, sort, address) for name in _COLUMNS),
        pager=pager,
        links=page_links(pager, address),
    )


def _order(sort: str) -> Sequence[Any]:
    """The order of the rows; of equals the newest first."""
    _label, column = _COLUMNS[sort.removeprefix("-")]
    return (column.desc() if sort.startswith("-") else column.asc(), "-created", "-pk")


def _heading(name: str, sort: str, address: Callable[..., str]) -> Heading:
    sorts = {name: "ascending", f"-{name}": "descending"}.get(sort, "")
    first, second = (f"-{name}", name) if name in _LARGEST_FIRST else (name, f"-{name}")
    following = second if sort == first else first
    sort_or_none = None if following == NEWEST else following
    return Heading(name, str(_COLUMNS[name][0]), address(sort=sort_or_none), sorts)


@dataclass(frozen=True, slots=True)
class PageLink:
    """A page of the results; without a number, a gap in the list."""

    number: int | None
    address: str = ""
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The page numbers, and the addresses of the previous and next page, empty at the ends."""

    numbers: tuple[PageLink, ...]
    previous: str
    following: str


def page_links(pager: Page[Any], address: Callable[..., str]) -> PageLinks:
    """The links of a page of a list; `address(page=n)` is the address of page n."""

    def to(number: int) -> str:
        # The first page has one address only, without a number.
        return address(page=number if number > 1 else None)

    elided = pager.paginator.get_elided_page_range(pager.number, on_ends=1)
    return PageLinks(
        numbers=tuple(
            PageLink(number, to(number), number == pager.number)
            if isinstance(number, int)
            else PageLink(None)
            for number in elided
        ),
        previous=to(pager.number - 1) if pager.has_previous() else "",
        following=to(pager.number + 1) if pager.has_next() else "",
    )
