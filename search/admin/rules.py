"""The rules of the query classifier in the admin, in their order."""

from __future__ import annotations

from django import forms
from django.contrib import admin
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextareaWidget

from ingestion.admin.fields import LinesField
from search.models import ClassRule
from search.query import MAX_QUERY_CHARS


class RuleForm(forms.ModelForm):  # type: ignore[type-arg]
    examples = LinesField(
        max_length=MAX_QUERY_CHARS,
        required=False,
        help_text=_("Questions, one per line. The rule must match all of them to be saved."),
    )
    counter_examples = LinesField(
        max_length=MAX_QUERY_CHARS,
        required=False,
        help_text=_("Similar questions, one per line, that the rule must not match."),
    )

    class Meta:
        model = ClassRule
        fields = (
            "name", "query_class", "pattern", "predicate", "examples", "counter_examples",
            "confidence", "position", "enabled",
        )  # fmt: skip
        widgets = {
            "pattern": UnfoldAdminTextareaWidget(
                attrs={"class": "sy-code", "rows": 4, "spellcheck": "false"}
            )
        }


@admin.register(ClassRule)
class ClassRuleAdmin(ModelAdmin):  # type: ignore[misc]
    form = RuleForm
    fields = RuleForm.Meta.fields
    list_display = ("name", "query_class", "short_pattern", "confidence", "enabled", "position")
    list_editable = ("enabled", "position")
    ordering_field = "position"  # set by dragging rows, saved with the list
    list_filter = ("query_class", "enabled")
    search_fields = ("name", "pattern", "examples")
    ordering = ("position", "pk")
    list_before_template = "admin/steelyard/rules_note.html"

    @admin.display(description=_("matches"))
    def short_pattern(self, rule: ClassRule) -> str:
        if rule.predicate:
            return rule.get_predicate_display()
        return rule.pattern if len(rule.pattern) <= 60 else f"{rule.pattern[:59]}…"
