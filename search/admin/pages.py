"""Pages of search in the admin besides Django's own, and what their buttons do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.contrib.admin.sites import AdminSite
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path

from ingestion.admin.pages import OwnPages, Row
from search.errors import SearchError

View = Callable[..., HttpResponse]


class ReadOnly:
    """For a ModelAdmin whose rows are written by services alone."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ActionPages(OwnPages[Row]):
    """For a ModelAdmin with own pages and buttons, whose services raise a SearchError."""

    def seen(self, request: HttpRequest, pk: int | str) -> Row:
        """The row, for who may see it. Raises Http404."""
        row = self.get_object(request, str(pk))
        if row is None or not self.has_view_permission(request, row):
            raise Http404
        return row

    def shown(
        self, request: HttpRequest, template: str, title: str, context: Mapping[str, Any]
    ) -> TemplateResponse:
        """A page in the admin's frame; `template` is below admin/search/."""
        frame = {**self.admin_site.each_context(request), "opts": self.opts, "title": title}
        return TemplateResponse(request, f"admin/search/{template}", {**frame, **context})

    def acted(
        self,
        request: HttpRequest,
        pk: int,
        act: Callable[[Row], str],
        *,
        permission: str,
        failure: int = messages.ERROR,
    ) -> HttpResponse:
        """Does what a button of the row's page asks, and goes back there.

        What `act` returns is told, and what a service says against it.
        """
        row = self.seen(request, pk)
        if not request.user.has_perm(permission):
            raise PermissionDenied
        if request.method == "POST":
            try:
                self.message_user(request, act(row), messages.SUCCESS)
            except SearchError as error:
                self.message_user(request, str(error), failure)
        return self.back_to(row.pk)


def become(row: Model, saved: Model) -> None:
    """Makes `row`, with which the admin goes on, the one that a service has written."""
    row.pk = saved.pk
    row._state.adding = False
    row.refresh_from_db()


def whole_number(value: object) -> int:
    """The whole number; -1, which names nothing, for anything else."""
    return int(str(value)) if str(value).isdecimal() else -1


def install(site: AdminSite, root: str, pages: Mapping[str, tuple[View, str]]) -> None:
    """Puts pages that are no model's among the site's: below `root`, by their addresses."""
    inherited = site.get_urls
    site.get_urls = lambda: [  # type: ignore[method-assign]
        *(path(root + at, site.admin_view(view), name=name) for at, (view, name) in pages.items()),
        *inherited(),
    ]
