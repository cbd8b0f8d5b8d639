"""The search page: results for a question, a list of documents without one.

One view for both addresses: with a question it answers, with filters alone, or at the library's
address, it lists documents. For htmx it renders only what a new question or filter changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template import Engine, RequestContext
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common import UserError
from common.accounts import quotas
from common.api.requests import states
from common.api.throttles import seconds_to_wait
from ingestion.models import Document
from ingestion.models.versions import UNFINISHED
from search import pipeline
from search.analytics.models import SearchEvent
from search.analytics.pseudonyms import recorded_visitor
from search.analytics.recording import new_search_id, record_search
from search.answers.models import AnswerFeedback
from search.domain import QueryFilters
from search.errors import EmptyQuestion
from search.pages.facets import (
    Facets,
    chosen_of_parts,
    facets_among,
    facets_for,
    offered_by_parts,
    with_others,
)
from search.pages.library import listing, page_links
from search.pages.page_answer import page_answer
from search.pages.saved_searches import remember_search
from search.pages.search_form import SearchForm
from search.pipeline import SearchResponse
from search.presentation.notices import left_out, unavailable
from search.readers.examples import examples_of
from search.readers.favourites import starred_among
from search.retrieval.filters import documents_of, searchable

EXAMPLES = 3  # questions on the home page
# The best documents of a search, of which the facets of parts offer keys.
MOST_EXAMINED = 100


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that is set, and the address without it."""

    label: str
    address: str


class _PageResponse(HttpResponse):
    """A response that calls `after_sending` once sent, so that readers do not wait for it."""

    after_sending: Sequence[Callable[[], None]] = ()

    def close(self) -> None:
        try:
            for record in self.after_sending:
                record()
        finally:
            super().close()


# Questions that are too long for an address are posted. A search changes nothing, and readers who
# are not signed in have no cookie for a token.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@states(is_search=True)
def page(request: HttpRequest, *, is_library: bool = False) -> HttpResponse:
    """The results of a question; the documents, for filters alone or at the library's address."""
    whole = cache(lambda: facets_for(request.user))
    data = request.POST if request.method == "POST" else request.GET
    form = SearchForm(data, whole, is_library=is_library)
    if not form.is_valid():
        return _refused(request, form, whole, form.problems)
    swaps = bool(request.htmx)  # type: ignore[attr-defined]
    if form.lists_documents:
        if request.method == "GET" and not swaps and not is_library:
            return redirect(form.address())
        return _listed(request, form, whole, address_form=form)
    if is_library and request.method == "GET" and not swaps:
        return redirect(form.address())
    if form.query and (wait := seconds_to_wait(request, for_search=True)):
        message = gettext("Too many searches. Search again in %(wait)d s.") % {"wait": wait}
        headers = {"Retry-After": str(wait)}
        return _refused(request, form, whole, (message,), status=429, headers=headers)
    try:
        response = _search(request, form)
    except EmptyQuestion as error:
        if error.filters is None:
            return _refused(request, form, whole, (str(error),))
        listed = SearchForm(_as_filters(form, error.filters, whole()), whole, is_library=True)
        if not listed.is_valid():
            return _refused(request, form, whole, listed.problems)
        if request.method == "GET" and not swaps:
            return redirect(listed.address())
        return _listed(request, listed, whole, address_form=form)
    except UserError as error:
        problems = (str(error),)
        return _refused(request, form, whole, problems, status=error.status, headers=error.headers)
    if response.page > response.pages:
        return redirect(form.address(page=response.pages))
    return _results(request, form, whole, response)


def _search(request: HttpRequest, form: SearchForm) -> SearchResponse:
    if form.query:
        quotas.spend(request.user, quotas.SEARCHES)
    return pipeline.search(
        form.query,
        viewer=request.user,
        filters=form.filters,
        choices=form.choices,
        group=form.groups,
        page=form.cleaned_data["page"],
        # An experiment compares rankings, which another order hides.
        visitor="" if form.newest_first else recorded_visitor(request),
        newest_first=form.newest_first,
    )


def _results(
    request: HttpRequest, form: SearchForm, whole: Callable[[], Facets], response: SearchResponse
) -> HttpResponse:
    """The results page; the search is recorded after the page has been sent."""
    search_id = new_search_id(request, response)
    context: dict[str, Any] = {"form": form, "response": response, "search_id": search_id}
    if response.query.is_empty:
        context |= {"facets": whole(), "examples": examples_of(request.user, EXAMPLES)}
    else:
        context |= _about(request, form, whole, response)
    rendered = _rendered(request, form, context)
    record = partial(
        record_search,
        request,
        response,
        search_id,
        channel=SearchEvent.Channel.PAGE,
        collections=form.filters.collections,
        typing=bool(request.htmx),  # type: ignore[attr-defined]
    )
    remember = partial(remember_search, request, form)
    answer = context["answer"].record if "answer" in context else None
    rendered.after_sending = [*filter(None, [record, remember, answer])]
    return rendered


