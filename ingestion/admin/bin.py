"""The bin: deleted documents and collections, restorable until the retention period ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.contrib.admin.utils import model_ngettext
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from common.admin.mixins import OwnPages, ReadOnly, Row, Summary, actor, moment_column, own_page
from ingestion import services
from ingestion.admin.filters import CollectionFilter
from ingestion.documents.purging import LONG_AGO
from ingestion.errors import StateConflict
from ingestion.models import Collection, DeletedDocument, Document, Purge
from ingestion.models.visibility import open_to


def days_left(deleted: Document | Collection) -> int:
    """The days until permanent deletion, rounded up; 0 if due at the next cleanup."""
    grace = int(settings.DELETION_GRACE_DAYS)
    if deleted.deleted_at is None:
        return grace
    ends = deleted.deleted_at + timedelta(days=grace)
    return max(0, -(-(ends - timezone.now()) // timedelta(days=1)))


class GoesToBin(OwnPages[Row]):
    """A ModelAdmin mixin whose deletion moves rows to the bin, and says so."""

    delete_confirmation_template = "admin/ingestion/to_bin.html"
    delete_selected_confirmation_template = "admin/ingestion/to_bin.html"

    if TYPE_CHECKING:
        get_deleted_objects: Callable[..., Summary]
        get_preserved_filters: Callable[[HttpRequest], str]
        delete_queryset: Callable[[HttpRequest, QuerySet[Any]], None]

    def get_actions(self, request: HttpRequest) -> Any:
        actions = super().get_actions(request)  # type: ignore[misc]
        if "delete_selected" in actions:
            label = (
                gettext("Move to the bin") if settings.DELETION_GRACE_DAYS else gettext("Delete")
            )
            actions["delete_selected"] = (_put_away_selected, "delete_selected", label)
        return actions

    def delete_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        return with_grace(super().delete_view(*args, **kwargs))  # type: ignore[misc]

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: int) -> HttpResponse:
        self.say_put_away(request, f"“{obj_display}”")
        if not self.has_view_permission(request):
            return redirect("admin:index")
        address = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        filters = {"preserved_filters": self.get_preserved_filters(request), "opts": self.opts}
        return redirect(add_preserved_filters(filters, address))

    def say_put_away(self, request: HttpRequest, what: str) -> None:
        """The message after a deletion."""
        days = int(settings.DELETION_GRACE_DAYS)
        sentence = gettext("%(what)s deleted.")
        if days:
            sentence = ngettext(
                "%(what)s moved to the bin, restorable for %(days)d day.",
                "%(what)s moved to the bin, restorable for %(days)d days.",
                days,
            )
        self.message_user(request, sentence % {"what": what, "days": days}, messages.SUCCESS)


def with_grace(response: HttpResponse) -> HttpResponse:
    """The confirmation page, with the retention period of the bin in its context."""
    if isinstance(response, TemplateResponse):
        context = response.context_data or {}
        response.context_data = {**context, "grace_days": int(settings.DELETION_GRACE_DAYS)}
    return response


def _put_away_selected(
    page: Any, request: HttpRequest, queryset: QuerySet[Any]
) -> HttpResponse | None:
    """Django's delete action, with a page and a message that say that the rows go to the bin."""
    if not request.POST.get("post"):
        return with_grace(cast("HttpResponse", delete_selected(page, request, queryset)))
    rows = list(queryset)
    if page.get_deleted_objects(rows, request)[2] or not page.has_delete_permission(request):
        raise PermissionDenied
    if not rows:  # deleted meanwhile, or hidden from this user: as Django, say nothing
        return None
    what = f"{len(rows):,} {model_ngettext(page.model._meta, len(rows))}"
    page.delete_queryset(request, queryset)
    page.say_put_away(request, f"“{rows[0]}”" if len(rows) == 1 else what)
    return None


