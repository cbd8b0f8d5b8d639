"""Mixins for ModelAdmin: pages and buttons of their own, read-only and visible rows, versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from django.contrib import admin, messages
from django.contrib.admin.sites import AdminSite
from django.contrib.admin.utils import model_ngettext
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST
from unfold.decorators import display

from common import UserError
from common.accounts.models import User

Summary = tuple[list[Any], dict[str, int], set[str], list[Any]]


class VisibleOnly:
    """Restrict a ModelAdmin (lists, pages, history, autocomplete) by `visible_to`."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        queryset = super().get_queryset(request)  # type: ignore[misc]
        return queryset.visible_to(request.user)  # type: ignore[no-any-return]


class ViewersForm:
    """A ModelAdmin mixin whose form has the user as `viewer`, and offers what they may read."""

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        form = super().get_form(request, *args, **kwargs)  # type: ignore[misc]
        return type(form.__name__, (form,), {"viewer": request.user})

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        rows: Any = getattr(db_field.related_model, "objects", None)
        if hasattr(rows, "visible_to"):
            kwargs["queryset"] = rows.visible_to(request.user)  # titles of others are hidden
        return super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[misc]


def actor(request: HttpRequest) -> User:
    """The signed-in user; the admin admits no others."""
    return cast("User", request.user)


class AuditedByServices:
    """A ModelAdmin mixin for changes through services, which write the audit rows."""

    def log_addition(self, request: HttpRequest, *args: Any) -> None:
        """Do nothing."""

    log_change = log_deletions = log_addition


def deletion_summary(
    objects: Sequence[Model], counts: Iterable[tuple[type[Model], int]], perms_needed: set[str]
) -> Summary:
    """The content of a confirmation page: the objects, and the number of dependent rows.

    Django's own collector would load every chunk and embedding to list them.
    """
    totals = {str(model_ngettext(model._meta, 2)): count for model, count in counts if count}
    return [str(one) for one in objects], totals, perms_needed, []


def state_column(labels: Mapping[Any, str]) -> Any:
    """A list's column of the rows' states in words, coloured as `labels` says."""

    @display(description=_("state"), ordering="state", label=labels)
    def state_label(_admin: Any, row: Any) -> tuple[str, str]:
        return row.state, row.get_state_display()

    return state_label


def moment_column(field: str, description: Any) -> Any:
    """A list's column of a date and time, to the minute; "-" for none."""

    @admin.display(description=description, ordering=field)
    def moment(_admin: Any, row: Any) -> str:
        at = getattr(row, field)
        return f"{timezone.localtime(at):%Y-%m-%d %H:%M}" if at else "-"

    return moment


Row = TypeVar("Row", bound=Model)
View = Callable[..., HttpResponseBase]
Method = TypeVar("Method", bound=View)


def own_page(route: str, *, posts: bool = False) -> Callable[[Method], Method]:
    """Declare a method of an OwnPages as a page at `route`, which with `posts` takes POST alone.

    Its URL is named like Django's own (ingestion_document_retry), after the method without `_view`.
    """

    def declared(method: Method) -> Method:
        method.__dict__.update(route=route, posts=posts)
        return method

    return declared


