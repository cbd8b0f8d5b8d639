"""Collections: who may read them, how their documents are chunked, what they hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import Group
from django.db.models import Count, Q, QuerySet, Sum
from django.http import HttpRequest, StreamingHttpResponse
from django.urls import reverse, reverse_lazy
from django.utils.functional import lazy
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextareaWidget

from common.admin.pages import Summary, VisibleOnly, actor, deletion_summary
from ingestion import services
from ingestion.admin.fields import LanguageField, language_name
from ingestion.admin.metadata import MetadataKeysField
from ingestion.exporting import writing
from ingestion.exporting.writing import streamed
from ingestion.models import Chunk, Collection, Document, State, Visibility
from ingestion.models.library import UNFINISHED

# What a document was read by: a change reaches it when it is processed again.
READING_FIELDS = {"chunk_tokens", "overlap_tokens", "language"}


class CollectionForm(forms.ModelForm):  # type: ignore[type-arg]
    groups = forms.ModelMultipleChoiceField(
        Group.objects.all(),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="Who may read it. Superusers read everything.",
    )
    metadata_keys = MetadataKeysField()

    class Meta:
        model = Collection
        fields = (
            "name", "slug", "description", "visibility", "groups",
            "language", "chunk_tokens", "overlap_tokens", "metadata_keys",
        )  # fmt: skip
        widgets = {"description": UnfoldAdminTextareaWidget(attrs={"rows": 3})}

    def __init__(self, *args: Any, viewer: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.viewer = viewer
        self.fields["language"] = LanguageField(
            empty="Detected for each document",
            current=self.instance.language,
            help_text="Only when every document here is in one language.",
        )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("visibility") == Visibility.GROUPS and "groups" in cleaned:
            self._check_groups(cleaned["groups"])
        return cleaned

    def _check_groups(self, groups: QuerySet[Group]) -> None:
        if not groups:
            self.add_error(
                "groups",
                "Choose at least one group, or nobody but superusers will find these documents.",
            )
        elif self.viewer is not None and not self.viewer.is_superuser:
            own = set(self.viewer.groups.values_list("pk", flat=True))
            if not own & {group.pk for group in groups}:
                self.add_error(
                    "groups",
                    "You belong to none of these groups and would lose sight of the collection. "
                    "Add one of your own groups.",
                )


@admin.register(Collection)
class CollectionAdmin(VisibleOnly, ModelAdmin):  # type: ignore[misc]
    empty_text = (
        "There is no collection yet. A collection holds documents and says who may read them."
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
        (None, {"fields": ("name", "slug", "description")}),
        ("Who may read it", {"fields": ("visibility", "groups")}),
        (
            "How its documents are read",
            {
                "fields": ("language", "chunk_tokens", "overlap_tokens"),
                "description": lazy(format_html, str)(
                    "A document is cut into passages (chunks). Small ones point more exactly, "
                    "large ones keep more context together. Documents that are here already keep "
                    "their passages until they are processed "
                    'again. <a class="text-link" href="{}">Preview how a file would be cut</a>.',
                    reverse_lazy("admin:ingestion_document_preview"),
                ),
            },
        ),
        ("Search", {"fields": ("metadata_keys",)}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Collection]:
        queryset: QuerySet[Collection] = super().get_queryset(request)
        kept = Q(documents__deleted_at=None)
        waiting = Count("documents", kept & Q(documents__latest__state__in=UNFINISHED))
        return queryset.prefetch_related("groups").annotate(
            document_count=Count("documents", kept),
            chunk_count=Sum("documents__current__chunk_count", filter=kept, default=0),
            failed_count=Count("documents", kept & Q(documents__latest__state=State.FAILED)),
            waiting_count=waiting,
        )

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> type[CollectionForm]:
        form: type[CollectionForm] = super().get_form(request, *args, **kwargs)

        class ViewersForm(form):  # type: ignore[valid-type, misc]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, viewer=request.user, **kwargs)

        return ViewersForm

    # --- what is shown ---------------------------------------------------------------------

    @display(
        description="who may read it",
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
        label = names or "Superusers only" if restricted else collection.get_visibility_display()
        return collection.visibility, label

    @admin.display(description="documents", ordering="document_count")
    def documents(self, collection: Any) -> SafeString:
        where = reverse("admin:ingestion_document_changelist") + f"?collection={collection.slug}"
        parts = [(where, "", f"{collection.document_count:,}")]
        for state, count, word in (
            ("unfinished", collection.waiting_count, "in progress"),
            (State.FAILED, collection.failed_count, "failed"),
        ):
            if count:
                parts.append((f"{where}&state={state}", f"sy-count-{state}", f"{count:,} {word}"))
        return format_html_join(" ", '<a class="sy-count {1}" href="{0}">{2}</a>', parts)

    @admin.display(description="passages", ordering="chunk_count")
    def chunks(self, collection: Any) -> str:
        return f"{collection.chunk_count:,}"

    @admin.display(description="chunking", ordering="chunk_tokens")
    def chunking(self, collection: Collection) -> str:
        return f"{collection.chunk_tokens} tokens, {collection.overlap_tokens} overlap"

    @admin.display(description="language", ordering="language")
    def language_name(self, collection: Collection) -> str:
        return language_name(collection.language) if collection.language else "detected"

    # --- what is done ------------------------------------------------------------------------

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        count = form.instance.documents.kept().count() if change else 0
        if count and READING_FIELDS & set(form.changed_data):
            self.message_user(
                request,
                f"The {count:,} document{'s' if count > 1 else ''} here keep their passages for "
                "now. To read them again under the new settings, tick the collection in this list "
                "and choose “Process all documents again”.",
                messages.WARNING,
            )

    @admin.action(description="Process all documents again", permissions=["change"])
    def reprocess_all(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        if not request.user.has_perm("ingestion.change_document"):
            self.message_user(request, "You may not change documents.", messages.ERROR)
            return
        documents = Document.objects.kept().filter(collection__in=list(queryset)).iterator()
        count = services.reprocess(documents, acting_user=actor(request))
        self.message_user(
            request,
            f"{count:,} queued to be processed again; search keeps what it has until then.",
            messages.SUCCESS,
        )

    @admin.action(description="Export as a ZIP archive", permissions=["change"])
    def export_selected(
        self, request: HttpRequest, queryset: QuerySet[Collection]
    ) -> StreamingHttpResponse | None:
        """A download of one collection, as `manage.py import-collection` reads it."""
        chosen = list(queryset[:2])
        if len(chosen) != 1 or not writing.may_export(actor(request), chosen[0]):
            self.message_user(request, "Tick one collection to export.", messages.ERROR)
            return None
        return streamed(chosen[0])

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        """Nothing: the service writes the audit row."""

    def delete_model(self, request: HttpRequest, obj: Collection) -> None:
        services.delete_collection(obj, acting_user=actor(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Collection]) -> None:
        for collection in queryset:
            services.delete_collection(collection, acting_user=actor(request))

    def get_deleted_objects(self, objs: Iterable[Collection], request: HttpRequest) -> Summary:
        collections = list(objs)
        documents = Document.objects.kept().filter(collection__in=collections).count()
        chunks = Chunk.objects.filter(collection__in=collections, searchable=True).count()
        lacking = set() if self.has_delete_permission(request) else {"collection"}
        if documents and not request.user.has_perm("ingestion.delete_document"):
            lacking.add("document")
        counts = ((Collection, len(collections)), (Document, documents), (Chunk, chunks))
        return deletion_summary(collections, counts, lacking)