@admin.register(DeletedDocument)
class BinAdmin(ReadOnly, OwnPages[DeletedDocument], ModelAdmin):  # type: ignore[misc]
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
    search_fields = ("title", "latest__file_name")
    search_help_text = _("Search by title or file name")
    ordering = ("-deleted_at",)
    actions = ("restore_selected", "purge_selected")
    list_before_template = "admin/steelyard/bin_collections.html"

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[QuerySet[DeletedDocument], bool]:
        return queryset.named(search_term), False

    def get_queryset(self, request: HttpRequest) -> QuerySet[DeletedDocument]:
        # Parts are deleted and restored with their container: list only those deleted separately.
        queryset: Any = super().get_queryset(request)
        rows = queryset.in_bin_of(request.user).exclude(parent__deleted_at__isnull=False)
        return rows.select_related("collection", "deleted_by").defer("title_terms")  # type: ignore[no-any-return]

    deleted = moment_column("deleted_at", _("deleted"))

    @admin.display(description=_("restorable for"), ordering="deleted_at")
    def left(self, document: DeletedDocument) -> str:
        if document.deleted_at == LONG_AGO:
            return gettext("being deleted permanently")
        days = days_left(document)
        if not days:
            return gettext("will be deleted within the hour")
        return ngettext("%(count)d day", "%(count)d days", days) % {"count": days}

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.has_perm("ingestion.change_document"))

    has_view_permission = has_change_permission

    def has_purge_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("ingestion.delete_document"))

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        collections = deleted_collections(request).annotate(
            document_count=Count("documents", open_to(request.user, "documents__"))
        )
        purges = {purge.collection_id: purge for purge in Purge.objects.defer("collection")}
        rows = [(each, days_left(each), purges.get(each.pk)) for each in collections]
        return {
            "title": _("Bin"),
            "deleted_collections": rows,
            "purge_of_documents": purges.get(None),
            "may_restore": request.user.has_perm("ingestion.change_collection"),
            "may_purge": request.user.has_perm("ingestion.delete_collection"),
        }

    @admin.action(description=_("Restore"), permissions=["change"])
    def restore_selected(self, request: HttpRequest, queryset: QuerySet[DeletedDocument]) -> None:
        count = 0
        for document in queryset:
            try:
                count += services.restore([document], acting_user=actor(request))
            except StateConflict as error:
                self.message_user(request, str(error), messages.ERROR)
        if count:
            sentence = ngettext(
                "%(count)d document was restored.", "%(count)d documents were restored.", count
            )
            self.message_user(request, sentence % {"count": count}, messages.SUCCESS)

    @admin.action(description=_("Delete permanently"), permissions=["purge"])
    def purge_selected(self, request: HttpRequest, queryset: QuerySet[DeletedDocument]) -> None:
        count = services.purge_later(_plain(queryset), acting_user=actor(request))
        sentence = ngettext(
            "%(count)d document is being deleted permanently. This page shows how far it is.",
            "%(count)d documents are being deleted permanently. This page shows how far it is.",
            count,
        )
        self.message_user(request, sentence % {"count": count}, messages.SUCCESS)

    @own_page("collections/<int:pk>/restore/", posts=True)
    def restore_collection_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        collection = self._collection(request, pk, "ingestion.change_collection")

        def restore() -> str:
            services.restore_collection(collection, acting_user=actor(request))
            return gettext("“%(name)s” was restored.") % {"name": collection}

        self.attempt(request, restore)
        return _back()

    @own_page("collections/<int:pk>/purge/", posts=True)
    def purge_collection_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        collection = self._collection(request, pk, "ingestion.delete_collection")
        services.purge_collection_later(collection, acting_user=actor(request))
        sentence = gettext("“%(name)s” and its documents are being deleted permanently.")
        self.message_user(request, sentence % {"name": collection}, messages.SUCCESS)
        return _back()

    def _collection(self, request: HttpRequest, pk: int, permission: str) -> Collection:
        if not request.user.has_perm(permission):
            raise PermissionDenied
        return get_object_or_404(deleted_collections(request), pk=pk)


def deleted_collections(request: HttpRequest) -> QuerySet[Collection]:
    deleted = Collection.objects.exclude(deleted_at=None).open_to(request.user)
    return deleted.select_related("deleted_by").order_by("-deleted_at")


def _plain(queryset: Iterable[Document]) -> Iterable[Document]:
    return (Document(pk=document.pk) for document in queryset)


def _back() -> HttpResponse:
    return redirect(reverse("admin:ingestion_deleteddocument_changelist"))
