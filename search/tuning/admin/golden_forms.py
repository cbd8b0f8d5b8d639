"""W3: the forms of golden queries: one query, and a file of judgements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.db import transaction
from django.utils.text import capfirst
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
    """A golden query; documents are named as people know them."""

    collections = forms.MultipleChoiceField(
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="Where it is asked; none ticked: in all. Only people who may read these see it.",
    )
    must_be_first = forms.CharField(
        required=False,
        max_length=1000,
        widget=UnfoldAdminTextInputWidget,
        help_text="The document that must be the first result: its id, source, file name or title. "
        "A profile that pushes it off is not published.",
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
            self.fields["must_be_first"].help_text += f" Now: “{first.title}”."
        elif first is not None:
            # Whoever cannot see it cannot know what they would replace.
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
        """Writes the query in the form's validation: the services know what is wrong, and say it.

        The admin's view is one transaction, which a later failure takes back.
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
        """Nothing: the service has checked and written the row."""


class ImportForm(forms.Form):
    """A file of judgements."""

    file = forms.FileField(widget=UnfoldAdminFileFieldWidget)
    file_format = forms.ChoiceField(
        label="Format",
        choices=[(name, each.label) for name, each in FORMATS.items()],
        widget=UnfoldAdminSelectWidget,
    )
    queries = forms.FileField(
        required=False,
        widget=UnfoldAdminFileFieldWidget,
        help_text="The topics (TREC) or queries.jsonl (BEIR), where the file is no ZIP that holds "
        "them.",
    )
    judge = forms.CharField(
        required=False,
        max_length=150,
        widget=UnfoldAdminTextInputWidget,
        help_text="Who judged, where the file does not say.",
    )
