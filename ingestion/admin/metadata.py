"""Metadata in the forms of the admin: one “key: value” a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget

from ingestion.errors import InvalidMetadata
from ingestion.metadata import as_lines, from_lines
from ingestion.models.library import validate_metadata_key


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
