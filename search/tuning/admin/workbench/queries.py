"""Queries to choose in the workbench: golden, recent and failing ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.models.library import Viewer
from search.analytics.gaps import summaries
from search.analytics.models import SearchEvent
from search.engine import configuration
from search.tuning.models import GoldenQuery, Judgement
from search.tuning.workbench.comparing import visible_goldens, weakest

TABS = (("golden", _("Golden")), ("recent", _("Recent")), ("failing", _("Failing")))
SHOWN = 60
# A golden query with an nDCG@10 below this counts as failing. A guess.
LOW = 0.6
READ = 400  # newest searches to read, as many are repeats


@dataclass(frozen=True, slots=True)
class Listed:
    """A query to choose, with a note and optionally a heading."""

    text: str
    note: str
    collections: tuple[str, ...] = ()
    heading: str = ""


def queries(tab: str, viewer: Viewer) -> list[Listed]:
    """The queries of a tab that `viewer` may read; none for an unknown tab."""
    listed = {"golden": _golden, "recent": _recent, "failing": _failing}.get(tab)
    return list(listed(viewer)) if listed else []


def _golden(viewer: Viewer) -> Iterator[Listed]:
    rows = list(GoldenQuery.objects.visible_to(viewer).filter(enabled=True).order_by("-pk")[:SHOWN])
    judgements = Judgement.objects.visible_to(viewer).filter(query__in=rows).order_by()
    counted = judgements.values_list("query").annotate(Count("reference", distinct=True))
    judged = dict(counted)
    for row in rows:
        note = f"{judged.get(row.pk, 0)} judged"
        if row.must_be_first_id:
            note += ", with a must-be-first document"
        yield Listed(row.text, note, tuple(row.collections))


def _recent(viewer: Viewer) -> Iterator[Listed]:
    events = SearchEvent.objects.visible_to(viewer).searches().exclude(query="")
    seen: dict[str, Listed] = {}
    for event in events.order_by("-at", "-pk")[:READ]:
        note = f"{event.total} results" if event.total else "no results"
        if event.unsure:
            note += ", low confidence"
        seen.setdefault(event.folded, Listed(event.query, note, tuple(event.collections)))
        if len(seen) == SHOWN:
            break
    yield from seen.values()


def _failing(viewer: Viewer) -> Iterator[Listed]:
    """Golden queries that the active profile ranks badly, and search gaps."""
    if configuration.current().active is not None:
        yield from _low(viewer)
    for gap in summaries(viewer, limit=SHOWN):
        yield Listed(gap.query, ", ".join(gap.signs).lower(), heading=gettext("Search gaps"))


def _low(viewer: Viewer) -> Iterator[Listed]:
    """Golden queries with a low measure; first those whose must-be-first document is not first."""
    weak = weakest(configuration.current().profile(), below=LOW)
    visible = visible_goldens(weak, viewer)
    for each in [each for each in weak if each.golden.pk in visible][:SHOWN]:
        notes = [] if each.value is None else [f"nDCG@10 {each.value:.2f}"]
        if each.first_missed:
            notes.insert(0, "must-be-first document is not first")
        yield Listed(
            each.golden.text, ", ".join(notes), each.golden.collections,
            heading=gettext("Golden queries that the active profile ranks badly"),
        )  # fmt: skip
