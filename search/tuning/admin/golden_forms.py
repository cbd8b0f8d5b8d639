"""Golden queries in the admin: forms and pages of their own, and the list of judgements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.db import transaction
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminFileFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from ingestion.models import Collection, Document
from search.errors import JudgementError
from search.tuning.golden import exchange, queries
from search.tuning.golden.formats import FORMATS
from search.tuning.models import GoldenQuery

if TYPE_CHECKING:
    from common.accounts.models import User


class GoldenQueryForm(forms.ModelForm):  # type: ignore[type-arg]
    """A golden query; the document is named by id, source, file name or title."""

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
            self.fields["must_be_first"].help_text += f" Currently: “{first.title}”."
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
                    done = queries.edit(self.instance, fields, acting_user=self.viewer)
                else:
                    done = queries.create(
                        cleaned["text"], cleaned["collections"], fields, acting_user=self.viewer
                    )
        except JudgementError as error:
            raise forms.ValidationError(str(error)) from error
        self.written = done

    def _post_clean(self) -> None:
        """Do nothing: the service has validated and saved the row."""


class ImportForm(forms.Form):
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
        help_text=_(
            "The topics (TREC) or queries.jsonl (BEIR), unless the file is a ZIP that "
            "contains them."
        ),
    )
    judge = forms.CharField(
        required=False,
        max_length=150,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("The judge of lines that name none."),
    )
