"""Form fields shared by the forms of the ingestion admin, metadata among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf.locale import LANG_INFO
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from ingestion.errors import InvalidMetadata
from ingestion.metadata import as_lines, from_lines
from ingestion.models import Collection
from ingestion.models.library import language_name, validate_metadata_key

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


class MetadataField(forms.CharField):
    """A document's metadata; an empty field is empty metadata."""

    def __init__(self) -> None:
        super().__init__(
            required=False,
            widget=UnfoldAdminTextareaWidget(attrs={"rows": 4, "spellcheck": "false"}),
            help_text=_(
                "One “key: value” a line, such as department: Sales or due: 2026-01-31. Several "
                'values are a list: tags: ["pump", "valve"].'
            ),
        )

    def prepare_value(self, value: Any) -> Any:
        return as_lines(value) if isinstance(value, Mapping) else value

    def to_python(self, value: Any) -> Any:
        try:
            return from_lines(super().to_python(value) or "")
        except InvalidMetadata as error:
            raise ValidationError(str(error), code=error.code) from error

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool((initial or {}) != self.to_python(data))
        except ValidationError:
            return True


class MetadataKeysField(forms.CharField):
    """The keys that a collection offers, one a line."""

    def __init__(self) -> None:
        super().__init__(
            label=_("Metadata filters"),
            required=False,
            widget=UnfoldAdminTextareaWidget(attrs={"rows": 4, "spellcheck": "false"}),
            help_text=_(
                "One key of the documents' metadata a line, such as department. The search page "
                "offers its most frequent values as filters."
            ),
        )

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        lines = (super().to_python(value) or "").splitlines()
        return [line.strip() for line in lines if line.strip()]

    def run_validators(self, value: Any) -> None:
        for key in value:
            validate_metadata_key(key)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(list(initial or []) != self.to_python(data))


def language_choices(empty: StrOrPromise, current: str = "") -> list[tuple[str, StrOrPromise]]:
    """`empty`, then all languages with a two-letter code by name, and `current` in any case."""
    codes = {code for code in LANG_INFO if len(code) == 2} | ({current} if current else set())
    named = sorted((language_name(code), code) for code in codes)
    return [("", empty), *((code, f"{name} ({code})") for name, code in named)]


class LanguageField(forms.ChoiceField):
    """A choice of a language by name; `empty` is the label of no choice."""

    def __init__(self, *, empty: StrOrPromise, current: str = "", **kwargs: Any) -> None:
        choices = language_choices(empty, current)
        kwargs = {"required": False, "widget": UnfoldAdminSelectWidget, **kwargs}
        super().__init__(choices=choices, **kwargs)


LAST_COLLECTION = "last_collection"


class IntakeForm(forms.Form):
    """The collection for new documents, among those the user may read.

    Preset is the one that received the user's last documents in this session, or the only one.
    """

    collection = forms.ModelChoiceField(
        Collection.objects.none(),
        widget=UnfoldAdminSelectWidget,
        empty_label=_("Choose a collection"),
    )
    metadata = MetadataField()

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        visible = Collection.objects.visible_to(request.user)
        self.fields["collection"].queryset = visible  # type: ignore[attr-defined]
        last = request.session.get(LAST_COLLECTION)
        preset = [one for one in visible if one.pk == last or len(visible) == 1]
        if preset:
            self.initial.setdefault("collection", preset[0].pk)

    def remember(self, request: HttpRequest) -> None:
        """Preset this collection in the user's next form."""
        request.session[LAST_COLLECTION] = self.cleaned_data["collection"].pk


class LinesField(forms.CharField):
    """A list of strings, one per line; unlike ArrayField's own field it allows commas."""

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
