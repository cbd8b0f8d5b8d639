"""Hand edits in the admin; an unplaced one is shown beside the most similar passage."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin
from unfold.decorators import display

from common.admin.pages import OwnPages, ReadOnly, actor
from ingestion import services
from ingestion.documents import editing
from ingestion.edits.anchoring import Fit, fits
from ingestion.edits.carrying import anchor_of, places_of
from ingestion.errors import IngestionError
from ingestion.models import Chunk, ChunkEdit, Document


@admin.register(ChunkEdit)
class ChunkEditAdmin(ReadOnly, OwnPages[ChunkEdit], ModelAdmin):  # type: ignore[misc]
    empty_text = _(
        "No passage has been edited by hand. Open a document and choose “Show and edit passages”."
    )
    list_display = ("passage", "document", "does", "state_label", "added_by", "changed")
    list_display_links = ("passage",)
    list_filter = ("state",)
    list_per_page = 50
    search_fields = ("document__title", "text", "note")
    search_help_text = _("Search titles, texts and notes")
    actions = ("undo_selected",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ChunkEdit]:
        readable = Document.objects.visible_to(request.user)
        edits: QuerySet[ChunkEdit] = super().get_queryset(request).filter(document__in=readable)
        return edits.select_related("document", "added_by").defer("document__title_terms")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.has_perm("ingestion.change_document"))

    has_view_permission = has_change_permission

    @admin.display(description=_("passage"), ordering="ordinal")
    def passage(self, edit: ChunkEdit) -> str:
        return gettext("Passage %(number)d") % {"number": edit.ordinal + 1}

    @admin.display(description=_("edit"))
    def does(self, edit: ChunkEdit) -> str:
        return ", ".join(edit.kinds)

    @display(
        description=_("state"),
        ordering="state",
        label={ChunkEdit.State.APPLIED: "success", ChunkEdit.State.HOMELESS: "danger"},
    )
    def state_label(self, edit: ChunkEdit) -> tuple[str, str]:
        return edit.state, edit.get_state_display()

    @admin.display(description=_("changed"), ordering="updated")
    def changed(self, edit: ChunkEdit) -> str:
        return f"{timezone.localtime(edit.updated):%Y-%m-%d %H:%M}"

    def get_urls(self) -> list[URLPattern]:
        page = self.own_page
        return [
            page("<int:pk>/place/<int:chunk>/", require_POST(self.place_view), "place"),
            page("<int:pk>/undo/", require_POST(self.undo_view), "undo"),
            *super().get_urls(),
        ]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The passage's page for an applied edit; else the edit beside its most similar passage."""
        edit = self._edit(request, object_id)
        if applied := editing.applied_to(edit):
            return redirect(_passage(applied))
        context = {
            **self.page_context(request, gettext("An edit without a matching passage")),
            "opts": self.opts,
            "edit": edit,
            **_likeliest(edit, request.GET.get("chunk", "")),
        }
        return TemplateResponse(request, "admin/ingestion/chunkedit/homeless.html", context)

    def place_view(self, request: HttpRequest, pk: int, chunk: int) -> HttpResponse:
        edit = self._edit(request, str(pk))
        held = get_object_or_404(
            Chunk.objects.filter(version=edit.document.current_id).select_related("version"),
            pk=chunk,
        )
        try:
            services.place(edit, held, acting_user=actor(request))
        except IngestionError as error:
            self.message_user(request, str(error), messages.ERROR)
            return self.back_to(pk)
        self.message_user(request, _("The edit was applied to this passage."), messages.SUCCESS)
        return redirect(_passage(held))

    def undo_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        self._undo(request, [self._edit(request, str(pk))])
        return redirect(reverse("admin:ingestion_chunkedit_changelist"))

    @admin.action(description=_("Undo the edits; discard those without a matching passage"))
    def undo_selected(self, request: HttpRequest, queryset: QuerySet[ChunkEdit]) -> None:
        self._undo(request, list(queryset))

    def _undo(self, request: HttpRequest, edits: list[ChunkEdit]) -> None:
        try:
            for edit in edits:
                services.undo(edit, acting_user=actor(request))
        except IngestionError as error:
            self.message_user(request, str(error), messages.ERROR)
        else:
            done = ngettext(
                "%(count)d edit was undone.", "%(count)d edits were undone.", len(edits)
            )
            self.message_user(request, done % {"count": len(edits)}, messages.SUCCESS)

    def _edit(self, request: HttpRequest, pk: str) -> ChunkEdit:
        if not self.has_change_permission(request):
            raise PermissionDenied
        edit: ChunkEdit | None = self.get_object(request, pk)
        if edit is None:
            raise Http404
        return edit


def _likeliest(edit: ChunkEdit, asked: str) -> dict[str, Any]:
    """The passage to compare with (the requested one or the most similar) and the reason."""
    version = edit.document.current
    if version is None:
        reason = gettext("The document has no searchable version.")
        return {"nearest": None, "reason": reason, "last": 0}
    [outcome] = fits([anchor_of(edit)], places_of(version))
    likeliest = outcome.ordinal if isinstance(outcome, Fit) else outcome.nearest
    number = int(asked) - 1 if asked.isdecimal() and len(asked) < 9 else likeliest
    nearest = version.chunks.filter(ordinal=number or 0).select_related("edit").first()
    reason = "" if isinstance(outcome, Fit) else outcome.reason
    return {"nearest": nearest, "reason": reason, "last": version.chunk_count}


def _passage(chunk: Chunk) -> str:
    return reverse("admin:ingestion_document_passage", args=(chunk.document_id, chunk.pk))
