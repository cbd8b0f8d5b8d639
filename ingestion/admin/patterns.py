"""Identifier patterns in the admin: the codes that search must match exactly."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from ingestion.admin.fields import LinesField
from ingestion.identifiers import NORMALISERS
from ingestion.models import IdentifierPattern
from ingestion.models.patterns import INDEXING_FIELDS


class PatternForm(forms.ModelForm):  # type: ignore[type-arg]
    normaliser = forms.ChoiceField(
        widget=UnfoldAdminSelectWidget,
        help_text=_("Determines which spellings count as the same identifier."),
    )
    examples = LinesField(
        max_length=200,
        help_text=_("One per line. Each must be recognised as a whole to save the pattern."),
    )
    counter_examples = LinesField(
        max_length=200,
        required=False,
        help_text=_("One per line: similar texts that must not be recognised."),
    )

    class Meta:
        model = IdentifierPattern
        fields = (
            "name", "regex", "normaliser", "examples", "counter_examples", "position", "enabled",
        )  # fmt: skip
        widgets = {
            "regex": UnfoldAdminTextareaWidget(
                attrs={"class": "sy-code", "rows": 3, "spellcheck": "false"}
            )
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["normaliser"].choices = [  # type: ignore[attr-defined]
            (name, f"{name}: {normaliser.description}") for name, normaliser in NORMALISERS.items()
        ]


@admin.register(IdentifierPattern)
class IdentifierPatternAdmin(ModelAdmin):  # type: ignore[misc]
    form = PatternForm
    fields = PatternForm.Meta.fields
    list_display = ("name", "example", "normaliser", "enabled", "position")
    list_editable = ("enabled", "position")
    search_fields = ("name", "regex")
    ordering = ("position", "name")
    list_before_template = "admin/steelyard/patterns_note.html"

    @admin.display(description=_("recognises"))
    def example(self, pattern: IdentifierPattern) -> str:
        return ", ".join(pattern.examples[:3])

    def save_model(
        self, request: HttpRequest, obj: IdentifierPattern, form: Any, change: bool
    ) -> None:
        super().save_model(request, obj, form, change)
        rereads = not change or bool(INDEXING_FIELDS & set(form.changed_data))
        for warning in obj.surprises(rereads=rereads):
            self.message_user(request, f"“{obj}”: {warning}", messages.WARNING)
