"""Pages and buttons that a ModelAdmin has besides Django's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, path

Row = TypeVar("Row", bound=Model)


class OwnPages(Generic[Row]):
    """For a ModelAdmin: the address of an own page, its row, and the way back to Django's page."""

    if TYPE_CHECKING:
        admin_site: Any
        opts: Any
        media: Any
        get_form: Callable[..., Any]
        get_object: Callable[[HttpRequest, str], Row | None]
        has_add_permission: Callable[..., bool]
        has_view_permission: Callable[..., bool]
        has_change_permission: Callable[..., bool]
        message_user: Callable[..., None]

        def get_urls(self) -> list[URLPattern]: ...
        def get_queryset(self, request: HttpRequest) -> Any: ...
        def get_changelist_instance(self, request: HttpRequest) -> Any: ...

    def own_page(self, route: str, view: Callable[..., HttpResponseBase], name: str) -> URLPattern:
        """An address for members of staff, named like Django's own: ingestion_document_retry."""
        guarded = self.admin_site.admin_view(view)
        full_name = f"{self.opts.app_label}_{self.opts.model_name}_{name}"
        return cast("URLPattern", path(route, guarded, name=full_name))

    def changeable(self, request: HttpRequest, pk: int) -> Row:
        """The row, for who may change it; 404 where they see none, 403 where they only see it."""
        row = self.get_object(request, str(pk))
        if row is None:
            raise Http404
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        return row

    def tried_form(self, request: HttpRequest) -> Any:
        """The form of a row that is tried out before it is saved: the posted one, over its row.

        Raises PermissionDenied for who may not save it.
        """
        pk = request.POST.get("row", "")
        row = self.get_object(request, pk) if pk.isdecimal() else None
        may = self.has_change_permission(request, row) if row else self.has_add_permission(request)
        if not may or request.method != "POST":
            raise PermissionDenied
        return self.get_form(request, row, change=row is not None)(request.POST, instance=row)

    def page_context(self, request: HttpRequest, title: str) -> dict[str, Any]:
        """What the admin's frame needs around a page."""
        return {
            **self.admin_site.each_context(request),
            "model_admin": self,
            "title": title,
            "media": self.media,
        }

    def back_to(self, pk: int) -> HttpResponse:
        """A redirect to Django's page of the row."""
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", pk)
