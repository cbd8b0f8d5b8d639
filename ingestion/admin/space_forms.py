"""The forms of embedding spaces: a new one's model, and what may change of one later."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from ingestion.errors import IngestionError
from ingestion.models import EmbeddingSpace
from ingestion.spaces import changes

KINDS = (
    ("openai", "A server that speaks OpenAI's protocol"),
    ("local", "An ONNX folder, in the workers"),
)
LIMITS_FORM = {
    "requests_per_minute": UnfoldAdminIntegerFieldWidget,
    "tokens_per_minute": UnfoldAdminIntegerFieldWidget,
    "price": UnfoldAdminDecimalFieldWidget,
}


def _text(label: str, words: str) -> forms.CharField:
    return forms.CharField(
        label=label, help_text=words, required=False, widget=UnfoldAdminTextInputWidget
    )


def _number(label: str, words: str) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        help_text=words,
        required=False,
        min_value=1,
        widget=UnfoldAdminIntegerFieldWidget,
    )


class SpaceForm(forms.ModelForm):  # type: ignore[type-arg]
    """What may change of a space: its name, limits and price."""

    class Meta:
        model = EmbeddingSpace
        fields = ("name", *changes.LIMITS)
        widgets = {"name": UnfoldAdminTextInputWidget, **LIMITS_FORM}

    @property
    def limits(self) -> dict[str, Any]:
        """The limits and the price as they were filled in."""
        return {name: self.cleaned_data[name] for name in changes.LIMITS}


class NewSpaceForm(SpaceForm):
    """The model of a new space. It is asked for a vector before the form is taken."""

    kind = forms.ChoiceField(choices=KINDS, widget=UnfoldAdminSelectWidget)
    model = _text("Model", "For a server: the model's name, as its provider writes it.")
    base_url = _text(
        "Address",
        "For a server: where it answers (https://models.example.org/v1). Empty: OpenAI's own.",
    )
    api_key_env = _text(
        "Name of the variable with the key",
        "For a server: the environment variable that holds this provider's key, in the web server "
        "and the workers. Empty: OPENAI_API_KEY at the address of the settings, none elsewhere.",
    )
    dimensions_asked = _number(
        "Dimensions", "For a server whose model offers a choice; empty: as it comes."
    )
    folder = _text(
        "Folder", "For a folder: sentence-transformers with ONNX. Empty: the packaged model."
    )
    query_prefix = _text("Prefix of a question", "Where the model wants one.")
    document_prefix = _text("Prefix of a passage", "Where the model wants one.")
    max_tokens_read = _number("Tokens read", "The longest text; empty: what the model says.")
    knows = _text("Languages", "ISO 639-1 codes with commas, as “en, de”; empty: many.")

    field_order = (
        "kind", "name", "model", "base_url", "api_key_env", "dimensions_asked", "folder",
        "query_prefix", "document_prefix", "max_tokens_read", "knows",
    )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].required = False
        self.fields["name"].help_text = "Empty: the model's own."

    @property
    def options(self) -> dict[str, Any]:
        """The model's options, without those that are left to it."""
        data = self.cleaned_data
        codes = [code.strip().lower() for code in data["knows"].split(",")]
        options = {
            **{name: data[name] for name in ("model", "base_url", "api_key_env", "folder")},
            **{name: data[name] for name in ("query_prefix", "document_prefix")},
            "dimensions": data["dimensions_asked"],
            "max_tokens": data["max_tokens_read"],
            "languages": [code for code in codes if code],
        }
        return {name: value for name, value in options.items() if value}

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if not self.errors:
            try:
                changes.try_model(self.cleaned_data["kind"], self.options)
            except IngestionError as error:
                raise forms.ValidationError(str(error)) from error
        return cleaned

    def _post_clean(self) -> None:
        """Nothing: the row is made by `space_changes`, and lacks what only the model knows."""
