"""The bin: deleted documents and collections, restorable until the retention period ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, cast

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin

from common.admin.pages import actor
from ingestion import services
from ingestion.admin.filters import CollectionFilter
from ingestion.errors import StateConflict
from ingestion.models import Collection, DeletedDocument, Document


def days_left(deleted: Document | Collection) -> int:
    """The days until permanent deletion, rounded up; 0 if due at the next cleanup."""
    grace = int(settings.DELETION_GRACE_DAYS)
    if deleted.deleted_at is None:
        return grace
    ends = deleted.deleted_at + timedelta(days=grace)
    return max(0, -(-(ends - timezone.now()) // timedelta(days=1)))


@admin.register(DeletedDocument)
class BinAdmin(ModelAdmin):  # type: ignore[misc]
    empty_text = _(
        "The bin is empty. Deleted documents stay here, and can be restored, until their "
        "retention period ends."
    )
    counted_as = (_("document"), _("documents"))
    list_display = ("title", "collection", "deleted", "deleted_by", "left")
    list_display_links = None
    list_filter = (CollectionFilter,)
    list_per_page = 50
    list_fullwidth = True
    search_fields = ("title",)
    search_help_text = _("Search by title")
    ordering = ("-deleted_at",)
    actions = ("restore_selected", "purge_selected")
    list_before_template = "admin/steelyard/bin_collections.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[DeletedDocument]:
        # Parts are deleted and restored with their container: lists only those deleted separately.
        queryset: Any = super().get_queryset(request)
        found = queryset.in_bin_of(request.user).exclude(parent__deleted_at__isnull=False)
        return found.select_related("collection", "deleted_by").defer("title_terms")  # type: ignore[no-any-return]

    @admin.display(description=_("deleted"), ordering="deleted_at")
    def deleted(self, document: DeletedDocument) -> str:
        moment = document.deleted_at
        return f"{timezone.localtime(moment):%Y-%m-%d %H:%M}" if moment else ""

    @admin.display(description=_("restorable for"), ordering="deleted_at")
    def left(self, document: DeletedDocument) -> str:
        days = days_left(document)
        if not days:
            return gettext("deleted within the hour")
        return ngettext("%(count)d day", "%(count)d days", days) % {"count": days}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # the actions below delete through the services

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.has_perm("ingestion.change_document"))

    has_view_permission = has_change_permission

    def has_purge_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("ingestion.delete_document"))

    def get_urls(self) -> list[URLPattern]:
        def page(route: str, view: Callable[..., HttpResponse], name: str) -> URLPattern:
            guarded = self.admin_site.admin_view(require_POST(view))
            return cast("URLPattern", path(route, guarded, name=f"ingestion_bin_{name}"))

        return [
            page("collections/<int:pk>/restore/", self.restore_collection_view, "restore"),
            page("collections/<int:pk>/purge/", self.purge_collection_view, "purge"),
            *super().get_urls(),
        ]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        collections = _deleted_collections(request).annotate(document_count=Count("documents"))
        rows = [(collection, days_left(collection)) for collection in collections]
        context = {
            "title": _("Bin"),
            "deleted_collections": rows,
            "may_restore": request.user.has_perm("ingestion.change_collection"),
            "may_purge": request.user.has_perm("ingestion.delete_collection"),
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)  # type: ignore[no-any-return]

    @admin.action(description=_("Restore"), permissions=["change"])
    def restore_selected(self, request: HttpRequest, queryset: QuerySet[DeletedDocument]) -> None:
        count = 0
        for document in queryset:
            try:
                count += services.restore([document], acting_user=actor(request))
            except StateConflict as error:
                self.message_user(request, str(error), messages.ERROR)
        if count:
            done = ngettext(
                "%(count)d document was restored.", "%(count)d documents were restored.", count
            )
            self.message_user(request, done % {"count": count}, messages.SUCCESS)

    @admin.action(description=_("Delete permanently"), permissions=["purge"])
    def purge_selected(self, request: HttpRequest, queryset: QuerySet[DeletedDocument]) -> None:
        count = services.purge(_plain(queryset), acting_user=actor(request))
        done = ngettext(
            "%(count)d document was deleted permanently.",
            "%(count)d documents were deleted permanently.",
            count,
        )
        self.message_user(request, done % {"count": count}, messages.SUCCESS)

    def restore_collection_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        collection = self._collection(request, pk, "ingestion.change_collection")
        try:
            services.restore_collection(collection, acting_user=actor(request))
        except StateConflict as error:
            self.message_user(request, str(error), messages.ERROR)
        else:
            done = gettext("“%(name)s” was restored.") % {"name": collection}
            self.message_user(request, done, messages.SUCCESS)
        return _back()

    def purge_collection_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        collection = self._collection(request, pk, "ingestion.delete_collection")
        services.purge_collection_later(collection, acting_user=actor(request))
        done = gettext("“%(name)s” and its documents are being deleted permanently.")
        self.message_user(request, done % {"name": collection}, messages.SUCCESS)
        return _back()

    def _collection(self, request: HttpRequest, pk: int, permission: str) -> Collection:
        if not request.user.has_perm(permission):
            raise PermissionDenied
        return get_object_or_404(_deleted_collections(request), pk=pk)


def _deleted_collections(request: HttpRequest) -> QuerySet[Collection]:
    deleted = Collection.objects.exclude(deleted_at=None).open_to(request.user)
    return deleted.select_related("deleted_by").order_by("-deleted_at")


def _plain(queryset: Iterable[DeletedDocument]) -> Iterable[Document]:
    return (Document(pk=document.pk) for document in queryset)


def _back() -> HttpResponse:
    return redirect(reverse("admin:ingestion_deleteddocument_changelist"))
