"""Collections in the admin: who may read them, how their documents are chunked, their content."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import Group
from django.db.models import Count, Q, QuerySet, Sum
from django.http import HttpRequest, StreamingHttpResponse
from django.urls import reverse
from django.utils.functional import lazy
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from common.admin.mixins import Summary, ViewersForm, VisibleOnly, actor, deletion_summary
from ingestion import services
from ingestion.admin.bin import GoesToBin
from ingestion.admin.fields import LanguageFormField, MetadataKeysField
from ingestion.admin.status import reprocessing
from ingestion.collections import groups_problem
from ingestion.exporting import writing
from ingestion.exporting.writing import streamed
from ingestion.models import Chunk, Collection, Document, State, Visibility
from ingestion.models.collections import ICONS, language_name
from ingestion.models.versions import UNFINISHED
from ingestion.models.visibility import open_to

# Settings used to process documents: a change applies to a document when it is processed again.
READING_FIELDS = {"chunk_tokens", "overlap_tokens", "language"}


def _icon_help() -> str:
    return gettext("One emoji, or one of: %(names)s.") % {"names": ", ".join(ICONS)}


class CollectionForm(forms.ModelForm):  # type: ignore[type-arg]
    groups = forms.ModelMultipleChoiceField(
        Group.objects.all(),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_("The groups that may read it. Superusers may read everything."),
    )
    language = LanguageFormField(
        empty=_("Detected for each document"),
        help_text=_("Set it only if all documents here are in one language."),
    )
    metadata_keys = MetadataKeysField()

    class Meta:
        model = Collection
        fields = (
            "name", "slug", "icon", "description", "visibility", "groups",
            "language", "chunk_tokens", "overlap_tokens", "metadata_keys",
        )  # fmt: skip
        widgets = {
            "description": UnfoldAdminTextareaWidget(attrs={"rows": 3}),
            "icon": UnfoldAdminTextInputWidget(attrs={"spellcheck": "false"}),
        }
        help_texts = {"icon": lazy(_icon_help, str)()}

    viewer: Any = None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("visibility") == Visibility.GROUPS and "groups" in cleaned:
            self._check_groups(cleaned["groups"])
        return cleaned

    def _check_groups(self, groups: QuerySet[Group]) -> None:
        if problem := groups_problem(Visibility.GROUPS, list(groups), self.viewer):
            self.add_error("groups", problem)


@admin.register(Collection)
class CollectionAdmin(GoesToBin[Collection], ViewersForm, VisibleOnly, ModelAdmin):  # type: ignore[misc]
    empty_text = _(
        "There are no collections yet. A collection contains documents and controls who may "
        "read them."
    )
    form = CollectionForm
    list_display = ("name", "audience", "documents", "chunks", "chunking", "language_name")
    search_fields = ("name", "description")
    ordering = ("name",)  # counting groups the rows, which drops the model's own order
    list_filter = ("visibility",)
    actions = ("reprocess_all", "export_selected")
    prepopulated_fields = {"slug": ("name",)}
    conditional_fields = {"groups": "visibility == 'groups'"}
    fieldsets = (
        (None, {"fields": ("name", "slug", "icon", "description")}),
        (_("Access"), {"fields": ("visibility", "groups")}),
        (
            _("Processing"),
            {
                "fields": ("language", "chunk_tokens", "overlap_tokens"),
                "description": _(
                    "Documents are split into passages (chunks). Small passages give more precise "
                    "results, large ones more context. Existing documents keep their passages "
                    "until they are processed again."
                ),
            },
        ),
        (_("Search"), {"fields": ("metadata_keys",)}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Collection]:
        queryset: QuerySet[Collection] = super().get_queryset(request)
        in_use = Q(documents__deleted_at=None) & open_to(request.user, "documents__")
        waiting = Count("documents", in_use & Q(documents__latest__state__in=UNFINISHED))
        return queryset.prefetch_related("groups").annotate(
            document_count=Count("documents", in_use),
            chunk_count=Sum("documents__current__chunk_count", filter=in_use, default=0),
            failed_count=Count("documents", in_use & Q(documents__latest__state=State.FAILED)),
            waiting_count=waiting,
        )

    # --- what is shown ---------------------------------------------------------------------

    @display(
        description=_("readers"),
        ordering="visibility",
        label={
            Visibility.PUBLIC: "success",
            Visibility.SIGNED_IN: "info",
            Visibility.GROUPS: "warning",
        },
    )
    def audience(self, collection: Collection) -> tuple[str, str]:
        names = ", ".join(group.name for group in collection.groups.all())
        restricted = collection.visibility == Visibility.GROUPS
        label = collection.get_visibility_display()
        if restricted:
            label = names or gettext("Superusers only")
        return collection.visibility, label

    @admin.display(description=_("documents"), ordering="document_count")
    def documents(self, collection: Any) -> SafeString:
        where = reverse("admin:ingestion_document_changelist") + f"?collection={collection.slug}"
        parts = [(where, "", f"{collection.document_count:,}")]
        for state, count, word in (
            ("unfinished", collection.waiting_count, _("in progress")),
            (State.FAILED, collection.failed_count, _("failed")),
        ):
            if count:
                parts.append((f"{where}&state={state}", f"sy-count-{state}", f"{count:,} {word}"))
        return format_html_join(" ", '<a class="sy-count {1}" href="{0}">{2}</a>', parts)

    @admin.display(description=_("passages"), ordering="chunk_count")
    def chunks(self, collection: Any) -> str:
        return f"{collection.chunk_count:,}"

    @admin.display(description=_("chunking"), ordering="chunk_tokens")
    def chunking(self, collection: Collection) -> str:
        return gettext("%(size)d tokens, %(overlap)d overlap") % {
            "size": collection.chunk_tokens,
            "overlap": collection.overlap_tokens,
        }

    @admin.display(description=_("language"), ordering="language")
    def language_name(self, collection: Collection) -> str:
        return language_name(collection.language) if collection.language else gettext("detected")

    # --- what is done ------------------------------------------------------------------------

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        count = form.instance.documents.visible_to(request.user).count() if change else 0
        if count and READING_FIELDS & set(form.changed_data):
            note = ngettext(
                "The document here keeps its passages for now. To apply the new "
                "settings, select the collection here and choose “Reprocess all documents”.",
                "The %(count)s documents here keep their passages for now. To apply the new "
                "settings, select the collection here and choose “Reprocess all documents”.",
                count,
            )
            self.message_user(request, note % {"count": f"{count:,}"}, messages.WARNING)

    @admin.action(description=_("Reprocess all documents"), permissions=["change"])
    def reprocess_all(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        if not request.user.has_perm("ingestion.change_document"):
            self.message_user(
                request, _("You do not have permission to change documents."), messages.ERROR
            )
            return
        documents = Document.objects.visible_to(request.user).filter(collection__in=list(queryset))
        count = services.reprocess(documents.iterator(), acting_user=actor(request))
        self.message_user(request, reprocessing(count), messages.SUCCESS)

    @admin.action(description=_("Export as a ZIP archive"), permissions=["change"])
    def export_selected(
        self, request: HttpRequest, queryset: QuerySet[Collection]
    ) -> StreamingHttpResponse | None:
        """A download of one collection, in the format of the command that imports collections."""
        first_two = list(queryset[:2])
        if len(first_two) != 1 or not writing.may_export(actor(request), first_two[0]):
            self.message_user(request, _("Select one collection to export."), messages.ERROR)
            return None
        return streamed(first_two[0], actor(request))

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        """Do nothing: the service writes the audit row."""

    def delete_model(self, request: HttpRequest, obj: Collection) -> None:
        services.delete_collection(obj, acting_user=actor(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        for collection in queryset:
            services.delete_collection(collection, acting_user=actor(request))

    def get_deleted_objects(self, objs: Iterable[Collection], request: HttpRequest) -> Summary:
        collections = list(objs)
        seen = Document.objects.visible_to(request.user).filter(collection__in=collections)
        documents = seen.count()
        chunks = Chunk.objects.filter(document__in=seen, searchable=True).count()
        perms_needed = set() if self.has_delete_permission(request) else {"collection"}
        if documents and not request.user.has_perm("ingestion.delete_document"):
            perms_needed.add("document")
        counts = ((Collection, len(collections)), (Document, documents), (Chunk, chunks))
        return deletion_summary(collections, counts, perms_needed)
