"""Form fields that the library's forms share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.conf.locale import LANG_INFO
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from ingestion.admin.metadata import MetadataField
from ingestion.models import Collection
from ingestion.models.library import Viewer


def language_name(code: str) -> str:
    """The English name of an ISO 639-1 code; the code itself where none is known."""
    return str(LANG_INFO.get(code, {}).get("name", code))


def language_choices(empty: str, current: str = "") -> list[tuple[str, str]]:
    """Every language with a two-letter code, by name, after `empty`; `current` is never missing."""
    codes = {code for code in LANG_INFO if len(code) == 2} | ({current} if current else set())
    named = sorted((language_name(code), code) for code in codes)
    return [("", empty), *((code, f"{name} ({code})") for name, code in named)]


class LanguageField(forms.ChoiceField):
    """A language by its name; `empty` says what happens without one."""

    def __init__(self, *, empty: str, current: str = "", **kwargs: Any) -> None:
        choices = language_choices(empty, current)
        kwargs = {"required": False, "widget": UnfoldAdminSelectWidget, **kwargs}
        super().__init__(choices=choices, **kwargs)


class IntakeForm(forms.Form):
    """Where documents go: a collection that `viewer` may read, chosen where there is just one."""

    collection = forms.ModelChoiceField(
        Collection.objects.none(), widget=UnfoldAdminSelectWidget, empty_label="Choose a collection"
    )
    metadata = MetadataField()

    def __init__(self, *args: Any, viewer: Viewer, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        visible = Collection.objects.visible_to(viewer)
        self.fields["collection"].queryset = visible  # type: ignore[attr-defined]
        if len(visible) == 1:
            self.initial.setdefault("collection", visible[0])


class LinesField(forms.CharField):
    """A list of strings, one a line: unlike ArrayField's own field it allows a comma in one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(widget=UnfoldAdminTextareaWidget(attrs={"rows": 4}), **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list | tuple) else value

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value) or ""
        return [line.strip() for line in text.splitlines() if line.strip()]

    def validate(self, value: Any) -> None:
        if self.required and not value:
            super().validate("")

    def run_validators(self, value: Sequence[str]) -> None:
        for line in value:
            super().run_validators(line)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(list(initial or []) != self.to_python(data))
