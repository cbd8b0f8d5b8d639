"""The fields of a search's address: any input is cleaned, or refused with a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from search.errors import InvalidFilter
from search.pages.facets import Option
from search.pages.library import NEWEST, SORTS
from search.query.fields import metadata_filter
from search.query.parse import clean_text

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise

BY_DATE = "date"  # the order of results
MOST_CONDITIONS = 50  # as many as the API takes


class QueryField(forms.CharField):
    """The query, cleaned as by the parser; any input is valid."""

    def to_python(self, value: Any) -> str:
        return clean_text(super().to_python(value) or "")


class PageField(forms.Field):
    """A page number; 1 for invalid input."""

    def to_python(self, value: Any) -> int:
        text = str(value or "")
        # No page has a longer number, and Python refuses to parse very long ones.
        return max(1, int(text)) if text.isdecimal() and len(text) < 10 else 1


class ValuesField(forms.MultipleChoiceField):
    """Values out of the readable ones. Hidden and missing values give the same message."""

    def __init__(self, invalid: StrPromise, options: Callable[[], tuple[Option, ...]]) -> None:
        super().__init__(
            choices=lambda: [(option.value, option.label) for option in options()],
            required=False,
            error_messages={"invalid_choice": invalid},
        )


class MetadataFilterField(forms.MultipleChoiceField):
    """Conditions on metadata. Unknown keys and values are valid and match nothing."""

    widget = forms.SelectMultiple

    def to_python(self, value: Any) -> list[str]:
        return [text for one in super().to_python(value) if (text := clean_text(one))]

    def validate(self, value: list[str]) -> None:
        if len(value) > MOST_CONDITIONS:
            raise forms.ValidationError(
                gettext("Set at most %(most)d conditions on metadata.") % {"most": MOST_CONDITIONS}
            )
        try:
            for one in value:
                metadata_filter(one)
        except InvalidFilter as error:
            raise forms.ValidationError(str(error)) from error


class ConceptField(forms.MultipleChoiceField):
    """Keys of concepts. Unknown ones are valid and match nothing."""

    widget = forms.SelectMultiple

    def to_python(self, value: Any) -> list[str]:
        given = [clean_text(one)[:200] for one in super().to_python(value)]
        return list(dict.fromkeys(filter(None, given)))

    def validate(self, value: list[str]) -> None:
        if len(value) > MOST_CONDITIONS:
            raise forms.ValidationError(
                gettext("Choose at most %(most)d concepts.") % {"most": MOST_CONDITIONS}
            )


class DayField(forms.DateField):
    def __init__(self, label: StrPromise, invalid: StrPromise) -> None:
        super().__init__(label=label, required=False, error_messages={"invalid": invalid})


class DocumentField(forms.UUIDField):
    """A document's public id. A hidden or missing one gives no results."""

    default_error_messages = {"invalid": _("Not the id of a document. Search without it.")}


class GroupField(forms.Field):
    """Empty, or `false` to list every passage separately."""

    def to_python(self, value: Any) -> str:
        return "false" if str(value or "").lower() in {"false", "0", "no", "off"} else ""


class FlagField(forms.Field):
    """`1` if set; empty otherwise."""

    def to_python(self, value: Any) -> str:
        return "1" if str(value or "").lower() in {"true", "1", "yes", "on"} else ""


class SortField(forms.Field):
    """An order: `date` of results, one of SORTS of the library; empty for the usual one."""

    def to_python(self, value: Any) -> str:
        return value if value in (BY_DATE, *SORTS) and value != NEWEST else ""
