"""Rankings in words and bars: the moves, each hit's contributions and the reason for its move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from search.domain import Profile, Query, Signal
from search.presentation.labels import CLASS_LABELS, rule_text, tier_reason
from search.presentation.results import trail
from search.presentation.score_figures import (
    Segment,
    bar_parts,
    figure,
    figures,
    full_scale,
    segments,
)
from search.signals import registry
from search.tuning.models import GoldenQuery, Judgement
from search.tuning.workbench_preview import Preview, PreviewedRanking, PreviewedResult

# A signal that changed a score by less is not a reason for a move.
TELLING = 0.002


@dataclass(frozen=True, slots=True)
class Grades:
    """The grades of a document: the viewer's own, and those of other judges."""

    mine: int | None = None
    others: tuple[tuple[str, int], ...] = ()
    must_be_first: bool = False

    @property
    def values(self) -> list[int]:
        mine = [] if self.mine is None else [self.mine]
        return [*mine, *(grade for _, grade in self.others)]

    @property
    def agreed(self) -> int | None:
        """The grade that measures use: the median, rounded down."""
        return int(median(self.values)) if self.values else None

    @property
    def differ(self) -> bool:
        """Whether two judges are more than one grade apart."""
        return bool(self.values) and max(self.values) - min(self.values) > 1


@dataclass(frozen=True, slots=True)
class HitRow:
    """A hit of one ranking with everything that the template draws.

    `moved`: the number of ranks that the draft moves it up; None if one ranking does not have it.
    """

    place: PreviewedResult
    moved: int | None
    headings: tuple[str, ...]
    score: str
    segments: tuple[Segment, ...]
    why: SafeString
    why_moved: str
    grades: Grades

    @property
    def move(self) -> str:
        """The move in words, for screen readers."""
        if self.moved is None:
            return gettext("not in the other ranking")
        if not self.moved:
            return gettext("same rank")
        count = abs(self.moved)
        if self.moved > 0:
            text = ngettext("up %(count)d rank", "up %(count)d ranks", count)
        else:
            text = ngettext("down %(count)d rank", "down %(count)d ranks", count)
        return text % {"count": count}

    @property
    def spoken(self) -> str:
        """The text that a screen reader reads on focus."""
        grades = self.grades
        place = {"rank": self.place.rank, "title": self.place.result.title}
        parts = [gettext("Rank %(rank)d: %(title)s") % place, self.move]
        if grades.must_be_first:
            parts.append(gettext("must be first"))
        if grades.mine is not None:
            parts.append(gettext("your grade is %(grade)d") % {"grade": grades.mine})
        if grades.others:
            names = ", ".join(f"{name} {grade}" for name, grade in grades.others)
            if grades.differ:
                parts.append(gettext("other judges disagree: %(grades)s") % {"grades": names})
            else:
                parts.append(gettext("other judges: %(grades)s") % {"grades": names})
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Column:
    """One of the two rankings."""

    name: str
    title: str
    side: PreviewedRanking
    hits: tuple[HitRow, ...]
    query_class: str
    rule: str
    confidence: str
    unsure: bool
    weights: tuple[Segment, ...]


def columns(
    preview: Preview, titles: tuple[str, str], grades: Mapping[str, Grades]
) -> tuple[Column, Column]:
    """Both rankings as columns whose bars have one scale."""
    active, draft = preview.sides
    return (
        _column("active", titles[0], active, preview.query, grades),
        _column("draft", titles[1], draft, preview.query, grades),
    )


def grades_of(query: GoldenQuery | None, viewer: Any) -> dict[str, Grades]:
    """The query's grades by the document's public id, for documents that the viewer may see."""
    if query is None:
        return {}
    by_document: dict[str, list[Judgement]] = {}
    for row in Judgement.objects.visible_to(viewer).filter(query=query):
        by_document.setdefault(str(row.reference), []).append(row)
    first = query.must_be_first
    grades = {
        reference: Grades(
            mine=next((row.grade for row in rows if row.judge_id == viewer.pk), None),
            others=tuple((row.judge_name, row.grade) for row in rows if row.judge_id != viewer.pk),
            must_be_first=first is not None and str(first.public_id) == reference,
        )
        for reference, rows in by_document.items()
    }
    if first is not None:
        grades.setdefault(str(first.public_id), Grades(must_be_first=True))
    return grades


def _column(
    name: str,
    title: str,
    side: PreviewedRanking,
    query: Query,
    grades: Mapping[str, Grades],
) -> Column:
    ranking, settled = side.ranking, side.ranking.settled
    full = full_scale(side.profile, (place.result.hit.score for place in side.places))
    sure = ranking.confidence
    return Column(
        name,
        title,
        side,
        tuple(_hit(place, query, side.profile, full, grades, name) for place in side.places),
        CLASS_LABELS[settled.classification.query_class],
        rule_text(settled.classification),
        "" if sure is None else f"{sure:.0%}",
        sure is not None and sure < side.profile.confidence_threshold,
        _visible(settled.weights.as_dict(), 1.0),
    )


def _visible(shares: Mapping[str, float], full: float) -> tuple[Segment, ...]:
    """The segments of the shares that are not 0."""
    return tuple(segments({name: share for name, share in shares.items() if share}, full))


def _hit(
    place: PreviewedResult,
    query: Query,
    profile: Profile,
    full: float,
    grades: Mapping[str, Grades],
    column: str,
) -> HitRow:
    result, hit = place.result, place.result.hit
    is_draft = column == "draft"
    other = gettext("the active ranking") if is_draft else gettext("the draft")
    return HitRow(
        place,
        moved=place.moved if is_draft or place.moved is None else -place.moved,
        headings=trail(result),
        score=figure(hit.score, full),
        segments=_visible(bar_parts(hit), full),
        why=figures(hit, profile, full, tier_reason(hit, query)),
        why_moved=_why_moved(place, full, other),
        grades=grades.get(result.document_id, Grades()),
    )


def _why_moved(place: PreviewedResult, full: float, other: str) -> str:
    """The reason for a rank other than in the other ranking; empty for the same rank."""
    was = place.counterpart
    if place.moved is None:
        return gettext("Not among the results of %(other)s.") % {"other": other}
    if not place.moved or was is None:
        return ""
    if place.moved > 0:
        text = gettext("Higher than in %(other)s, where its rank is %(rank)d")
    else:
        text = gettext("Lower than in %(other)s, where its rank is %(rank)d")
    text %= {"other": other, "rank": place.other}
    way_up = 1 if place.moved > 0 else -1
    gains = {
        signal: place.result.hit.explanation.share(signal) - was.explanation.share(signal)
        for signal in Signal
    }
    signal = max(gains, key=lambda each: gains[each] * way_up)
    if gains[signal] * way_up / full <= TELLING:
        return gettext("%(move)s: the scores of other results changed more.") % {"move": text}
    gain = ("+" if gains[signal] > 0 else "") + figure(gains[signal], full)
    label = str(registry.label(signal)).lower()
    words = {"move": text, "signal": label, "gain": gain}
    return gettext("%(move)s: %(signal)s contributes %(gain)s.") % words
