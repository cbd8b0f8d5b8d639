"""Forms of the pages: a search as its address states it, page links, reported interactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.core.paginator import Paginator
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from search.analytics.interactions import Said
from search.analytics.models import Interaction
from search.errors import InvalidFilter
from search.pages.facets import Facets, Option
from search.pipeline import SearchResponse
from search.query.fields import metadata_filter
from search.query.parse import clean_text
from search.retrieval import Filters

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise

FILTER_FIELDS = ("collection", "document", "type", "language", "meta", "after", "before")
MOST_CONDITIONS = 50  # as many as the API takes
# In bytes. Gunicorn accepts request lines of 8,190, most proxies of 8,192; the rest is for a page
# number and the sign-in page.
LONGEST_ADDRESS = 7500


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


class SearchForm(forms.Form):
    """The search that an address describes. `facets` is called only if needed."""

    def __init__(self, data: Mapping[str, Any], facets: Callable[[], Facets]) -> None:
        super().__init__(data)
        self._facets = facets
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
            "document": DocumentField(required=False),
            "after": DayField(_("From"), _("“From” is not a date. Write it like 2026-01-31.")),
            "before": DayField(_("To"), _("“To” is not a date. Write it like 2026-01-31.")),
            "profile": QueryField(required=False),
            "group": GroupField(required=False),
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
        )

    @property
    def other_metadata(self) -> tuple[str, ...]:
        """The metadata conditions that are set and not offered as facets."""
        offered = {one.value for facet in self._facets().metadata for one in facet.options}
        return tuple(one for one in self.cleaned_data.get("meta", ()) if one not in offered)

    @property
    def groups(self) -> bool:
        """True if results are grouped by document, as they are unless filtered to one."""
        return not self.cleaned_data["group"] and not self.cleaned_data["document"]

    @property
    def problems(self) -> tuple[str, ...]:
        """The error messages of the form."""
        return tuple(str(text) for texts in self.errors.values() for text in texts)

    @property
    def narrowed(self) -> int:
        """The number of filters that are set."""
        return sum(name in FILTER_FIELDS for name, _ in self._asked())

    def address(self, **changes: Any) -> str:
        """The address of this search with `changes`, without empty parameters and `page`."""
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

    def _asked(self) -> Iterator[tuple[str, Any]]:
        for name in ("q", *FILTER_FIELDS, "profile", "group", "exact", "insist"):
            value = self.cleaned_data.get(name)
            for one in value if isinstance(value, list) else [value]:
                if one:
                    yield name, one


@dataclass(frozen=True, slots=True)
class PageLink:
    """A page of the results; without a number, a gap in the list."""

    number: int | None
    address: str = ""
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The page numbers, and the addresses of the previous and next page, empty at the ends."""

    numbers: tuple[PageLink, ...]
    previous: str
    following: str


def page_links(response: SearchResponse, address: Callable[..., str]) -> PageLinks:
    """The links of a page of results; `address(page=n)` is the address of page n."""
    current = response.page

    def to(number: int) -> str:
        # The first page has one address only, without a number.
        return address(page=number if number > 1 else None)

    paginator = Paginator(range(response.total), response.page_size)
    elided = paginator.get_elided_page_range(min(current, paginator.num_pages), on_ends=1)
    return PageLinks(
        numbers=tuple(
            PageLink(number, to(number), number == current)
            if isinstance(number, int)
            else PageLink(None)
            for number in elided
        ),
        previous=to(current - 1) if current > 1 else "",
        following=to(current + 1) if current < response.pages else "",
    )


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
