"""A search as it stands in the address: the query, the filters, the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.urls import reverse

from search.analytics.interactions import Said
from search.analytics.models import Interaction
from search.errors import InvalidFilter
from search.pages.facets import Facets, Option
from search.query.fields import metadata_filter
from search.query.parse import clean_text
from search.retrieval import Filters

FILTER_FIELDS = ("collection", "document", "type", "language", "meta", "after", "before")
MOST_CONDITIONS = 50  # as many as the API takes


class QueryField(forms.CharField):
    """The query, cleaned as the parser cleans it: whatever is typed is no error of the form."""

    def to_python(self, value: Any) -> str:
        return clean_text(super().to_python(value) or "")


class PageField(forms.Field):
    """A page's number; 1 for anything that is none."""

    def to_python(self, value: Any) -> int:
        text = str(value or "")
        # Longer numbers name no page, and Python refuses to read the longest.
        return max(1, int(text)) if text.isdecimal() and len(text) < 10 else 1


class ValuesField(forms.MultipleChoiceField):
    """Values of which each must be offered. What is hidden and what is not there read the same."""

    def __init__(self, noun: str, options: Callable[[], tuple[Option, ...]]) -> None:
        super().__init__(
            choices=lambda: [(option.value, option.label) for option in options()],
            required=False,
            error_messages={
                "invalid_choice": f"There is no {noun} “%(value)s” here that you may read. "
                "Choose one from the list."
            },
        )


class MetadataField(forms.MultipleChoiceField):
    """Conditions on metadata. Any key and value may be asked for: a wrong one finds nothing."""

    widget = forms.SelectMultiple

    def to_python(self, value: Any) -> list[str]:
        return [text for one in super().to_python(value) if (text := clean_text(one))]

    def validate(self, value: list[str]) -> None:
        if len(value) > MOST_CONDITIONS:
            raise forms.ValidationError(f"Set at most {MOST_CONDITIONS} conditions on metadata.")
        try:
            for one in value:
                metadata_filter(one)
        except InvalidFilter as error:
            raise forms.ValidationError(str(error)) from error


class DayField(forms.DateField):
    def __init__(self, label: str) -> None:
        super().__init__(
            label=label,
            required=False,
            error_messages={"invalid": f"“{label}” is no date. Write it like 2026-01-31."},
        )


class DocumentField(forms.UUIDField):
    """A document's public id. One that is hidden or not there finds nothing."""

    default_error_messages = {"invalid": "That is no address of a document. Search without it."}


class GroupField(forms.Field):
    """Empty, or `false`: every passage in a place of its own."""

    def to_python(self, value: Any) -> str:
        return "false" if str(value or "").lower() in {"false", "0", "no", "off"} else ""


class ExactField(forms.Field):
    """`1` where the query is meant as typed; empty otherwise."""

    def to_python(self, value: Any) -> str:
        return "1" if str(value or "").lower() in {"true", "1", "yes", "on"} else ""


class SearchForm(forms.Form):
    """The search that an address asks for. `facets` is called only when something needs it."""

    def __init__(self, data: Mapping[str, Any], facets: Callable[[], Facets]) -> None:
        super().__init__(data)
        self._facets = facets
        self.fields = {
            "q": QueryField(required=False),
            "collection": ValuesField("collection", lambda: facets().collections),
            "type": ValuesField("type", lambda: facets().types),
            "language": ValuesField("language", lambda: facets().languages),
            "meta": MetadataField(required=False),
            "document": DocumentField(required=False),
            "after": DayField("From"),
            "before": DayField("To"),
            "profile": QueryField(required=False),
            "group": GroupField(required=False),
            "exact": ExactField(required=False),
            "page": PageField(required=False),
        }

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        after, before = cleaned.get("after"), cleaned.get("before")
        if after and before and after > before:
            self.add_error(
                "after",
                f"“From” ({after}) lies after “To” ({before}). Exchange the two dates.",
            )
        return cleaned

    @property
    def query(self) -> str:
        """The query, also of a form whose filters are wrong."""
        text: str = self.cleaned_data.get("q", "")
        return text

    @property
    def filters(self) -> Filters:
        """The filters of a valid form."""
        cleaned = self.cleaned_data
        return Filters(
            collections=tuple(cleaned["collection"]),
            media_types=tuple(cleaned["type"]),
            languages=tuple(cleaned["language"]),
            after=cleaned["after"],
            before=cleaned["before"],
            documents=(cleaned["document"],) if cleaned["document"] else (),
            metadata=tuple(dict.fromkeys(map(metadata_filter, cleaned["meta"]))),
        )

    @property
    def other_metadata(self) -> tuple[str, ...]:
        """The conditions on metadata that are set and that no facet offers."""
        offered = {one.value for facet in self._facets().metadata for one in facet.options}
        return tuple(one for one in self.cleaned_data.get("meta", ()) if one not in offered)

    @property
    def groups(self) -> bool:
        """Whether each document stands once: not where all passages, or one's, are asked for."""
        return not self.cleaned_data["group"] and not self.cleaned_data["document"]

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, in sentences."""
        return tuple(str(text) for texts in self.errors.values() for text in texts)

    @property
    def narrowed(self) -> int:
        """How many filters are set."""
        return sum(name in FILTER_FIELDS for name, _ in self._asked())

    def address(self, **changes: Any) -> str:
        """The address of this search with `changes`, without what is empty; `page` is left out."""
        asked = [(name, value) for name, value in self._asked() if name not in changes]
        asked += [(name, value) for name, value in changes.items() if value]
        path = reverse("search:page")
        return f"{path}?{urlencode(asked)}" if asked else path

    def address_without_filters(self) -> str:
        return self.address(**dict.fromkeys(FILTER_FIELDS))

    def address_grouped(self) -> str:
        return self.address(group=None)

    def address_ungrouped(self) -> str:
        return self.address(group="false")

    def address_of_all_documents(self) -> str:
        return self.address(document=None)

    def address_exact(self) -> str:
        return self.address(exact="1")

    def address_without_profile(self) -> str:
        return self.address(profile=None)

    def _asked(self) -> Iterator[tuple[str, Any]]:
        for name in ("q", *FILTER_FIELDS, "profile", "group", "exact"):
            value = self.cleaned_data.get(name)
            for one in value if isinstance(value, list) else [value]:
                if one:
                    yield name, one


class InteractionForm(forms.Form):
    """What the page reports of a search: a click, reading time, a thumb or an answer."""

    kind = forms.ChoiceField(choices=Interaction.Kind.choices)
    document = forms.UUIDField(required=False)
    seconds = forms.FloatField(required=False, min_value=0)
    undo = forms.BooleanField(required=False)
    # Where to go on without scripts: the search's own address.
    back = forms.CharField(required=False, max_length=4000)

    @property
    def said(self) -> Said:
        given = self.cleaned_data
        return Said(
            kind=Interaction.Kind(given["kind"]),
            document=given["document"],
            seconds=given["seconds"],
            undo=given["undo"],
        )
