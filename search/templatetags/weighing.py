"""The drawings and figures of a ranking: the beam of the weights, the bar of a score.

Geometry goes into SVG attributes as percentages, so that a page needs no inline style and
holds under a strict Content-Security-Policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django import template

from search.domain import (
    Classification,
    Fusion,
    Hit,
    KeywordScorer,
    Operation,
    Profile,
    Query,
    QueryClass,
    Signal,
    Weights,
)
from search.pipeline import SearchResponse
from search.presentation.results import Result
from search.query.classify import FALLBACK_RULE
from search.ranking.fusion import OPTIONAL

register = template.Library()

SIGNAL_LABELS = {
    Signal.VECTOR: "Meaning",
    Signal.KEYWORD: "Keywords",
    Signal.TITLE: "Title",
    Signal.RECENCY: "Recency",
    Signal.SYNONYM: "Synonyms",
}
CLASS_LABELS = {
    QueryClass.LOOKUP: "Lookup",
    QueryClass.CONCEPT: "Concept",
    QueryClass.CODE: "Code",
    QueryClass.DEBUG: "Debugging",
    QueryClass.COMPARISON: "Comparison",
    QueryClass.GENERAL: "General question",
}
SCORER_LABELS = {
    KeywordScorer.BM25: "BM25",
    KeywordScorer.BM25_FIXED: "BM25 without idf",
    KeywordScorer.TS_RANK: "ts_rank",
    KeywordScorer.TS_RANK_CD: "ts_rank_cd",
    KeywordScorer.OVERLAP: "words matched",
}
_MEASURES = {
    Signal.VECTOR: "cosine",
    Signal.RECENCY: "halves with age",
    Signal.SYNONYM: "BM25 of synonyms",
}
_SIGNS = {Operation.PRODUCT: "×", Operation.SUM: "+"}
STEP_LABELS = {
    "embed": "reading the question's meaning",
    "retrieve": "finding",
    "rank": "weighing",
    "show": "showing",
}
GRADUATIONS = 20
# The stretch of a bar for what is no signal's: feedback, boosts.
ADDED = "added"


@dataclass(frozen=True, slots=True)
class Segment:
    """One signal's stretch of a beam: where it begins and how long it is, as SVG percentages."""

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
    """One row of the figures behind a score."""

    signal: Signal
    label: str
    measure: str
    raw: str
    strength: str
    weight: str
    value: str


@register.inclusion_tag("search/parts/beam.html")
def beam(weights: Weights) -> dict[str, object]:
    """The weights as a graduated beam, a poise hanging wherever one share ends."""
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
    """A score as its stacked contributions and what was added; `full` is the bar's length."""
    parts = {part.signal.value: part.value for part in hit.explanation.contributions}
    added = (part for operation, part in hit.explanation.adjustments if operation is Operation.SUM)
    parts[ADDED] = sum(part.value for part in added)
    return {
        "segments": tuple(_segments(parts, full)),
        "end": _percent(_within(hit.score / full)),
        "score": _figure(hit.score, full),
        "graduations": [_percent(quarter / 4) for quarter in range(5)],
    }


@register.inclusion_tag("search/parts/figures.html")
def figures(hit: Hit, response: SearchResponse) -> dict[str, object]:
    """Each contribution as raw score, strength, weight and their product, and the sum."""
    profile, full = response.profile, full_scale(response)
    rows = tuple(
        Figure(
            signal=part.signal,
            label=SIGNAL_LABELS[part.signal],
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
        "by_rank": profile.fusion is Fusion.RRF,
    }


@register.filter
def full_scale(response: SearchResponse) -> float:
    """The score that fills a bar: the most that the fusion can give, the same on every page.

    Signals that are added unscaled have no such limit: there the best score shown fills it.
    """
    if response.profile.fusion is Fusion.RRF:
        return response.profile.both_factor / (response.profile.rrf_k + 1)
    return max([1.0, *(result.hit.score for result in response.results)])


@register.filter
def class_label(query_class: QueryClass) -> str:
    return CLASS_LABELS[query_class]


@register.filter
def rule_text(classification: Classification) -> str:
    """Which rule chose the class."""
    if classification.rule == FALLBACK_RULE:
        return "no rule speaks of it"
    return f"rule: {classification.rule}"


@register.filter
def tier_reason(hit: Hit, query: Query) -> str:
    """Why a hit stands before any score, its identifier as it was typed; empty if it does not."""
    reason = hit.explanation.tier.reason
    match = hit.candidate.identifier
    if not reason or match is None:
        return reason
    for identifier in query.identifiers:
        if match.form in dict(identifier.forms):
            return reason.replace(match.form, identifier.text)
    return reason


@register.filter
def trail(result: Result) -> tuple[str, ...]:
    """The headings above a passage, without the one that repeats the document's title."""
    path = result.heading_path
    repeats = bool(path) and path[0].casefold() == result.title.casefold()
    return path[1:] if repeats else path


@register.filter
def steps(milliseconds: dict[str, float]) -> list[tuple[str, str]]:
    """What the time of a search was spent on, in milliseconds."""
    return [(label, f"{milliseconds.get(name, 0):.1f}") for name, label in STEP_LABELS.items()]


@register.filter
def whole(number: float) -> str:
    """A duration in milliseconds without more digits than it deserves."""
    return f"{number:.0f}" if number >= 1 else "under 1"


def _segments(shares: Mapping[str, float], full: float) -> Iterator[Segment]:
    start = 0.0
    for signal, share in shares.items():
        label = SIGNAL_LABELS[Signal(signal)] if signal != ADDED else "Likeness"
        # An unscaled signal may be negative: it takes from the score and has no length.
        width = min(_within(share / full), 1 - start)
        yield Segment(signal, label, f"{share * 100:.4g}", _percent(start), _percent(width))
        start += width


def _amount(operation: Operation, value: float, full: float) -> str:
    """A factor as it is, a term like the scores that it is added to."""
    return f"{value:.4g}" if operation is Operation.PRODUCT else _figure(value, full)


def _measure(signal: Signal, profile: Profile) -> str:
    if signal is Signal.KEYWORD:
        return SCORER_LABELS[profile.keyword_scorer]
    if signal is Signal.TITLE:
        return profile.title_scorer.value.replace("_", " ")
    return _MEASURES[signal]


def _within(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def _percent(share: float) -> str:
    return f"{share * 100:.2f}%"


def _figure(number: float, full: float) -> str:
    """A number with as many decimals as tell scores of that scale apart; rank fusion's are tiny."""
    return f"{number:.3f}" if full >= 0.1 else f"{number:.5f}"
