"""Form fields shared by the admin pages of the library."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf.locale import LANG_INFO
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundField
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from common.admin.mixins import actor
from ingestion.collections import save
from ingestion.errors import InvalidMetadata
from ingestion.metadata import as_lines, from_lines
from ingestion.models import Collection
from ingestion.models.collections import language_name, validate_metadata_key

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


class MetadataFormField(forms.CharField):
    """A document's metadata; an empty field is empty metadata."""

    def __init__(self) -> None:
        super().__init__(
            label=_("Metadata"),
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


class LanguageFormField(forms.ChoiceField):
    """A choice of a language by name; `empty` is the label of no choice."""

    def __init__(self, *, empty: StrOrPromise, **kwargs: Any) -> None:
        super().__init__(required=False, widget=UnfoldAdminSelectWidget, **kwargs)
        self._empty = empty

    def get_bound_field(self, form: forms.BaseForm, field_name: str) -> BoundField:
        """Offer all languages with a two-letter code by name, and the current one in any case."""
        current = str(form.get_initial_for_field(self, field_name) or "")
        codes = {code for code in LANG_INFO if len(code) == 2} | ({current} if current else set())
        names = sorted((language_name(code), code) for code in codes)
        self.choices = [("", self._empty), *((code, f"{name} ({code})") for name, code in names)]
        return super().get_bound_field(form, field_name)


LAST_COLLECTION = "last_collection"
NEW = "new"


class _CollectionField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """One of the collections; NEW is an unsaved one for whoever may add it."""

    may_add = False

    def to_python(self, value: Any) -> Any:
        return Collection() if value == NEW and self.may_add else super().to_python(value)


class IntakeForm(forms.Form):
    """The collection for new documents, among those the user may read.

    Initially the collection of the user's last documents in this session, or the only one.
    """

    collection = _CollectionField(
        Collection.objects.none(),
        label=_("Collection"),
        widget=UnfoldAdminSelectWidget,
        empty_label=_("Choose a collection"),
    )
    new_collection = forms.CharField(
        label=_("Name of the new collection"),
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("All who sign in may read it until that is changed under Collections."),
    )
    metadata = MetadataFormField()

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        visible = self._visible = Collection.objects.visible_to(request.user)
        field: Any = self.fields["collection"]
        field.queryset = visible
        field.may_add = request.user.has_perm("ingestion.add_collection")
        if field.may_add:
            field.widget.choices = [*field.choices, (NEW, _("New collection…"))]
        else:
            del self.fields["new_collection"]
        last = request.session.get(LAST_COLLECTION)
        for one in visible:
            if one.pk == last or len(visible) == 1:
                self.initial.setdefault("collection", one.pk)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        chosen, name = cleaned.get("collection"), cleaned.get("new_collection", "")
        if chosen is not None and chosen.pk is None:
            # If the form is sent again after another error, the collection already exists.
            chosen = self._visible.filter(name=name).first() or Collection(name=name)
            try:
                chosen.full_clean()
            except ValidationError as error:
                self.add_error("new_collection", error.messages)
        return cleaned | {"collection": chosen}

    def destination(self, request: HttpRequest) -> Collection:
        """The collection, stored if it is new. Raises StateConflict if its name was taken."""
        chosen: Collection = self.cleaned_data["collection"]
        return chosen if chosen.pk else save(chosen, (), None, acting_user=actor(request))

    def remember(self, request: HttpRequest) -> None:
        """Preset this collection in the user's next form."""
        request.session[LAST_COLLECTION] = self.cleaned_data["collection"].pk


class LinesField(forms.CharField):
    """A list of strings, one per line; unlike ArrayField's own field it allows commas."""

    widget: Any = UnfoldAdminTextareaWidget(attrs={"rows": 4})
    joint, divider = "\n", re.compile(r"[\r\n]")

    def prepare_value(self, value: Any) -> Any:
        return self.joint.join(value) if isinstance(value, list | tuple) else value

    def to_python(self, value: Any) -> Any:
        texts = self.divider.split(super().to_python(value) or "")
        return [text.strip() for text in texts if text.strip()]

    def validate(self, value: Any) -> None:
        if self.required and not value:
            super().validate("")

    def run_validators(self, value: Sequence[str]) -> None:
        for line in value:
            super().run_validators(line)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(list(initial or []) != self.to_python(data))


class ListField(LinesField):
    """Strings with commas between them."""

    widget = UnfoldAdminTextInputWidget
    joint, divider = ", ", re.compile(",")


class MetadataKeysField(LinesField):
    """The keys that a collection offers."""

    default_validators = [validate_metadata_key]

    def __init__(self) -> None:
        super().__init__(
            label=_("Metadata filters"),
            required=False,
            help_text=_(
                "One key of the documents' metadata a line, such as department. The search page "
                "offers its most frequent values as filters."
            ),
        )
        self.widget.attrs["spellcheck"] = "false"