def _about(
    request: HttpRequest, form: SearchForm, whole: Callable[[], Facets], response: SearchResponse
) -> dict[str, Any]:
    """The context of the page besides the results."""
    documents = list(dict.fromkeys(hit.document_id for hit in response.hits))
    offers = offered_by_parts(documents[:MOST_EXAMINED], request.user, chosen=form.cleaned_data)
    among = facets_among(searchable(request.user).filter(pk__in=documents))
    unread = Document.objects.filter(current=None, latest__state__in=UNFINISHED)
    pager = Paginator(range(response.total), response.page_size).get_page(response.page)
    typed = None if response.total else _as_filters(form, response.query.filters, whole())
    return {
        **_filters(request, form, among, whole),
        "left_out": left_out(response.ranking.candidates),
        "degraded": [unavailable(each) for each in response.degraded],
        "offers": [
            (facet, [(option, form.address_with(facet.name, option.value)) for option in options])
            for facet, options in offers
        ],
        "suggestion": form.address(q=response.suggestion, exact=None),
        "links": page_links(pager, form.address),
        "answer": page_answer(request, form, response),
        "unfinished": unread.visible_to(request.user),
        "problems_of_filters": SearchForm(typed, whole).problems if typed else (),
        "starred": starred_among(request.user, [one.document_id for one in response.results]),
        "may_translate": bool(response.language_gap) and settings.ANSWERS_GENERATED,
        "writes": settings.ANSWERS_GENERATED,
        "reasons": AnswerFeedback.Reason.choices,
    }


def _listed(
    request: HttpRequest, form: SearchForm, whole: Callable[[], Facets], *, address_form: SearchForm
) -> HttpResponse:
    """The documents that match the filters of `form`; `address_form` is the form of the address."""
    documents = documents_of(request.user, form.filters)
    listing_page = listing(
        documents, sort=form.order, page=form.cleaned_data["page"], address=form.address
    )
    among = facets_among(documents) if form.narrowed else whole()
    context = {"form": form, "listing": listing_page, **_filters(request, form, among, whole)}
    return _rendered(request, address_form, context)


def _filters(
    request: HttpRequest, form: SearchForm, among: Facets, whole: Callable[[], Facets]
) -> dict[str, Any]:
    """The facets of the results, and the filters that are set."""
    of_parts = chosen_of_parts(form.cleaned_data, request.user)
    facets = with_others(among, whole(), form.chosen) if form.chosen else among
    labels = {
        (name, option.value): option.label
        for name, options in (
            ("collection", facets.collections),
            ("type", facets.types),
            ("language", facets.languages),
            *((facet.name, options) for facet, options in of_parts),
        )
        for option in options
    }
    chips = [
        Chip(labels.get((name, value), _plain(name, value)), form.address_without(name, value))
        for name, value in form.filters_set
    ]
    return {"facets": facets, "facets_of_parts": of_parts, "chips": chips}


def _plain(name: str, value: Any) -> str:
    """The name of a filter that is not a facet's value."""
    if name in ("after", "before"):
        text = gettext("from %(day)s") if name == "after" else gettext("to %(day)s")
        return text % {"day": date_format(value, "SHORT_DATE_FORMAT")}
    if name in ("document", "current"):
        return gettext("one document") if name == "document" else gettext("current documents")
    key, _, content = str(value).partition(":")
    return f"{key}: {content}" if content else str(value)


def _as_filters(form: SearchForm, filters: QueryFilters, whole: Facets) -> QueryDict:
    """The parameters of a form with the filters of its query in place of the query."""
    slugs = {
        name.casefold(): option.value
        for option in whole.collections
        for name in (option.label, option.value)
    }
    available = {option.value for option in whole.types}
    parameters = QueryDict(mutable=True)
    for name, value in form.filters_set:
        parameters.appendlist(name, str(value))
    for name, values in (
        ("collection", [slugs.get(one.casefold(), one) for one in filters.collections]),
        # Of the types of one name, such as Word's, those that there are.
        ("type", sorted(available & {*filters.media_types}) or filters.media_types[:1]),
        ("language", filters.languages),
        ("meta", filters.metadata),
    ):
        for value in values:
            if str(value) not in parameters.getlist(name):
                parameters.appendlist(name, str(value))
    days = {"after": filters.after, "before": filters.before}
    parameters.update({name: day.isoformat() for name, day in days.items() if day})
    return parameters


def _refused(
    request: HttpRequest,
    form: SearchForm,
    whole: Callable[[], Facets],
    problems: Sequence[str],
    *,
    status: int = 400,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    context = {"form": form, "facets": whole(), "problems": problems}
    return _rendered(request, form, context, status=status, headers=headers)


def _rendered(
    request: HttpRequest,
    form: SearchForm,
    context: dict[str, Any],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> _PageResponse:
    swaps = bool(request.htmx)  # type: ignore[attr-defined]
    template = "search/htmx_update.html" if swaps else "search/page.html"
    # htmx only swaps successful responses; the fragment itself contains the error message.
    # Not `render_to_string`, whose context refers to itself: all that was found would wait for the
    # garbage collector.
    values = RequestContext(request)
    with values.push(context):
        content = Engine.get_default().get_template(template).render(values)
    rendered = _PageResponse(content, status=200 if swaps else status, headers=headers)
    if swaps:
        rendered["HX-Push-Url"] = "false" if form.is_long else form.address()
    # The address has a page and a fragment; caches must not mix them, nor different readers.
    patch_vary_headers(rendered, ("HX-Request", "Cookie"))
    patch_cache_control(rendered, private=True, no_cache=True)
    return rendered
