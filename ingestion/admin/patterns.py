"""Identifier patterns: what counts as a code that a search must find exactly."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from ingestion.admin.fields import LinesField
from ingestion.identifiers import NORMALISERS
from ingestion.models import IdentifierPattern

# What an index entry was made by; the rest (position, enabled) concerns queries at once, too.
INDEXING_FIELDS = {"regex", "normaliser", "enabled", "position"}


class PatternForm(forms.ModelForm):  # type: ignore[type-arg]
    normaliser = forms.ChoiceField(
        widget=UnfoldAdminSelectWidget,
        help_text="Which spellings are the same identifier.",
    )
    examples = LinesField(
        max_length=200,
        help_text="One a line. Each must be recognised as a whole, or the pattern is not saved.",
    )
    counter_examples = LinesField(
        max_length=200,
        required=False,
        help_text="One a line: what looks alike and must not be recognised.",
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

    @admin.display(description="recognises")
    def example(self, pattern: IdentifierPattern) -> str:
        return ", ".join(pattern.examples[:3])

    def save_model(
        self, request: HttpRequest, obj: IdentifierPattern, form: Any, change: bool
    ) -> None:
        super().save_model(request, obj, form, change)
        if not change or INDEXING_FIELDS & set(form.changed_data):
            self.message_user(
                request,
                f"Questions are read by “{obj}” from now on. Documents that are here already are "
                "found by it once they are processed again (see Collections).",
                messages.WARNING,
            )
