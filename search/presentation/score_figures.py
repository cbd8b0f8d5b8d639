"""The score of a result as HTML: its bar, and the table of figures behind it.

The HTML is written here and not as templates: ten results have some 700 numbers, and a template
takes ten times as long for each as an f-string (ADR 91).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from itertools import groupby

from django.utils.formats import get_format
from django.utils.html import escape as escaped
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from search.domain import Contribution, Fusion, Hit, Leaf, Node, Operation, Profile, Signal
from search.ranking.text_boosts import BOOST
from search.signals import registry

# The segment of a bar for terms added to the signals: feedback, boosts, reranker.
ADDED = "added"
ADDED_LABEL = _("Feedback, boosts and reranker")
_SIGNS = {Operation.PRODUCT: "×", Operation.SUM: "+"}


def bar_parts(hit: Hit) -> dict[str, float]:
    """The parts of a hit's score by signal, and ADDED terms: after all factors, in their order."""
    parts = {part.signal.value: part.value for part in hit.explanation.contributions}
    parts[ADDED] = 0.0
    for operation, part in hit.explanation.adjustments:
        if operation is Operation.SUM:
            parts[ADDED] += part.value
        else:
            parts = {name: value * part.value for name, value in parts.items()}
    return parts


@dataclass(frozen=True, slots=True)
class Segment:
    """One signal's part of a beam or bar: its start and length as SVG percentages."""

    signal: str
    label: str
    value: float
    share: str
    x: str
    width: str


def full_scale(profile: Profile, scores: Iterable[float]) -> float:
    """The score of a full bar: the maximum of the fusion.

    Sums of unscaled signals have no maximum: there, it is the best of the scores.
    """
    if profile.fusion is Fusion.RRF:
        return profile.both_factor / (profile.rrf_k + 1)
    return max([1.0, *scores])


def segments(shares: Mapping[str, float], full: float) -> Iterator[Segment]:
    """The parts of a bar of this length, each after the one before."""
    words = _words(get_language())
    start = 0.0
    for signal, share in shares.items():
        # An unscaled signal may be negative: it lowers the score and has no length.
        width = min(_within(share / full), 1 - start)
        points = f"{share * 100:.4g}".replace(".", words.point)
        yield Segment(signal, words.signals[signal], share, points, percent(start), percent(width))
        start += width


def score_bar(hit: Hit, full: float) -> SafeString:
    """A score as stacked contributions and added terms; `full` is the length of the bar."""
    score = figure(hit.score, full)
    rects = "".join(
        f'<rect class="fill-{part.signal}" x="{part.x}" y="6" width="{part.width}" height="5"/>'
        for part in segments(bar_parts(hit), full)
    )
    label = escape(gettext("Score %(score)s") % {"score": score})
    return mark_safe(  # noqa: S308  # numbers, names of signals, and the label escaped above
        f'<svg class="score-bar" height="16" role="img" aria-label="{label}">{_GRADUATIONS}'
        f'<rect class="track" x="0" y="6" width="100%" height="5"/>{rects}'
        f'<svg class="poise" x="{percent(_within(hit.score / full))}" y="6" overflow="visible">'
        f'<path d="M0 0v5l3.5 5h-7L0 5z"/></svg></svg><span class="score">{score}</span>'
    )


def figures(hit: Hit, profile: Profile, full: float, tier: str) -> SafeString:
    """The contributions as raw score, strength, weight and product, and their sum.

    `tier` is the reason of the hit's tier, empty if it has none.
    """
    words = _words(get_language())
    explanation = hit.explanation
    parts = []
    if tier:
        text = gettext("This comes before any score: %(tier)s. Among equals the score decides.")
        parts.append(text % {"tier": tier})
    if explanation.note:
        parts.append(explanation.note)
    sentences = "".join(f"<p>{escape(text)}</p>" for text in parts)
    rows = "".join(_row(part, profile, full, words) for part in explanation.contributions)
    rows += "".join(
        f'<tr><th scope="row" colspan="4">{_ADDED_DOT if operation is Operation.SUM else ""}'
        f"{escape(gettext(part.label))}</th>"
        f"<td>{_SIGNS[operation]} {_amount(operation, part.value, full).replace('.', words.point)}"
        "</td></tr>"
        for operation, part in joined(explanation.adjustments)
    )
    head = words.head_by_rank if profile.fusion is Fusion.RRF else words.head
    total = words.largest if profile.fusion is Fusion.MAX else words.score
    return mark_safe(  # noqa: S308  # numbers, and texts escaped one by one
        f'<div class="figures">{sentences}<table><thead><tr>{head}</tr></thead>'
        f'<tbody>{rows}</tbody><tfoot><tr><th scope="row" colspan="4">{total}</th>'
        f"<td>{figure(hit.score, full)}</td></tr></tfoot></table></div>"
    )


