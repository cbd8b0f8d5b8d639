"""Template tags and filters for scores, explanations and the workbench's figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlencode

from django import template
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from search.domain import (
    Fusion,
    Hit,
    Operation,
    Profile,
    QueryClass,
    Signal,
    Weights,
)
from search.pipeline import SearchResponse
from search.presentation.reasons import reason
from search.presentation.results import (
    ADDED,
    ADDED_LABEL,
    CLASS_LABELS,
    QUESTION_LABELS,
    SCORER_LABELS,
    SIGNAL_LABELS,
    Result,
    bar_parts,
    measure_label,
    rule_text,
    tier_reason,
)
from search.ranking.fusion import OPTIONAL
from search.tuning.golden.judging import GRADES

register = template.Library()
for label in (rule_text, tier_reason, reason):
    register.filter(label)

_MEASURES = {
    Signal.VECTOR: _("cosine"),
    Signal.RECENCY: _("half-life"),
    Signal.SYNONYM: _("BM25 of synonyms"),
    Signal.CONCEPT: _("match of its document's concepts"),
    Signal.WORDNET: _("BM25 of related words"),
}
_SIGNS = {Operation.PRODUCT: "×", Operation.SUM: "+"}
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
def in_address(text: str) -> str:
    """The beginning of a question that fits into the address of a document, in whole words."""
    encoded = quote(text)
    if len(encoded) <= MOST_ENCODED:
        return text
    cut, _, _ = encoded[:MOST_ENCODED].rpartition("%20")
    # Without a space before: up to the last whole character.
    return unquote(cut or _PARTIAL.sub("", encoded[:MOST_ENCODED]), errors="ignore")


@dataclass(frozen=True, slots=True)
class Segment:
    """One signal's part of a beam: its start and length as SVG percentages."""

    signal: str
    label: str
    share: str
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class Graduation:
    x: str
    is_long: bool


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table that explains a score."""

    signal: Signal
    label: str
    measure: str
    raw: str
    strength: str
    weight: str
    value: str


@register.inclusion_tag("search/parts/beam.html")
def beam(weights: Weights) -> dict[str, object]:
    """The weights as a graduated beam, with a poise at the end of each share."""
    shares = {s.value: weights.of(s) for s in Signal if s not in OPTIONAL or weights.of(s)}
    segments = tuple(_segments(shares, full=1.0))
    marks = (Graduation(_percent(i / GRADUATIONS), i % 5 == 0) for i in range(GRADUATIONS + 1))
    return {
        "segments": segments,
        "poises": [segment.x for segment in segments[1:]],
        "graduations": tuple(marks),
    }


@register.inclusion_tag("search/parts/score.html")
def score_bar(hit: Hit, full: float) -> dict[str, object]:
    """A score as stacked contributions and added terms; `full` is the length of the bar."""
    return {
        "segments": tuple(_segments(bar_parts(hit), full)),
        "end": _percent(_within(hit.score / full)),
        "score": _figure(hit.score, full),
        "graduations": [_percent(quarter / 4) for quarter in range(5)],
    }


@register.inclusion_tag("search/parts/figures.html")
def figures(hit: Hit, response: SearchResponse) -> dict[str, object]:
    """The contributions as raw score, strength, weight and product, and their sum."""
    profile, full = response.profile, full_scale(response)
    rows = tuple(
        Figure(
            signal=part.signal,
            label=str(SIGNAL_LABELS[part.signal]),
            measure=_measure(part.signal, profile),
            raw="–" if part.raw is None else f"{part.raw:.3f}",
            strength=_figure(part.strength, full),
            weight=f"{part.weight:.3g}",
            value=_figure(part.value, full),
        )
        for part in hit.explanation.contributions
    )
    return {
        "rows": rows,
        "adjustments": [
            (_SIGNS[operation], part.label, _amount(operation, part.value, full))
            for operation, part in hit.explanation.adjustments
        ],
        "largest_only": profile.fusion is Fusion.MAX,
        "score": _figure(hit.score, full),
        "rank": hit.rank,
        "tier": tier_reason(hit, response.query),
        "note": hit.explanation.note,
        "by_rank": profile.fusion is Fusion.RRF,
    }


@register.filter
def full_scale(response: SearchResponse) -> float:
    """The score of a full bar: the maximum of the fusion, the same on every page.

    Sums of unscaled signals have no maximum: there, it is the best score on the page.
    """
    if response.profile.fusion is Fusion.RRF:
        return response.profile.both_factor / (response.profile.rrf_k + 1)
    return max([1.0, *(result.hit.score for result in response.results)])


@register.filter
def question_label(query_class: QueryClass) -> str:
    """The class as a reader's question is named by it."""
    return str(QUESTION_LABELS[query_class])


@register.simple_tag
def passage_url(result: Result, response: SearchResponse) -> str:
    """The address of a result's document at its passage, with the question to mark there."""
    path = reverse("search:document", args=(result.document_id,))
    asked = urlencode({"chunk": result.chunk, "q": in_address(response.query.original)})
    return f"{path}?{asked}#chunk-{result.chunk}"


@register.filter
def class_label(query_class: QueryClass) -> str:
    return str(CLASS_LABELS[query_class])


@register.filter
def steps(milliseconds: dict[str, float]) -> list[tuple[str, str]]:
    """The steps of a search with their times in milliseconds."""
    return [
        (str(label), f"{milliseconds.get(name, 0):.1f}")
        for name, label in STEP_LABELS.items()
        if name != "rerank" or name in milliseconds
    ]


def _segments(shares: Mapping[str, float], full: float) -> Iterator[Segment]:
    start = 0.0
    for signal, share in shares.items():
        label = str(ADDED_LABEL if signal == ADDED else SIGNAL_LABELS[Signal(signal)])
        # An unscaled signal may be negative: it lowers the score and has no length.
        width = min(_within(share / full), 1 - start)
        yield Segment(signal, label, f"{share * 100:.4g}", _percent(start), _percent(width))
        start += width


def _amount(operation: Operation, value: float, full: float) -> str:
    """A factor unchanged; a term in the format of the scores."""
    return f"{value:.4g}" if operation is Operation.PRODUCT else _figure(value, full)


def _measure(signal: Signal, profile: Profile) -> str:
    if signal is Signal.KEYWORD:
        return str(SCORER_LABELS[profile.keyword_scorer])
    if signal is Signal.TITLE:
        return profile.title_scorer.value.replace("_", " ")
    return str(_MEASURES[signal])


def _within(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def _percent(share: float) -> str:
    return f"{share * 100:.2f}%"


def _figure(number: float, full: float) -> str:
    """A number with enough decimals for scores of that scale; rank fusion's are tiny."""
    return f"{number:.3f}" if full >= 0.1 else f"{number:.5f}"


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
def item(held: Mapping[str, Any], name: str) -> Any:
    """The value under the name; an empty string if there is none."""
    return held.get(name, "")
