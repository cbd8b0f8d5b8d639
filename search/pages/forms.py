"""Forms of the pages: a search as its address states it, reported interactions.

Their fields are in `fields`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from search.analytics.models import Interaction
from search.analytics.visitors import Said
from search.pages.facets import Facets
from search.pages.fields import (
    BY_DATE,
    ConceptField,
    DayField,
    DocumentField,
    FlagField,
    GroupField,
    MetadataFilterField,
    PageField,
    QueryField,
    SortField,
    ValuesField,
)
from search.pages.library import NEWEST, SORTS
from search.query.fields import metadata_filter
from search.retrieval import Filters

FILTER_FIELDS = (
    "collection", "document", "type", "language", "meta", "concept", "after", "before",
)  # fmt: skip
# In bytes. Gunicorn accepts request lines of 8,190, most proxies of 8,192; the rest is for a page
# number and the sign-in page.
LONGEST_ADDRESS = 7500


class SearchForm(forms.Form):
    """The search that an address describes, or a list of documents if it has no query.

    `facets` is called only if needed. `is_library`: the address is the library's.
    """

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
            "meta": MetadataFilterField(required=False),
            "concept": ConceptField(required=False),
            "document": DocumentField(required=False),
            "after": DayField(_("From"), _("“From” is not a date. Write it like 2026-01-31.")),
            "before": DayField(_("To"), _("“To” is not a date. Write it like 2026-01-31.")),
            "profile": QueryField(required=False),
            "group": GroupField(required=False),
            "sort": SortField(required=False),
            "exact": FlagField(required=False),
            "insist": FlagField(required=False),
            "page": PageField(required=False),
        }

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
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
            concepts=tuple(cleaned["concept"]),
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
        """Whether there is no query, but filters, or the address is the library's."""
        return not self.query and bool(self._is_library or self.narrowed)

    @property
    def is_savable(self) -> bool:
        """Whether there is something to save: a question or a filter."""
        return bool(self.query or self.narrowed)

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
        return [(name, value) for name, value in self._parameters() if name in FILTER_FIELDS]

    @property
    def narrowed(self) -> int:
        """The number of filters that are set."""
        return len(self.filters_set)

    @property
    def chosen(self) -> frozenset[str]:
        """The chosen values of all facets."""
        facets = ("collection", "type", "language", "meta")
        return frozenset(value for name, value in self.filters_set if name in facets)

    @property
    def order(self) -> str:
        """The order of a list of documents: one of SORTS."""
        order = self.cleaned_data.get("sort")
        return order if order in SORTS else NEWEST

    @property
    def carried(self) -> list[tuple[str, Any]]:
        """The fields that an answer to the query of a valid form needs besides the query."""
        left_out = ("q", "group", "sort")
        return [(name, value) for name, value in self._parameters() if name not in left_out]

    def address(self, **changes: Any) -> str:
        """The address of this search with `changes`, without empty parameters and `page`."""
        parameters = [(name, value) for name, value in self._parameters() if name not in changes]
        parameters += [(name, value) for name, value in changes.items() if value]
        is_list = self.lists_documents and not changes.get("q")
        path = reverse("search:library" if is_list else "search:page")
        return f"{path}?{urlencode(parameters, doseq=True)}" if parameters else path

    def address_without_filters(self) -> str:
        return self.address(**dict.fromkeys(FILTER_FIELDS))

    def address_without(self, name: str, value: Any) -> str:
        """The address with one filter taken off."""
        values = self.cleaned_data[name]
        others = [one for one in values if one != value] if isinstance(values, list) else None
        return self.address(**{name: others})

    def address_by_date(self) -> str:
        return self.address(sort=BY_DATE)

    def address_by_relevance(self) -> str:
        return self.address(sort=None)

    def address_grouped(self) -> str:
        return self.address(group=None)

    def address_ungrouped(self) -> str:
        return self.address(group="false")

    def address_of_all_documents(self) -> str:
        return self.address(document=None)

    @property
    def is_long(self) -> bool:
        """Whether the search must be posted, because servers refuse its address."""
        return len(self.address()) > LONGEST_ADDRESS

    @property
    def longest_address(self) -> int:
        return LONGEST_ADDRESS

    @property
    def most_chars(self) -> int:
        """The longest question in characters."""
        most: int = settings.SEARCH_QUERY_CHARS
        return most

    @property
    def most_typed_chars(self) -> int:
        """The characters that the box accepts: some more, so that a cut is not silent."""
        return self.most_chars + 100

    def address_insisting(self) -> str:
        return self.address(insist="1")

    def address_not_insisting(self) -> str:
        return self.address(insist=None)

    def address_exact(self) -> str:
        return self.address(exact="1")

    def address_without_profile(self) -> str:
        return self.address(profile=None)

    def _parameters(self) -> Iterator[tuple[str, Any]]:
        for name in ("q", *FILTER_FIELDS, "profile", "group", "sort", "exact", "insist"):
            value = self.cleaned_data.get(name)
            for one in value if isinstance(value, list) else [value]:
                if one:
                    yield name, one


class InteractionForm(forms.Form):
    """An interaction with a search: a click, reading time, a thumb or an answer."""

    kind = forms.ChoiceField(choices=Interaction.Kind.choices)
    document = forms.UUIDField(required=False)
    seconds = forms.FloatField(required=False, min_value=0)
    undo = forms.BooleanField(required=False)
    # The address of the search, to return to without scripts.
    back = forms.CharField(required=False, max_length=2 * LONGEST_ADDRESS)

    @property
    def said(self) -> Said:
        given = self.cleaned_data
        return Said(
            kind=Interaction.Kind(given["kind"]),
            document=given["document"],
            seconds=given["seconds"],
            undo=given["undo"],
        )