def joined(adjustments: Iterable[tuple[Operation, Node]]) -> Iterator[tuple[Operation, Node]]:
    """The adjustments, with consecutive factors of the same boost multiplied to one."""
    for is_boost, run in groupby(adjustments, key=_is_boost):
        parts = list(run)
        if not is_boost or len(parts) == 1:
            yield from parts
            continue
        names = ", ".join(part.label.removeprefix(BOOST) for _, part in parts)
        factor = math.prod(part.value for _, part in parts)
        yield Operation.PRODUCT, Leaf(f"{BOOST}{names}", factor)


def _is_boost(adjustment: tuple[Operation, Node]) -> bool:
    operation, part = adjustment
    return operation is Operation.PRODUCT and part.label.startswith(BOOST)


def figure(number: float, full: float) -> str:
    """A number with enough decimals for scores of that scale; rank fusion's are tiny."""
    return _plain(number, full).replace(".", _words(get_language()).point)


def _plain(number: float, full: float) -> str:
    return f"{number:.3f}" if full >= 0.1 else f"{number:.5f}"


def percent(share: float) -> str:
    return f"{share * 100:.2f}%"


_ADDED_DOT = f'<i class="dot back-{ADDED}"></i>'
_GRADUATIONS = "".join(
    f'<line class="graduation" x1="{percent(at / 4)}" x2="{percent(at / 4)}" y1="1" y2="5"/>'
    for at in range(5)
)


def _row(part: Contribution, profile: Profile, full: float, words: _Words) -> str:
    raw = "–" if part.raw is None else f"{part.raw:.3f}"
    signal = part.signal
    installed = registry.part(signal)
    scorer = installed.scorer(profile) if installed else ""
    measure = _measure(words.language, signal, scorer)
    cells = f"{raw}</td><td>{_plain(part.normalised, full)}</td><td>× {part.weight:.3g}"
    cells = f"{cells}</td><td>= {_plain(part.value, full)}".replace(".", words.point)
    return (
        f'<tr><th scope="row"><i class="dot back-{signal.value}"></i>{words.signals[signal.value]}'
        f" <small>{measure}</small></th><td>{cells}</td></tr>"
    )


def _amount(operation: Operation, value: float, full: float) -> str:
    """A factor unchanged; a term in the format of the scores."""
    return f"{value:.4g}" if operation is Operation.PRODUCT else _plain(value, full)


def _within(share: float) -> float:
    return min(max(share, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of tables and bars in one language, escaped, and its decimal separator.

    Django looks the language up at each number: a twentieth of the time of a page.
    """

    language: str | None
    point: str
    signals: Mapping[str, str]
    head: str
    head_by_rank: str
    score: str
    largest: str


@lru_cache(maxsize=64)  # the languages in use, and the scoring methods
def _measure(language: str | None, signal: Signal, scorer: str) -> str:
    """The description of a signal's raw score in this language, escaped."""
    installed = registry.part(signal)
    return escaped(str(installed.measure(scorer))) if installed else ""


@lru_cache(maxsize=8)  # the languages in use
def _words(language: str | None) -> _Words:
    def head(second: str) -> str:
        names = (_("Signal"), _("Raw"), second, _("Weight"), _("Contribution"))
        return "".join(f'<th scope="col">{escaped(str(name))}</th>' for name in names)

    labels = {signal.value: escaped(str(registry.label(signal))) for signal in Signal}
    return _Words(
        language,
        get_format("DECIMAL_SEPARATOR"),
        signals=labels | {ADDED: escaped(str(ADDED_LABEL))},
        head=head(gettext("Strength")),
        head_by_rank=head("1 / (k + rank)"),
        score=escaped(gettext("Score")),
        largest=escaped(gettext("Score (the largest contribution)")),
    )
