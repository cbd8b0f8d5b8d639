"""The form of a new embedding space: its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from ingestion.errors import IngestionError
from ingestion.models import EmbeddingSpace
from ingestion.spaces import changes

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

KINDS = (
    ("openai", _("A server with an OpenAI-compatible API")),
    ("fastembed", _("A model that fastembed runs on this machine")),
    ("local", _("MiniLM, or an ONNX folder, on this machine")),
)


def _text(label: StrOrPromise, help_text: StrOrPromise) -> forms.CharField:
    return forms.CharField(
        label=label, help_text=help_text, required=False, widget=UnfoldAdminTextInputWidget
    )


def _number(label: StrOrPromise, help_text: StrOrPromise) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        help_text=help_text,
        required=False,
        min_value=1,
        widget=UnfoldAdminIntegerFieldWidget,
    )


class NewSpaceForm(forms.ModelForm):  # type: ignore[type-arg]
    """The model of a new space. Validation requests a test vector from it."""

    class Meta:
        model = EmbeddingSpace
        fields = ("name",)
        widgets = {"name": UnfoldAdminTextInputWidget}

    kind = forms.ChoiceField(choices=KINDS, widget=UnfoldAdminSelectWidget)
    model = _text(
        _("Model"),
        _(
            "For a server: the provider's name of the model. For fastembed: a name of the list "
            "under Embedding spaces; its files are fetched when you save."
        ),
    )
    base_url = _text(
        _("Address"),
        _(
            "For a server: its base URL (https://models.example.org/v1), one that "
            "EMBEDDING_ADDRESSES lists. Empty: OpenAI's own."
        ),
    )
    api_key_env = _text(
        _("API key variable"),
        _(
            "For a server: the environment variable with this provider's key, set for the web "
            "server and the workers, one that EMBEDDING_KEY_VARIABLES lists. Empty: "
            "OPENAI_API_KEY for the address in the settings, no key for others."
        ),
    )
    dimensions_asked = _number(
        _("Dimensions"), _("For a server whose model supports several; empty: the model's default.")
    )
    folder = _text(
        _("Folder"), _("For a folder: a sentence-transformers ONNX model. Empty: MiniLM.")
    )
    query_folder = _text(
        _("Folder for questions"), _("Another folder whose model embeds the questions alone.")
    )
    query_prefix = _text(_("Query prefix"), _("If the model requires one."))
    document_prefix = _text(_("Passage prefix"), _("If the model requires one."))
    max_tokens_read = _number(_("Maximum tokens"), _("The longest text; empty: the model's limit."))
    knows = _text(_("Languages"), _("ISO 639-1 codes, such as “en, de”; empty: multilingual."))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].required = False
        self.fields["name"].help_text = _("Empty: the model's name.")

    @property
    def options(self) -> dict[str, Any]:
        """The model's options, without empty ones."""
        data = self.cleaned_data
        codes = [code.strip().lower() for code in data["knows"].split(",")]
        options = {
            **{name: data[name] for name in ("model", "base_url", "api_key_env", "folder")},
            **{name: data[name] for name in ("query_folder", "query_prefix", "document_prefix")},
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
        """Skip the row's validation: `spaces.changes` creates it, with fields from the model."""
