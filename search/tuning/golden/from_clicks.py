"""Judgements from clicks and ratings: few, bounded, and all removable with one call.

They join the golden set like other judgements, so searchers' behaviour changes weights only through
a draft and the gate, never the ranking directly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction

from ingestion.models import Document
from search.analytics.gathering import READ_SECONDS
from search.analytics.models import Interaction, SearchEvent
from search.tuning.golden.judging import MAX_TEXT, ensure_query
from search.tuning.models import GoldenQuery, Judgement

if TYPE_CHECKING:
    from common.accounts.models import User

Kind = Interaction.Kind

JUDGE = "searchers"
# At least this many visitors must agree, and twice as many as disagree.
ENOUGH = 3
# Clicks are weaker than grades: 3 is reserved for people who judge.
GOOD, FAIR, BAD = 2, 1, 0

Votes = dict[tuple[str, UUID], dict[str, bool | None]]
"""Each visitor's vote by question and document; None: opened in preference to a higher result."""


@transaction.atomic
def learn(*, acting_user: User) -> int:
    """Judge documents by the searches that the person may see; return how many are judged.

    A thumb up, half a minute of reading, or a click in a search marked as answered counts as good,
    a thumb down as bad. A click on the top result counts as nothing; a click below a skipped result
    makes a document related (Joachims et al. 2005: a searcher who clicks has examined the results
    above). Each visitor has one vote per document and question. A repeated call updates the grades.
    """
    events = {
        event.pk: event
        for event in SearchEvent.objects.visible_to(acting_user)
        .searches()
        .filter(collections=[])
        .exclude(folded="")
        .exclude(visitor="")
        .exclude(interactions=None)
    }
    grades = {
        key: grade
        for key, voters in _votes(events).items()
        if (grade := _grade(voters.values())) is not None
    }
    documents = {
        document.public_id: document
        for document in Document.objects.visible_to(acting_user)
        .filter(public_id__in={public_id for _, public_id in grades})
        .only("pk", "public_id", "title")
    }
    texts = {event.folded: event.query for event in events.values()}
    judged = 0
    for (folded, public_id), grade in sorted(grades.items()):
        if public_id in documents and len(texts[folded]) <= MAX_TEXT:
            _judge(texts[folded], documents[public_id], grade, acting_user)
            judged += 1
    return judged


@transaction.atomic
def take_back() -> int:
    """Remove all judgements of searchers and their golden queries; return how many judgements."""
    _, rows = Judgement.objects.filter(judge_name=JUDGE, judge=None).delete()
    queries = GoldenQuery.objects.filter(origin=GoldenQuery.Origin.CLICKS, judgements=None)
    queries.filter(must_be_first=None).delete()
    return rows.get(Judgement._meta.label, 0)


def _votes(events: Mapping[int, SearchEvent]) -> Votes:
    """Each visitor's latest vote by question and document."""
    rows = Interaction.objects.filter(event__in=events).order_by("at", "pk")
    by_event: dict[int, list[Interaction]] = defaultdict(list)
    for row in rows:
        by_event[row.event_id].append(row)
    votes: Votes = defaultdict(dict)
    for key, interactions in by_event.items():
        event = events[key]
        solved = any(row.kind == Kind.SOLVED for row in interactions)
        chosen = _chosen_over_others(interactions)
        for row in interactions:
            is_good = _is_good(row, solved=solved)
            if row.document is not None and is_good is not None:
                votes[event.folded, row.document][event.visitor] = is_good
        for document in chosen:
            votes[event.folded, document].setdefault(event.visitor, None)
    return votes


def _chosen_over_others(interactions: Iterable[Interaction]) -> list[UUID]:
    """The documents that were opened although a higher result was not."""
    opened = {row.rank: row.document for row in interactions if row.kind == Kind.CLICK}
    return [
        document
        for rank, document in opened.items()
        if rank is not None
        and document is not None
        and any(above not in opened for above in range(1, rank))
    ]


def _is_good(row: Interaction, *, solved: bool) -> bool | None:
    """The vote of an interaction on its document; None for no vote."""
    match row.kind:
        case Kind.UP:
            return True
        case Kind.DOWN:
            return False
        case Kind.DWELL if (row.seconds or 0) >= READ_SECONDS:
            return True
        case Kind.CLICK if solved:
            return True
        case _:
            return None


def _grade(voters: Iterable[bool | None]) -> int | None:
    votes = list(voters)
    good, bad = votes.count(True), votes.count(False)
    if good >= ENOUGH and good >= 2 * bad:
        return GOOD
    if bad >= ENOUGH and bad >= 2 * good:
        return BAD
    chosen = len(votes) - bad
    return FAIR if chosen >= ENOUGH and chosen >= 2 * bad else None


def _judge(text: str, document: Document, grade: int, acting_user: User) -> None:
    query, _ = ensure_query(text, [], acting_user=acting_user, origin=GoldenQuery.Origin.CLICKS)
    Judgement.objects.update_or_create(
        query=query,
        reference=document.public_id,
        judge_name=JUDGE,
        defaults={"document": document, "title": document.title, "grade": grade, "judge": None},
    )
