"""What a failed search is (`signs_of`); failed ones grouped into gaps by their meaning."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import numpy as np
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext
from numpy.typing import NDArray

from common import database
from ingestion import spaces
from ingestion.errors import EmbeddingError
from search.analytics.models import (
    Gap,
    GapSign,
    GapStep,
    GapWording,
    Interaction,
    SearchEvent,
    Sign,
)

logger = logging.getLogger(__name__)

Vectors = NDArray[np.float32]
Kind = Interaction.Kind
Answered = Callable[[Sequence[SearchEvent]], Container[int]]

# Above the cosines of all 20 pairs of different questions on one subject (to .70) and below 16 of
# 20 pairs of paraphrases, with the packaged model (ADR 27); for another model a guess.
SAME_MEANING = 0.72
# Two consecutive questions at least this similar count as one question reformulated. A guess.
SAME_SUBJECT = 0.55
# The same test on words alone: the share of words in common. A guess.
SHARED_WORDS = 0.4
# A search is processed once its visitor has had time to click, to rate or to ask again.
SETTLE = timedelta(minutes=15)
# A similar question within this time means that the first one was not answered. A guess.
NEXT_WITHIN = timedelta(minutes=3)
# Reading a document for this long means that it was useful: a guess, twice a glance.
READ_SECONDS = 30.0
BATCH = 200
MAX_WORDING = 1000  # as long as the column of a wording
# Bytes of names that an index row holds. More are filed as one that only superusers may read.
MAX_NAMES = 1500
# A search without a click does not reopen a closed gap: a snippet may have answered it.
REOPENS = frozenset(Sign) - {Sign.NO_CLICK}

_WORD = re.compile(r"\w+")


def nearest_group(
    vector: Sequence[float], members: Vectors, groups: Sequence[int], at_least: float = SAME_MEANING
) -> int | None:
    """The group with the highest mean cosine to `vector`; None below `at_least`.

    `members` has a row for each member, `groups` its group. All vectors have the length 1, as
    embedders give them. The lowest wins ties.
    """
    if not len(groups):
        return None
    cosines = members @ vector
    names, places = np.unique(np.asarray(groups), return_inverse=True)
    means = np.bincount(places, weights=cosines) / np.bincount(places)
    best = int(np.argmax(means))
    return int(names[best]) if means[best] >= at_least else None


def shares_words(one: str, other: str) -> bool:
    """True if two folded questions share at least SHARED_WORDS of their words (Jaccard)."""
    first, second = set(_WORD.findall(one)), set(_WORD.findall(other))
    union = first | second
    return bool(union) and len(first & second) / len(union) >= SHARED_WORDS


@dataclass(frozen=True, slots=True)
class Failure:
    """An event and the signs of its failure."""

    event: SearchEvent
    signs: tuple[Sign, ...]


def gather(*, now: datetime | None = None, answered: Answered = lambda _: ()) -> int:
    """Process all settled events, oldest first; return how many.

    `answered` returns the keys of those searches above whose results an answer stood. If the
    embedding model is unavailable, the remaining events wait for the next run.
    """
    return drained(partial(_gather_batch, answered=answered), now, "Search gaps")


def drained(batch: Callable[[datetime], int], now: datetime | None, what: str) -> int:
    """Call `batch` with a settled time until it returns 0; return the sum of its results.

    If the embedding model is unavailable, the rest waits for the next run, and this is logged.
    """
    settled = (now or timezone.now()) - SETTLE
    total = 0
    try:
        while count := batch(settled):
            total += count
    except EmbeddingError as error:
        logger.warning("%s are waiting for the embedding model: %s", what, error)
    return total


@transaction.atomic
def _gather_batch(settled: datetime, *, answered: Answered) -> int:
    # Two concurrent runs could open two gaps for one question.
    database.hold(database.SEARCH_EVENTS)
    waiting = SearchEvent.objects.filter(gathered=False, at__lte=settled).order_by("pk")
    events = list(waiting.select_for_update(skip_locked=True, no_key=True)[:BATCH])
    if not events:
        return 0
    failures = [failure for failure in _failures(events, answered) if failure.signs]
    if failures:
        file_failures(failures)
    SearchEvent.objects.filter(pk__in=[event.pk for event in events]).update(gathered=True)
    return len(events)


def _failures(events: Sequence[SearchEvent], answered: Answered) -> Iterable[Failure]:
    searches = [e for e in events if e.page == 1 and e.follows_id is None and e.folded]
    interactions: dict[int, list[Interaction]] = defaultdict(list)
    for interaction in Interaction.objects.filter(event__in=searches):
        interactions[interaction.event_id].append(interaction)
    following, with_answer = _next_questions(searches), answered(searches)
    for event in searches:
        signs = signs_of(
            event,
            interactions[event.pk],
            following.get(event.pk),
            is_answered=event.pk in with_answer,
        )
        yield Failure(event, signs)


def signs_of(
    event: SearchEvent,
    interactions: Iterable[Interaction],
    next_question: SearchEvent | None,
    *,
    is_answered: bool = False,
) -> tuple[Sign, ...]:
    """The signs that a search failed; empty if its visitor gave evidence of success.

    `next_question` is the visitor's next question within NEXT_WITHIN, if any. `is_answered`: an
    answer stood above the results, so that nobody had to open one.
    """
    kinds = {interaction.kind for interaction in interactions}
    read = any((interaction.seconds or 0) >= READ_SECONDS for interaction in interactions)
    if kinds & {Kind.DOWN, Kind.UNSOLVED}:
        return tuple(sign for sign in (Sign.DOWN, *_silent_signs(event)) if sign)
    if kinds & {Kind.UP, Kind.SOLVED} or read:
        return ()
    signs = list(_silent_signs(event))
    if event.best_click is None:
        if next_question is not None and _asks_the_same(event, next_question):
            signs.append(Sign.REFORMULATED)
        # API clients never click, so the absence of a click tells nothing.
        elif event.total and event.channel == SearchEvent.Channel.PAGE and not is_answered:
            signs.append(Sign.NO_CLICK)
    return tuple(signs)


def _silent_signs(event: SearchEvent) -> Iterable[Sign]:
    if not event.total:
        yield Sign.ZERO
    elif event.unsure:
        yield Sign.UNSURE


def _asks_the_same(event: SearchEvent, later: SearchEvent) -> bool:
    """True if `later` asks the same question in other words."""
    if shares_words(event.folded, later.folded):
        return True
    return float(np.dot(_embed(event.query), _embed(later.query))) >= SAME_SUBJECT


def _next_questions(searches: Sequence[SearchEvent]) -> Mapping[int, SearchEvent]:
    """The next different question of each event's visitor within NEXT_WITHIN; one query."""
    of_visitors = [event for event in searches if event.visitor]
    if not of_visitors:
        return {}
    later = SearchEvent.objects.searches().filter(
        visitor__in={event.visitor for event in of_visitors},
        at__gt=min(event.at for event in of_visitors),
        at__lte=max(event.at for event in of_visitors) + NEXT_WITHIN,
    )
    by_visitor: dict[str, list[SearchEvent]] = defaultdict(list)
    for event in later.order_by("at", "pk"):
        by_visitor[event.visitor].append(event)
    next_questions = {}
    for event in of_visitors:
        for candidate in by_visitor[event.visitor]:
            if event.at < candidate.at <= event.at + NEXT_WITHIN:
                if candidate.folded != event.folded:
                    next_questions[event.pk] = candidate
                break
    return next_questions


