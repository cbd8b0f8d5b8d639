"""Pins, hides, synonyms and classifier rules in the admin."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextareaWidget

from common.admin.mixins import OwnPages, ViewersForm, own_page
from ingestion.admin.fields import LinesField
from ingestion.models import Document
from search import curation
from search.curation import Conflicts
from search.errors import SearchError
from search.models import ClassRule, ClassWeights, Hide, Pin, SearchProfile, Synonym
from search.models.curated import MAX_TERM_CHARS, MAX_TERMS
from search.query import MAX_QUERY_CHARS


class CuratedForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form that refuses rows in conflict with others; `conflict_report` has the conflicts."""

    viewer: Any = None
    conflict_report = Conflicts()

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        if not self.errors:
            try:
                self.conflict_report = curation.conflicts_of(self.instance, viewer=self.viewer)
            except SearchError as error:
                text = gettext("The question is not valid: %(error)s") % {"error": error}
                self.conflict_report = Conflicts((text,))
            for message in self.conflict_report.errors:
                self.add_error(None, message)


class SynonymForm(CuratedForm):
    terms = LinesField(
        max_length=MAX_TERM_CHARS,
        help_text=format_lazy(
            _(
                "Words or phrases, one per line, at most {most}. A question with one of them also "
                "searches for the others."
            ),
            most=MAX_TERMS,
        ),
    )

    class Meta:
        model = Synonym
        fields = ("terms", "one_way", "enabled", "note")


class PinForm(CuratedForm):
    class Meta:
        model = Pin
        fields = ("query", "document", "position", "enabled", "note")


class HideForm(CuratedForm):
    class Meta:
        model = Hide
        fields = ("query", "document", "enabled", "note")


class CuratedAdmin(ViewersForm, OwnPages[Any], ModelAdmin):  # type: ignore[misc]
    """A page with a box to try a row. Warnings are shown when the row is saved."""

    change_form_template = "admin/search/curated/page.html"

    @own_page("try/")
    def try_view(self, request: HttpRequest) -> HttpResponse:
        """Show the effect of the posted row on the posted question; nothing is saved."""
        form = self.tried_form(request)
        form.is_valid()
        context: dict[str, Any] = {"conflicts": form.conflict_report, "errors": form.errors}
        # A row with conflicts can be tried nevertheless.
        complete = not form.errors or bool(form.conflict_report.errors)
        question = request.POST.get("question", "").strip() or _own_question(form.instance)
        if complete and question:
            try:
                tried = curation.tried(question, form.instance, viewer=request.user)
                context |= {"tried": tried}
            except SearchError as error:
                context |= {"problem": str(error)}
        return TemplateResponse(request, "admin/search/curated/tried.html", context)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        for warning in getattr(form, "conflict_report", Conflicts()).warnings:
            self.message_user(request, warning, messages.WARNING)


@admin.register(Synonym)
class SynonymAdmin(CuratedAdmin):
    empty_text = _("There are no synonyms yet.")
    form = SynonymForm
    list_display = ("__str__", "enabled", "note")
    list_editable = ("enabled",)
    list_filter = ("enabled",)
    search_fields = ("terms", "note")
    list_before_template = "admin/steelyard/synonyms_note.html"

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """Whether the active profile uses synonyms."""
        active = ClassWeights.objects.filter(profile__state=SearchProfile.State.ACTIVE)
        return {"synonyms_count": active.filter(synonym__gt=0).exists()}


class DocumentRowAdmin(CuratedAdmin):
    """Rows about documents that the user may read."""

    autocomplete_fields = ("document",)
    list_filter = ("enabled",)
    search_fields = ("query", "document__title")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        queryset: QuerySet[Any] = super().get_queryset(request)
        readable = Document.objects.visible_to(request.user)
        return queryset.filter(document__in=readable).select_related("document__collection")

    @admin.display(description=_("collection"), ordering="document__collection__name")
    def collection(self, row: Pin | Hide) -> str:
        return str(row.document.collection)


@admin.register(Pin)
class PinAdmin(DocumentRowAdmin):
    empty_text = _("No documents are pinned.")
    form = PinForm
    list_display = ("query", "document", "collection", "position", "enabled")
    list_editable = ("position", "enabled")
    list_before_template = "admin/steelyard/pins_note.html"


@admin.register(Hide)
class HideAdmin(DocumentRowAdmin):
    empty_text = _("No documents are hidden from search.")
    form = HideForm
    list_display = ("question", "document", "collection", "enabled", "note")
    list_editable = ("enabled",)
    list_before_template = "admin/steelyard/hides_note.html"

    @admin.display(description=_("question"), ordering="folded")
    def question(self, hide: Hide) -> str:
        return hide.query or gettext("Every question")


def _own_question(row: Pin | Hide | Synonym) -> str:
    """The question of a row; the first term of synonyms."""
    if isinstance(row, Synonym):
        return row.terms[0] if row.terms else ""
    return row.query


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
