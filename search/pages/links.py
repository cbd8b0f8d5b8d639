"""The links between the pages of results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.core.paginator import Paginator

from search.pipeline import SearchResponse


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


def page_links(response: SearchResponse, address: Callable[..., str]) -> PageLinks:
    """The links of a page of results; `address(page=n)` is the address of page n."""
    current = response.page

    def to(number: int) -> str:
        # The first page has one address only, without a number.
        return address(page=number if number > 1 else None)

    paginator = Paginator(range(response.total), response.page_size)
    elided = paginator.get_elided_page_range(min(current, paginator.num_pages), on_ends=1)
    return PageLinks(
        numbers=tuple(
            PageLink(number, to(number), number == current)
            if isinstance(number, int)
            else PageLink(None)
            for number in elided
        ),
        previous=to(current - 1) if current > 1 else "",
        following=to(current + 1) if current < response.pages else "",
    )
