"""The classifier's rules, in the order in which they are tried."""

from __future__ import annotations

from django import forms
from django.contrib import admin
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextareaWidget

from search.models import ClassRule


class RuleForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = ClassRule
        fields = ("name", "pattern", "query_class", "confidence", "position", "enabled")
        widgets = {
            "pattern": UnfoldAdminTextareaWidget(
                attrs={"class": "sy-code", "rows": 4, "spellcheck": "false"}
            )
        }


@admin.register(ClassRule)
class ClassRuleAdmin(ModelAdmin):  # type: ignore[misc]
    form = RuleForm
    list_display = ("name", "query_class", "short_pattern", "confidence", "enabled", "position")
    list_editable = ("enabled", "position")
    list_filter = ("query_class", "enabled")
    search_fields = ("name", "pattern")
    ordering = ("position", "pk")
    list_before_template = "admin/steelyard/rules_note.html"

    @admin.display(description="pattern")
    def short_pattern(self, rule: ClassRule) -> str:
        return rule.pattern if len(rule.pattern) <= 60 else f"{rule.pattern[:59]}…"
