"""Template tags: scores, explanations, the workbench's figures; a reader's own things."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote, urlencode

from django import template
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from common import heartbeat
from common.admin.menu import current, title_at
from ingestion.metadata import tags_of
from ingestion.models import Document
from ingestion.models.collections import ICONS
from ingestion.spaces import metered_embedder
from search.answers.old_sources import old_sources
from search.domain import OPTIONAL, Hit, QueryClass, Signal, Weights
from search.pipeline import SearchResponse
from search.presentation import score_figures
from search.presentation.labels import (
    CLASS_LABELS,
    measure_label,
    page_label,
    pages_label,
    rule_text,
    tier_reason,
)
from search.presentation.results import Result, document_path
from search.presentation.why_here import reason
from search.readers import favourites, reviews
from search.readers.suggestions import SuggestionsThrottle
from search.tuning.judging import GRADES

register = template.Library()
register.simple_tag(score_figures.score_bar)
register.filter("page_label", page_label)
register.filter("pages_label", pages_label)
register.filter("tags", tags_of)
for label in (rule_text, tier_reason, reason):
    register.filter(label)

STEP_LABELS = {
    "embed": _("embedding"),
    "retrieve": _("retrieval"),
    "rank": _("ranking"),
    "rerank": _("reranker"),
    "show": _("presentation"),
}
GRADUATIONS = 20
_PARTIAL = re.compile(r"%[0-9A-F]?$")
MOST_ENCODED = 6000


@register.filter
def menu_title(part: Mapping[str, Any]) -> Any:
    """The title of a part of the admin's heading as in the menu, or else its own."""
    return title_at(str(part.get("link"))) or part["title"]


@register.filter
def page_title(request: HttpRequest) -> Any:
    """The title of the page of the admin's menu that a request asks for; empty for others.

    What is sent to a list, as a choice of rows, is answered by a page with a title of its own.
    """
    place = current(request) if request.method == "GET" else None
    return place[1].title if place and request.path == place[1].path else ""


@register.simple_tag
def suggestions_address() -> str:
    """The address of suggestions while typing; empty if the site has switched them off."""
    return "" if SuggestionsThrottle.is_off() else reverse("search:suggestions")


@register.filter
@lru_cache(maxsize=64)  # a page asks for each of its passages
def in_address(text: str) -> str:
    """The beginning of a question, in whole words, that fits into the address of a document."""
    encoded = quote(text)
    if len(encoded) <= MOST_ENCODED:
        return text
    cut, _, _ = encoded[:MOST_ENCODED].rpartition("%20")
    # Without a space before: up to the last whole character.
    return unquote(cut or _PARTIAL.sub("", encoded[:MOST_ENCODED]), errors="ignore")


@register.inclusion_tag("search/parts/beam.html")
def beam(weights: Weights) -> dict[str, object]:
    """The weights as a graduated beam, with a poise at the end of each share."""
    shares = {s.value: weights.of(s) for s in Signal if s not in OPTIONAL or weights.of(s)}
    segments = tuple(score_figures.segments(shares, full=1.0))
    marks = range(GRADUATIONS + 1)
    return {
        "segments": segments,
        "poises": [segment.x for segment in segments[1:]],
        "graduations": [
            {"x": score_figures.percent(i / GRADUATIONS), "is_long": i % 5 == 0} for i in marks
        ],
    }


@register.simple_tag
def figures(hit: Hit, response: SearchResponse, full: float) -> SafeString:
    """The contributions as raw score, normalised, weight and product, and their sum."""
    return score_figures.figures(hit, response.profile, full, tier_reason(hit, response.query))


@register.filter
def full_scale(response: SearchResponse) -> float:
    """The score of a full bar, the same on every page."""
    return score_figures.full_scale(response.profile, (each.hit.score for each in response.results))


@register.filter
def question_label(query_class: QueryClass) -> str:
    """The class as a reader's question is named by it."""
    return str(CLASS_LABELS[query_class])


@register.simple_tag
def passage_url(result: Result, response: SearchResponse) -> str:
    """The address of a result's document at its passage, with the question to mark there."""
    path = document_path("search:document", result.document_id)
    parameter = _question_parameter(response.query.original)
    return f"{path}?chunk={result.chunk}&{parameter}#{result.fragment}"


@register.simple_tag
def section_url(result: Result, response: SearchResponse) -> str:
    """The address of the section around a result, with the question to mark there."""
    path = document_path("search:section", result.document_id, 1)
    # The chunk is the last number of the path.
    head, _, tail = path.rpartition("1")
    return f"{head}{result.chunk}{tail}?{_question_parameter(response.query.original, plus=False)}"


@register.simple_tag
def star_url(result: Result) -> str:
    """The address that stars a result's document."""
    return document_path("search:star", result.document_id)


@lru_cache(maxsize=64)
def _question_parameter(question: str, *, plus: bool = True) -> str:
    """The question as a parameter of an address; its spaces are written as + or as %20."""
    text = in_address(question)
    return urlencode({"q": text}) if plus else f"q={quote(text, safe='')}"


@register.filter
def steps(milliseconds: dict[str, float]) -> list[tuple[str, str]]:
    """The steps of a search with their times in milliseconds."""
    return [
        (str(label), f"{milliseconds.get(name, 0):.1f}")
        for name, label in STEP_LABELS.items()
        if name != "rerank" or name in milliseconds
    ]


register.filter(measure_label)

SEEN = 0.0005  # a smaller difference is shown as none


@register.filter
def grade_label(grade: str) -> str:
    """The label of a grade."""
    return str(GRADES[int(grade)])


@register.filter
def signed(number: float) -> str:
    """A difference with its sign, and a typographic minus."""
    if abs(number) < SEEN:
        return "±0"
    return f"{number:+.3f}".replace("-", "−")


@register.filter
def direction(number: float) -> str:
    """The CSS class of a difference: better, worse or the same."""
    if abs(number) < SEEN:
        return "wb-same"
    return "wb-better" if number > 0 else "wb-worse"


@register.filter
def item(mapping: Mapping[str, Any], name: str) -> Any:
    """The value under the name; an empty string if there is none."""
    return mapping.get(name, "")


@register.simple_tag(takes_context=True)
def is_favourite(context: Mapping[str, Any], document: Document) -> bool:
    """Whether the page's reader has starred the document; one query."""
    return favourites.is_favourite(context["request"].user, document)


register.filter("reviews_feed", reviews.feed_of)
register.filter("old_sources", old_sources)


@register.inclusion_tag("search/parts/icon.html")
def collection_icon(icon: str) -> dict[str, str]:
    """A collection's icon: a packaged drawing by its name, or an emoji; nothing if empty."""
    return {"icon": icon, "named": icon if icon in ICONS else ""}


@register.inclusion_tag("ingestion/outages.html")
def outages() -> dict[str, Any]:
    """A line each if no worker runs and if the embedder fails; nothing if all is well."""
    return {
        "worker_answers": heartbeat.answers(),
        "seconds": heartbeat.PATIENCE,
        "embedder_answers": metered_embedder.answers(),
    }