class OwnPages(Generic[Row]):
    """A ModelAdmin mixin for pages and buttons (`own_page`), whose services raise UserError."""

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

        def get_queryset(self, request: HttpRequest) -> Any: ...
        def get_changelist_instance(self, request: HttpRequest) -> Any: ...

    def get_urls(self) -> list[URLPattern]:
        declared = (getattr(type(self), name) for name in dir(type(self)))
        own = [self._url(method) for method in declared if hasattr(method, "route")]
        return [*own, *super().get_urls()]  # type: ignore[misc]

    def _url(self, method: Any) -> URLPattern:
        bound = partial(method, self)
        view = update_wrapper(require_POST(bound) if method.posts else bound, method)
        name = f"{self.opts.app_label}_{self.opts.model_name}_{method.__name__[: -len('_view')]}"
        return cast("URLPattern", path(method.route, self.admin_site.admin_view(view), name=name))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        context = {**self.list_context(request), **(extra_context or {})}
        return super().changelist_view(request, context)  # type: ignore[misc, no-any-return]

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """The template context of the list, in addition to Django's."""
        return {}

    def seen(self, request: HttpRequest, pk: int, permission: str = "") -> Row:
        """The row, if the user may see it; 404 if not, 403 without `permission`, if given."""
        row = self.get_object(request, str(pk))
        if row is None or not self.has_view_permission(request, row):
            raise Http404
        if permission and not request.user.has_perm(permission):
            raise PermissionDenied
        return row

    def changeable(self, request: HttpRequest, pk: int) -> Row:
        """The row, if the user may change it; 404 if it is not visible, 403 if it is read-only."""
        row = self.get_object(request, str(pk))
        if row is None:
            raise Http404
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        return row

    def tried_form(self, request: HttpRequest) -> Any:
        """The posted form of a row, for a trial before it is saved.

        Raises PermissionDenied if the user may not save the row.
        """
        pk = request.POST.get("row", "")
        row = self.get_object(request, pk) if pk.isdecimal() else None
        may = self.has_change_permission(request, row) if row else self.has_add_permission(request)
        if not may or request.method != "POST":
            raise PermissionDenied
        return self.get_form(request, row, change=row is not None)(request.POST, instance=row)

    def page_context(self, request: HttpRequest, title: str) -> dict[str, Any]:
        """The template context of the admin's frame. With `opts` it would not show the title."""
        return {**self.admin_site.each_context(request), "model_admin": self, "title": title}

    def page(
        self, request: HttpRequest, template: str, title: str, context: Mapping[str, Any]
    ) -> TemplateResponse:
        """A page in the admin's frame; `template` is below admin/."""
        frame = self.page_context(request, title)
        return TemplateResponse(request, f"admin/{template}", {**frame, **context})

    def attempt(self, request: HttpRequest, act: Callable[[], object]) -> bool:
        """Run `act` and show its text, if any, or its UserError; return whether it succeeded."""
        try:
            text = act()
        except UserError as error:
            self.message_user(request, str(error), messages.ERROR)
            return False
        if text:
            self.message_user(request, text, messages.SUCCESS)
        return True

    def acted(
        self, request: HttpRequest, pk: int, act: Callable[[Row], object], *, permission: str
    ) -> HttpResponse:
        """Run a button's action on a row, and redirect to its page; `act` as for `attempt`."""
        row = self.seen(request, pk, permission)
        if request.method == "POST":
            self.attempt(request, partial(act, row))
        return self.back_to(row.pk)

    def back_to(self, pk: int) -> HttpResponse:
        """A redirect to Django's page of the row."""
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", pk)


class PanelPages(OwnPages[Row]):
    """A ModelAdmin mixin that adds the context of the panels to a row's page."""

    def panel(self, request: HttpRequest, row: Row) -> dict[str, Any]:
        """The context of the panels around the form."""
        raise NotImplementedError

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        panel = {} if row is None else self.panel(request, row)
        context = {**panel, **(extra_context or {})}
        return super().change_view(request, object_id, form_url, context)  # type: ignore[misc, no-any-return]


class FixedRows:
    """A ModelAdmin mixin for rows that nobody adds or deletes in the admin."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class OneRow(FixedRows):
    """A ModelAdmin mixin for a table of one row: its list is the page of that row."""

    if TYPE_CHECKING:
        opts: Any
        has_view_or_change_permission: Callable[..., bool]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", 1)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> str:
        """Each changed setting with its value before and after: the history is read to go back."""
        return "; ".join(
            f"{form.fields[name].label}: {form.initial[name]} → {value}"
            for name, value in form.cleaned_data.items()
            if value != form.initial[name]
        )


class ReadOnly(FixedRows):
    """A ModelAdmin mixin for rows that only services write."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class TextKeys:
    """A ModelAdmin mixin for keys that are texts: Postgres refuses to compare them with NUL."""

    def get_object(self, request: HttpRequest, object_id: str, *field: Any) -> Any:
        return None if "\0" in object_id else super().get_object(request, object_id, *field)  # type: ignore[misc]


def become(row: Model, saved: Model) -> None:
    """Turn `row`, which the admin continues to use, into the row `saved` by a service."""
    row.pk = saved.pk
    row._state.adding = False
    row.refresh_from_db()


def whole_number(value: object) -> int:
    """The non-negative integer in `value`; -1, which matches no row, for anything else."""
    return int(str(value)) if str(value).isdecimal() else -1


def urls(site: AdminSite, root: str, pages: Mapping[str, tuple[View, str]]) -> list[URLPattern]:
    """URL patterns of pages that belong to no model, below `root`."""
    return [path(root + at, site.admin_view(view), name=name) for at, (view, name) in pages.items()]