def file_failures(failures: Sequence[Failure]) -> None:
    """Save the signs of failed searches under their wordings and gaps."""
    wordings = _wordings(failures)
    signs = []
    for failure in failures:
        event, wording = failure.event, wordings[failure.event.folded]
        is_long = len("".join(event.collections).encode()) > MAX_NAMES
        _reopen(wording.gap, failure)
        signs += [
            GapSign(
                wording=wording,
                kind=sign,
                visitor=event.visitor or f"event {event.pk}",
                sources=event.sources,
                collections=[""] if is_long else event.collections,
                first=event.at,
                last=event.at,
            )
            for sign in failure.signs
        ]
    # One statement cannot upsert a row twice: keep the last of equal signs.
    once = {(s.wording_id, s.kind, s.visitor, *s.sources, *s.collections): s for s in signs}
    GapSign.objects.bulk_create(
        once.values(),
        update_conflicts=True,
        unique_fields=("wording", "kind", "visitor", "sources", "collections"),
        update_fields=("last",),
    )


def _wordings(failures: Sequence[Failure]) -> dict[str, GapWording]:
    """The wording of each folded question, cut if long; a new one is added to its nearest gap."""
    questions = {f.event.folded: f.event.query[:MAX_WORDING] for f in reversed(failures)}
    rows = GapWording.objects.filter(folded__in=questions).select_related("gap")
    wordings = {wording.folded: wording for wording in rows}
    new = dict.fromkeys(f.event.folded for f in failures if f.event.folded not in wordings)
    if new:
        open_gaps = _OpenGaps()
        for folded in new:
            wordings[folded] = open_gaps.place(questions[folded], folded)
    return wordings


class _OpenGaps:
    """The embedded wordings of all open gaps, to which new questions are assigned."""

    def __init__(self) -> None:
        self.space = spaces.embedder().card.fingerprint
        wordings = GapWording.objects.filter(gap__state=Gap.State.OPEN)
        rows = list(wordings.order_by("pk").select_related("gap"))
        self.gaps = {row.gap_id: row.gap for row in rows}
        for row in rows:
            self._refresh(row)
        self.groups = [row.gap_id for row in rows]
        self.vectors = [row.vector for row in rows]

    def _refresh(self, row: GapWording) -> None:
        """Embed the wording again if its vector comes from another model."""
        if row.vector is None or row.space != self.space:
            row.vector, row.space = _embed(row.query), self.space
            row.save(update_fields=["vector", "space"])

    def place(self, query: str, folded: str) -> GapWording:
        """Create a wording in the gap nearest in meaning, or in a new gap."""
        vector = _embed(query)
        nearest = nearest_group(vector, np.array(self.vectors, np.float32), self.groups)
        gap = self.gaps[nearest] if nearest is not None else Gap.objects.create()
        self.gaps[gap.pk] = gap
        self.groups.append(gap.pk)
        self.vectors.append(vector)
        return GapWording.objects.create(
            gap=gap, query=query, folded=folded, vector=vector, space=self.space
        )


def _embed(text: str) -> list[float]:
    vector: list[float] = spaces.query_embedder().embed_query(text).tolist()
    return vector


def _reopen(gap: Gap, failure: Failure) -> None:
    """Reopen a closed gap whose question has failed again since."""
    if gap.state != Gap.State.CLOSED or gap.closed_at is None:
        return
    if failure.event.at <= gap.closed_at or not REOPENS & set(failure.signs):
        return
    gap.state, gap.closed_at = Gap.State.OPEN, None
    gap.save(update_fields=["state", "closed_at"])
    signs = ", ".join(sign.label.lower() for sign in failure.signs)
    GapStep.objects.create(
        gap=gap,
        kind=GapStep.Kind.REOPENED,
        note=gettext("It failed again: %(signs)s.") % {"signs": signs},
        at=failure.event.at,
    )
