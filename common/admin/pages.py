"""Mixins for ModelAdmin: additional pages and buttons, read-only and visible rows, versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from django.contrib import admin, messages
from django.contrib.admin.sites import AdminSite
from django.contrib.admin.utils import model_ngettext
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Case, Model, QuerySet, When
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
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
    """A ModelAdmin mixin whose form takes the user as `viewer`."""

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, *args, **kwargs)  # type: ignore[misc]

        class Form(form):  # type: ignore[misc]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, viewer=request.user, **kwargs)

        return Form


def actor(request: HttpRequest) -> User:
    """The signed-in user; the admin admits no others."""
    return cast("User", request.user)


class AuditedByServices:
    """A ModelAdmin mixin for changes through services, which write the audit rows."""

    def log_addition(self, request: HttpRequest, *args: Any) -> None:
        """Do nothing."""

    log_change = log_deletions = log_addition


def deletion_summary(
    objects: Sequence[Model], counts: Iterable[tuple[type[Model], int]], lacking: set[str]
) -> Summary:
    """The content of a confirmation page: the objects, and the number of dependent rows.

    Django's own collector would load every chunk and embedding to list them.
    """
    totals = {str(model_ngettext(model._meta, 2)): count for model, count in counts if count}
    return [str(one) for one in objects], totals, lacking, []


Row = TypeVar("Row", bound=Model)


class OwnPages(Generic[Row]):
    """A ModelAdmin mixin: URLs of additional pages, their row, and redirects to Django's page."""

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
        """A URL for staff, named like Django's own: ingestion_document_retry."""
        guarded = self.admin_site.admin_view(view)
        full_name = f"{self.opts.app_label}_{self.opts.model_name}_{name}"
        return cast("URLPattern", path(route, guarded, name=full_name))

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
        """The template context of the admin's frame."""
        return {
            **self.admin_site.each_context(request),
            "model_admin": self,
            "title": title,
            "media": self.media,
        }

    def back_to(self, pk: int) -> HttpResponse:
        """A redirect to Django's page of the row."""
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", pk)


View = Callable[..., HttpResponse]


class ReadOnly:
    """A ModelAdmin mixin for rows that only services write."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission


class ActionPages(OwnPages[Row]):
    """A ModelAdmin mixin for pages and buttons whose services raise UserError."""

    def seen(self, request: HttpRequest, pk: int | str) -> Row:
        """The row, if the user may see it. Raises Http404."""
        row = self.get_object(request, str(pk))
        if row is None or not self.has_view_permission(request, row):
            raise Http404
        return row

    def shown(
        self, request: HttpRequest, template: str, title: str, context: Mapping[str, Any]
    ) -> TemplateResponse:
        """A page in the admin's frame; `template` is below admin/."""
        frame = {**self.admin_site.each_context(request), "opts": self.opts, "title": title}
        return TemplateResponse(request, f"admin/{template}", {**frame, **context})

    def acted(
        self,
        request: HttpRequest,
        pk: int,
        act: Callable[[Row], str],
        *,
        permission: str,
        failure: int = messages.ERROR,
    ) -> HttpResponse:
        """Run a button's action on a row, and redirect to the row's page.

        The text that `act` returns, or its UserError, is shown as a message.
        """
        row = self.seen(request, pk)
        if not request.user.has_perm(permission):
            raise PermissionDenied
        if request.method == "POST":
            try:
                self.message_user(request, act(row), messages.SUCCESS)
            except UserError as error:
                self.message_user(request, str(error), failure)
        return self.back_to(row.pk)


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


STATE_LABELS = {"draft": "warning", "active": "success", "retired": ""}


class VersionPages:
    """For a model with `name`, `version`, `state` and `is_draft`, whose services write the audit.

    `audit` is the URL name of the audit's list, `never_deleted` names published versions.
    """

    audit: str
    never_deleted: Promise

    if TYPE_CHECKING:
        model: Any
        opts: Any
        get_object: Callable[..., Any]
        has_view_permission: Callable[..., bool]

    def get_ordering(self, request: HttpRequest) -> tuple[Any, ...]:
        """The active version first, then drafts."""
        places = ("active", "draft")
        cases = (When(state=state, then=place) for place, state in enumerate(places))
        return (Case(*cases, default=len(places)), "name", "-version")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("name",) if obj else ()

    @admin.display(description=_("profile"), ordering="name")
    def profile(self, profile: Model) -> str:
        return str(profile)

    @display(description=_("state"), ordering="state", label=STATE_LABELS)
    def state_label(self, profile: Any) -> tuple[str, str]:
        return profile.state, profile.get_state_display()

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Redirect to the audit of all versions of the profile."""
        profile = self.get_object(request, object_id)
        if profile is None or not self.has_view_permission(request, profile):
            raise Http404
        return redirect(f"{reverse(self.audit)}?{urlencode({'profile__name': profile.name})}")

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Do nothing: the services write the audit."""

    log_change = log_addition

    # --- deletion: drafts only ----------------------------------------------------------------

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)  # type: ignore[misc]
        return allowed and (not isinstance(obj, self.model) or obj.is_draft)

    def get_deleted_objects(self, objs: Iterable[Any], request: HttpRequest) -> Any:
        profiles = list(objs)
        lacking: set[str] = set()
        if not self.has_delete_permission(request):
            lacking.add(str(self.opts.verbose_name))
        if any(not profile.is_draft for profile in profiles):
            lacking.add(str(self.never_deleted))
        labels = [str(profile) for profile in profiles]
        return labels, {gettext("drafts"): len(profiles)}, lacking, []

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.delete_queryset(request, self.model.objects.filter(pk=obj.pk))

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        # A draft may have been published during the confirmation.
        pks = [profile.pk for profile in queryset]
        locked = self.model.objects.select_for_update().filter(pk__in=pks)
        drafts = [profile.pk for profile in locked if profile.is_draft]
        self.model.objects.filter(pk__in=drafts).delete()
