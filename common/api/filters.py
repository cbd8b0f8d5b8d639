"""List filters with repeatable parameters, and with the choices in their error messages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import MaxLengthValidator, ProhibitNullCharactersValidator
from django_filters import filters
from django_filters.rest_framework import FilterSet

__all__ = ["ChoicesFilter", "FilterSet", "ValuesFilter"]

MAX_VALUES = 50


class _ValuesField(forms.MultipleChoiceField):
    """A field for arbitrary values instead of choices."""

    def validate(self, value: Any) -> None:
        MaxLengthValidator(MAX_VALUES)(value)
        for each in value:
            ProhibitNullCharactersValidator()(each)


class _ChoicesField(forms.MultipleChoiceField):
    """A field whose error message lists the valid choices."""

    def validate(self, value: Any) -> None:
        choices: Any = self.choices
        known = [str(key) for key, _ in choices]
        for each in value:
            if each not in known:
                raise forms.ValidationError(
                    f"“{each}” is not a valid choice. Use one of: {', '.join(known)}."
                )


class ValuesFilter(filters.MultipleChoiceFilter):  # type: ignore[misc]
    """Filter rows by any of the values; the parameter may be repeated."""

    field_class: type[forms.MultipleChoiceField] = _ValuesField

    def is_noop(self, qs: Any, value: Any) -> bool:
        return not value


class ChoicesFilter(ValuesFilter):
    """Filter rows by any of the choices; the parameter may be repeated."""

    field_class = _ChoicesField
