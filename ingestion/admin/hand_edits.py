"""Hand edits of passages in the admin: reviewed, never changed."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from common.admin.mixins import ReadOnly, actor, moment_column, state_column
from ingestion import services
from ingestion.documents import hand_edits
from ingestion.errors import IngestionError
from ingestion.models import ChunkEdit, Document


@admin.register(ChunkEdit)
class ChunkEditAdmin(ReadOnly, ModelAdmin):  # type: ignore[misc]
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
    fields = ("document", "passage", "reason", "original", "text", "questions", "disabled", "note")
    readonly_fields = fields

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

    changed = moment_column("updated", _("changed"))
    state_label = state_column(
        {ChunkEdit.State.APPLIED: "success", ChunkEdit.State.HOMELESS: "danger"}
    )

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The passage's page for an applied edit; otherwise the edit's text, to be copied."""
        edit = self.get_object(request, object_id)
        may_change = edit is not None and self.has_change_permission(request)
        if may_change and (applied := hand_edits.applied_to(edit)):
            address = (applied.document_id, applied.pk)
            return redirect(reverse("admin:ingestion_document_passage", args=address))
        context = dict.fromkeys(("show_save", "show_save_and_continue"), False)
        return super().change_view(request, object_id, form_url, context)  # type: ignore[no-any-return]

    @admin.action(description=_("Undo the edits; discard those without a matching passage"))
    def undo_selected(self, request: HttpRequest, queryset: QuerySet[ChunkEdit]) -> None:
        edits = list(queryset)
        try:
            for edit in edits:
                services.undo(edit, acting_user=actor(request))
        except IngestionError as error:
            self.message_user(request, str(error), messages.ERROR)
        else:
            sentence = ngettext(
                "%(count)d edit was undone.", "%(count)d edits were undone.", len(edits)
            )
            self.message_user(request, sentence % {"count": len(edits)}, messages.SUCCESS)
