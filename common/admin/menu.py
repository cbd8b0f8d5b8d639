"""The admin's menu: entries of the sidebar, the pages below them as tabs, and the search for both.

The setting ADMIN_MENU names entries and pages; django-unfold draws what the functions here return.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from django import urls
from django.conf import settings
from django.http import HttpRequest
from unfold.dataclasses import SearchResult

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

SUPERUSERS, STAFF = "superusers", "staff"
# Each page of the admin looks for itself among all pages of the menu, several times: without this,
# a quarter of a list's processor time.
reverse = cache(urls.reverse)


@dataclass(frozen=True, slots=True)
class MenuPage:
    """A page of the admin: `name` is that of its URL, or of the model that it lists.

    `right` is the model whose right to view or change opens the page (that of `name`, if empty),
    or SUPERUSERS or STAFF.
    """

    title: StrOrPromise
    name: str
    right: str = ""
    at: str = ""  # what follows in the path: the only row of a model without a list
    query: str = ""

    @property
    def path(self) -> str:
        """The path of its address."""
        url = f"{self.name.replace('.', '_')}_changelist" if "." in self.name else self.name
        return reverse(f"admin:{url}") + self.at

    @property
    def link(self) -> str:
        """Its address."""
        return f"{self.path}?{self.query}" if self.query else self.path

    def opens(self, user: Any) -> bool:
        """Whether the user may see the page."""
        if self.right in (SUPERUSERS, STAFF):
            return self.right == STAFF or bool(user.is_superuser)
        app, _, model = (self.right or self.name).partition(".")
        return any(user.has_perm(f"{app}.{right}_{model}") for right in ("view", "change"))


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A line of the sidebar, which leads to the first of its pages that the user may see."""

    title: StrOrPromise
    icon: str
    pages: Sequence[MenuPage]


def entries(user: Any) -> Iterator[tuple[MenuEntry, list[MenuPage]]]:
    """The entries with pages that the user may see, and these pages."""
    for entry in settings.ADMIN_MENU:
        if pages := [page for page in entry.pages if page.opens(user)]:
            yield entry, pages


def current(request: HttpRequest) -> tuple[MenuEntry, MenuPage, list[MenuPage]] | None:
    """The entry and the page that a request is at or below, and all pages of that entry."""
    front = reverse("admin:index")
    places = [
        (len(path), len(page.query), number, (entry, page, pages))
        for number, (entry, pages) in enumerate(entries(request.user))
        for page in pages
        if request.path.startswith(path := page.path) and (path != front or request.path == path)
        if not page.query or page.query in request.GET.urlencode().split("&")
    ]
    return max(places, key=lambda place: place[:3])[3] if places else None


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """The sidebar, as unfold's SIDEBAR takes it."""
    place = current(request)
    items = [
        {
            "title": entry.title,
            "icon": entry.icon,
            "link": pages[0].link,
            "active": bool(place and place[0] is entry),
        }
        for entry, pages in entries(request.user)
    ]
    return [{"items": items}]


def tabs(request: HttpRequest) -> list[dict[str, Any]]:
    """The tabs of a page that is itself in the menu, as unfold's TABS takes them; or none."""
    place = current(request)
    if place is None or request.path != place[1].path or len(place[2]) < 2:
        return []
    items = [
        {"title": page.title, "link": page.link, "active": page is place[1]} for page in place[2]
    ]
    return [{"page": "menu", "items": items}]


def title_at(link: str) -> StrOrPromise:
    """The title of the page in the menu with this address; empty for others."""
    pages = (page for entry in settings.ADMIN_MENU for page in entry.pages)
    return next((page.title for page in pages if page.link == link), "")


def matches(request: HttpRequest, words: str) -> list[SearchResult]:
    """The pages whose name, or whose entry's, has all these words, for unfold's search."""
    return [
        SearchResult(page.title, entry.title, page.link, entry.icon)
        for entry, pages in entries(request.user)
        for page in pages
        if all(word in f"{entry.title} {page.title}".casefold() for word in words.split())
    ]
