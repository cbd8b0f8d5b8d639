"""What people know and the corpus does not say: synonyms and pins in the admin."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from ingestion.admin.fields import LinesField
from ingestion.models import Document
from search.models import ClassWeights, Pin, SearchProfile, Synonym
from search.models.curated import MAX_TERM_CHARS, MAX_TERMS
from search.query.expand import fold_query


class SynonymForm(forms.ModelForm):  # type: ignore[type-arg]
    terms = LinesField(
        max_length=MAX_TERM_CHARS,
        help_text=f"Words or phrases, one a line, {MAX_TERMS} at most. Where a question says one, "
        "the others are looked for as well.",
    )

    class Meta:
        model = Synonym
        fields = ("terms", "one_way", "enabled", "note")


@admin.register(Synonym)
class SynonymAdmin(ModelAdmin):  # type: ignore[misc]
    form = SynonymForm
    list_display = ("__str__", "enabled", "note")
    list_editable = ("enabled",)
    list_filter = ("enabled",)
    search_fields = ("terms", "note")
    list_before_template = "admin/steelyard/synonyms_note.html"

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """The list says whether the active profile lets synonyms count."""
        active = ClassWeights.objects.filter(profile__state=SearchProfile.State.ACTIVE)
        counting = active.filter(synonym__gt=0).exists()
        context = {"synonyms_count": counting, **(extra_context or {})}
        return super().changelist_view(request, extra_context=context)


class PinForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Pin
        fields = ("query", "document", "position", "enabled", "note")

    def clean(self) -> dict[str, Any]:
        """Also what the form's fields do not hold: one document is pinned to a question once."""
        cleaned = super().clean() or {}
        query, document = fold_query(cleaned.get("query", "")), cleaned.get("document")
        held = Pin.objects.filter(folded=query, document=document).exclude(pk=self.instance.pk)
        if query and document and held.exists():
            raise ValidationError({"document": "It is pinned to that question already."})
        return cleaned


@admin.register(Pin)
class PinAdmin(ModelAdmin):  # type: ignore[misc]
    form = PinForm
    autocomplete_fields = ("document",)
    list_display = ("query", "document", "collection", "position", "enabled")
    list_editable = ("position", "enabled")
    list_filter = ("enabled",)
    search_fields = ("query", "document__title")
    list_before_template = "admin/steelyard/pins_note.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Pin]:
        queryset: QuerySet[Pin] = super().get_queryset(request)
        readable = Document.objects.visible_to(request.user)
        return queryset.filter(document__in=readable).select_related("document__collection")

    @admin.display(description="collection", ordering="document__collection__name")
    def collection(self, pin: Pin) -> str:
        return str(pin.document.collection)
