"""The search as its address states it; any input is cleaned, or refused with a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from search.errors import InvalidFilter
from search.pages.facets import Facets, Option, type_label
from search.pages.library import BY_DATE, NEWEST, SORTS
from search.pipeline import Choices
from search.query.field_operators import metadata_filter
from search.query.parse import clean_text, without_filters
from search.retrieval import Filters
from search.retrieval import facets as facets_of_parts

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise

_FILTERS = ("collection", "document", "type", "language", "meta", "after", "before", "current")
# In bytes. Gunicorn accepts request lines of 8,190, most proxies of 8,192; the rest is for a page
# number and the sign-in page.
LONGEST_ADDRESS = 7500
MOST_CONDITIONS = 50  # as many as the API takes
# The addresses that the page links to, by what they change in the search.
_LINKS: Mapping[str, Mapping[str, Any]] = {
    "by_date": {"sort": BY_DATE},
    "by_relevance": {"sort": None},
    "grouped": {"group": None},
    "ungrouped": {"group": "false"},
    "of_all_documents": {"document": None},
    "insisting": {"insist": "1"},
    "not_insisting": {"insist": None},
    "exact": {"exact": "1"},
    "without_profile": {"profile": None},
}


def filter_fields() -> tuple[str, ...]:
    """The names of the fields that filter."""
    return (*_FILTERS, *(facet.name for facet in facets_of_parts.installed()))


class QueryField(forms.CharField):
    """The query, cleaned as by the parser; any input is valid."""

    def to_python(self, value: Any) -> str:
        return clean_text(super().to_python(value) or "")


class ValuesField(forms.MultipleChoiceField):
    """Values out of the readable ones. Hidden and missing values give the same message."""

    def __init__(self, invalid: StrPromise, options: Callable[[], tuple[Option, ...]]) -> None:
        super().__init__(
            choices=lambda: [(option.value, option.label) for option in options()],
            required=False,
        )
        self._invalid = invalid

    def validate(self, value: Any) -> None:
        for each in value:
            if not self.valid_value(each):
                raise forms.ValidationError(self._invalid % {"value": type_label(each)})


class TextsField(forms.MultipleChoiceField):
    """Conditions on metadata, or keys of a facet. Unknown ones are valid and match nothing."""

    widget = forms.SelectMultiple

    def __init__(self, too_many: StrPromise, check: Callable[[str], object] = str) -> None:
        super().__init__(required=False)
        self._too_many, self._check = too_many, check

    def to_python(self, value: Any) -> list[str]:
        return list(dict.fromkeys(filter(None, map(clean_text, super().to_python(value)))))

    def validate(self, value: list[str]) -> None:
        if len(value) > MOST_CONDITIONS:
            raise forms.ValidationError(self._too_many % {"most": MOST_CONDITIONS})
        try:
            for each in value:
                self._check(each)
        except InvalidFilter as error:
            raise forms.ValidationError(str(error)) from error


class PageField(forms.Field):
    """A page number; 1 for invalid input."""

    def to_python(self, value: Any) -> int:
        text = str(value or "")
        # No page has a longer number, and Python refuses to parse very long ones.
        return max(1, int(text)) if text.isdecimal() and len(text) < 10 else 1


class FlagField(forms.Field):
    """`value` if the input is one of the `words`, in any case; else empty."""

    def __init__(self, value: str = "1", words: str = "true 1 yes on") -> None:
        super().__init__(required=False)
        self._value, self._words = value, words.split()

    def to_python(self, value: Any) -> str:
        return self._value if str(value or "").lower() in self._words else ""


class SortField(forms.Field):
    """An order: `date` of results, one of SORTS of the library; empty for the usual one."""

    def to_python(self, value: Any) -> str:
        return value if value in (BY_DATE, *SORTS) and value != NEWEST else ""


class SearchForm(forms.Form):
    """The search that an address describes, or a list of documents if it has no query.

    `facets` is called only if needed. `is_library`: the address is the library's.
    """

    longest_address = LONGEST_ADDRESS

    def __init__(
        self, data: Mapping[str, Any], facets: Callable[[], Facets], *, is_library: bool = False
    ) -> None:
        super().__init__(data)
        self._facets = facets
        self._is_library = is_library
        self.fields = {
            "q": QueryField(required=False),
            "collection": ValuesField(
                _("No collection “%(value)s” is available. Choose one from the list."),
                lambda: facets().collections,
            ),
            "type": ValuesField(
                _("No document of type “%(value)s” is available. Choose one from the list."),
                lambda: facets().types,
            ),
            "language": ValuesField(
                _("No document in language “%(value)s” is available. Choose one from the list."),
                lambda: facets().languages,
            ),
            "meta": TextsField(_("Set at most %(most)d conditions on metadata."), metadata_filter),
            **{one.name: TextsField(one.too_many) for one in facets_of_parts.installed()},
            # A hidden or missing document gives no results.
            "document": forms.UUIDField(
                required=False,
                error_messages={"invalid": _("Not the id of a document. Search without it.")},
            ),
            "after": forms.DateField(
                required=False,
                error_messages={"invalid": _("“From” is not a date. Write it like 2026-01-31.")},
            ),
            "before": forms.DateField(
                required=False,
                error_messages={"invalid": _("“To” is not a date. Write it like 2026-01-31.")},
            ),
            "current": FlagField(),
            "profile": QueryField(required=False),
            "group": FlagField("false", "false 0 no off"),
            "sort": SortField(required=False),
            "exact": FlagField(),
            "insist": FlagField(),
            "ask": FlagField(),  # of the button that asks for an answer; in no address
            "page": PageField(required=False),
        }

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        # The API's name of it, which people write by hand, too.
        cleaned["q"] = cleaned["q"] or clean_text(self.data.get("query", ""))
        after, before = cleaned.get("after"), cleaned.get("before")
        if after and before and after > before:
            self.add_error(
                "after",
                gettext("“From” (%(after)s) is later than “To” (%(before)s). Swap the two dates.")
                % {"after": after, "before": before},
            )
        return cleaned

    @property
    def query(self) -> str:
        """The query, even if the filters are invalid."""
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
            facets=facets_of_parts.chosen(cleaned.__getitem__),
            current=bool(cleaned["current"]),
        )

    @property
    def choices(self) -> Choices:
        """How a valid form wants to be searched."""
        cleaned = self.cleaned_data
        return Choices(
            profile=cleaned["profile"], exact=bool(cleaned["exact"]), insist=bool(cleaned["insist"])
        )

    @property
    def other_metadata(self) -> tuple[str, ...]:
        """The metadata conditions that are set and not offered as facets."""
        conditions = self.cleaned_data.get("meta", ())
        if not conditions:
            return ()
        offered = {one.value for facet in self._facets().metadata for one in facet.options}
        return tuple(one for one in conditions if one not in offered)

    @property
    def lists_documents(self) -> bool:
        """Whether it lists documents: without a query, by filters or at the library's address."""
        return not self.query and bool(self._is_library or self.narrowed)

    @property
    def path(self) -> str:
        """The page's own path: the library's or the search page's."""
        return reverse("search:library" if self._is_library else "search:page")

    @property
    def newest_first(self) -> bool:
        return bool(self.cleaned_data.get("sort") == BY_DATE)

    @property
    def groups(self) -> bool:
        """True if results are grouped by document, as they are unless filtered to one."""
        return not self.cleaned_data["group"] and not self.cleaned_data["document"]

    @property
    def problems(self) -> tuple[str, ...]:
        """The error messages of the form."""
        return tuple(str(text) for texts in self.errors.values() for text in texts)

    @property
    def filters_set(self) -> list[tuple[str, Any]]:
        """The filters that are set, by the name of their field."""
        return [(name, value) for name, value in self._parameters() if name in filter_fields()]

    @property
    def narrowed(self) -> int:
        """The number of filters that are set, also by operators in the query."""
        return len(self.filters_set) + without_filters(self.query)[1]

    @property
    def chosen(self) -> frozenset[str]:
        """The chosen values of all facets."""
        facets = ("collection", "type", "language", "meta")
        return frozenset(value for name, value in self.filters_set if name in facets)

    @property
    def order(self) -> str:
        """The order of a list of documents, one of SORTS."""
        order = self.cleaned_data.get("sort")
        return order if order in SORTS else NEWEST

    @property
    def carried(self) -> list[tuple[str, str]]:
        """The fields besides the query that an answer to the valid form needs."""
        left_out = ("q", "group", "sort")
        return [(name, str(value)) for name, value in self._parameters() if name not in left_out]

    def address(self, **changes: Any) -> str:
        """The address of this search with `changes`, without empty parameters and `page`."""
        parameters = [(name, value) for name, value in self._parameters() if name not in changes]
        parameters += [(name, value) for name, value in changes.items() if value]
        is_list = self.lists_documents and not changes.get("q")
        path = reverse("search:library" if is_list else "search:page")
        return f"{path}?{urlencode(parameters, doseq=True)}" if parameters else path

    @cached_property
    def addresses(self) -> dict[str, str]:
        """The addresses of `_LINKS` by their names."""
        addresses = {name: self.address(**changes) for name, changes in _LINKS.items()}
        words, _typed = without_filters(self.query)
        unfiltered = self.address(**dict.fromkeys(filter_fields()), q=words)
        return addresses | {"without_filters": unfiltered}

    def address_with(self, name: str, value: str) -> str:
        """The address with one more value of a filter."""
        return self.address(**{name: [*self.cleaned_data[name], value]})

    def address_without(self, name: str, value: Any) -> str:
        """The address with one filter removed."""
        values = self.cleaned_data[name]
        others = [one for one in values if one != value] if isinstance(values, list) else None
        return self.address(**{name: others})

    @property
    def is_long(self) -> bool:
        """Whether the search must be posted, because servers refuse its address."""
        return len(self.address()) > LONGEST_ADDRESS

    @property
    def most_chars(self) -> int:
        """The longest question in characters."""
        return int(settings.SEARCH_QUERY_CHARS)

    @property
    def most_typed_chars(self) -> int:
        """The characters that the box accepts: a few more, so that a cut is not silent."""
        return self.most_chars + 100

    def _parameters(self) -> Iterator[tuple[str, Any]]:
        for name in ("q", *filter_fields(), "profile", "group", "sort", "exact", "insist"):
            value = self.cleaned_data.get(name)
            for one in value if isinstance(value, list) else [value]:
                if one:
                    yield name, one
