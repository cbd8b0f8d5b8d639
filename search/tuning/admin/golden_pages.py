"""Forms and pages of golden queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminFileFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from common.accounts.models import User
from common.admin.mixins import OwnPages, actor, own_page
from common.api.requests import states
from ingestion.models import Collection, Document
from search.errors import JudgementError, SearchError
from search.tuning import golden_import_export as exchange
from search.tuning import golden_queries as golden
from search.tuning import judging
from search.tuning.golden_file_formats import FORMATS
from search.tuning.models import GoldenQuery

JUDGE = "tuning.add_judgement"


def judge(posted: Mapping[str, Any], query: GoldenQuery, user: User) -> None:
    """Write the grades of the query's page.

    They are `grade-ID` of documents that the person has graded, and `new_grade` of `document`.
    Raises JudgementError.
    """
    grades = [
        (name.removeprefix("grade-"), grade)
        for name, grade in posted.items()
        if name.startswith("grade-")
    ]
    if new_document := posted.get("document", "").strip():
        grades.append((new_document, posted.get("new_grade", "")))
    for name, grade in grades:
        document = exchange.find_document(name, viewer=user)
        if grade in {"0", "1", "2", "3"}:
            judging.judge(query.text, query.collections, document, int(grade), acting_user=user)
        else:
            judging.clear(query, document, acting_user=user)


class GoldenQueryForm(forms.ModelForm):  # type: ignore[type-arg]
    """A golden query with the person's grades; documents are named by id, source, file name or
    title.
    """

    collections = forms.MultipleChoiceField(
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_(
            "Collections to search; none selected: all. Only people who may read them "
            "see the query."
        ),
    )
    must_be_first = forms.CharField(
        required=False,
        max_length=1000,
        widget=UnfoldAdminTextInputWidget,
        help_text=_(
            "The document that must be the first result: its id, source, file name or "
            "title. The gate refuses profiles that do not rank it first."
        ),
    )

    class Meta:
        model = GoldenQuery
        fields = ("text", "collections", "query_class", "enabled", "note")
        widgets = {"note": UnfoldAdminTextareaWidget(attrs={"rows": 2})}

    viewer: User

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        visible = Collection.objects.visible_to(self.viewer)
        self.fields["collections"].choices = list(visible.values_list("slug", "name"))  # type: ignore[attr-defined]
        first = self.instance.must_be_first if self.instance.pk else None
        if first is not None and self._may_see(first):
            self.initial["must_be_first"] = str(first.public_id)
            self.fields["must_be_first"].help_text += " " + gettext("Currently: “%(title)s”.") % {
                "title": first.title
            }
        elif first is not None:
            # A person who may not see it must not replace it.
            del self.fields["must_be_first"]

    def _may_see(self, document: Document) -> bool:
        return Document.objects.visible_to(self.viewer).filter(pk=document.pk).exists()

    def clean_must_be_first(self) -> Document | None:
        name = str(self.cleaned_data["must_be_first"]).strip()
        try:
            return exchange.find_document(name, viewer=self.viewer) if name else None
        except JudgementError as error:
            raise forms.ValidationError(capfirst(str(error))) from error

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            self._write(cleaned)
        return cleaned

    def _write(self, cleaned: dict[str, Any]) -> None:
        """Save the query during validation, so that errors of the service become form errors.

        The admin's view is one transaction, which a later failure rolls back.
        """
        names = ("text", "collections", "query_class", "enabled", "note", "must_be_first")
        fields = {name: cleaned[name] for name in names if name in cleaned}
        try:
            with transaction.atomic():
                if self.instance.pk:
                    query = golden.edit(self.instance, fields, acting_user=self.viewer)
                else:
                    query = golden.create(
                        cleaned["text"], cleaned["collections"], fields, acting_user=self.viewer
                    )
                if self.viewer.has_perm(JUDGE):
                    judge(self.data, query, self.viewer)
        except SearchError as error:  # also what a search of the text raises
            raise forms.ValidationError(capfirst(str(error))) from error
        self.written = query

    def _post_clean(self) -> None:
        """Do nothing: the service has validated and saved the row."""


class JudgementImportForm(forms.Form):
    """A file of judgements."""

    file = forms.FileField(widget=UnfoldAdminFileFieldWidget)
    file_format = forms.ChoiceField(
        label=_("Format"),
        choices=[(name, each.label) for name, each in FORMATS.items()],
        widget=UnfoldAdminSelectWidget,
    )
    queries = forms.FileField(
        required=False,
        widget=UnfoldAdminFileFieldWidget,
        help_text=_("BEIR’s queries.jsonl, unless the file is a ZIP that contains it."),
    )
    judge = forms.CharField(
        required=False,
        max_length=150,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("The judge of lines that name none."),
    )


class GoldenPages(OwnPages[GoldenQuery]):
    """Pages of the golden queries' ModelAdmin: import and export."""

    @own_page("import/")
    @states(most_bytes="MAX_UPLOAD_BYTES")
    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Import a file of judgements, and show the rejected lines."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = JudgementImportForm(request.POST or None, request.FILES or None)
        result = None
        if request.method == "POST" and form.is_valid():
            fields = form.cleaned_data
            try:
                result = exchange.import_file(
                    fields["file_format"],
                    fields["file"].read(),
                    queries=fields["queries"].read() if fields["queries"] else None,
                    judge=fields["judge"],
                    acting_user=actor(request),
                )
            except SearchError as error:
                form.add_error("file", str(error))
        context = {"form": form, "done": result}
        return self.page(
            request, "tuning/goldenquery/import.html", gettext("Import judgements"), context
        )

    @own_page("export/")
    def export_view(self, request: HttpRequest) -> HttpResponse:
        if not request.user.has_perm("tuning.view_judgement"):
            raise PermissionDenied
        try:
            chosen, content = exchange.export(request.GET.get("to", "csv"), viewer=request.user)
        except JudgementError as error:
            self.message_user(request, str(error), messages.ERROR)
            return redirect("admin:tuning_goldenquery_changelist")
        headers = {"Content-Disposition": f'attachment; filename="{chosen.file_name}"'}
        return HttpResponse(content, content_type=chosen.media_type, headers=headers)
