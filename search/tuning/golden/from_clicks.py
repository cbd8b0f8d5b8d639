"""What searchers did becomes judgements: few, bounded, and all of them taken back by one call.

They enter the golden set like anybody's. So what searchers do moves weights only through a draft
and the gate, never the ranking itself.
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
from search.tuning.golden.judging import ensure_query
from search.tuning.models import GoldenQuery, Judgement

if TYPE_CHECKING:
    from common.accounts.models import User

Kind = Interaction.Kind

JUDGE = "searchers"
# So many visitors must agree, and twice as many as disagree: one alone can teach nothing.
ENOUGH = 3
# Who clicks has not graded: full marks are for people who judge.
GOOD, FAIR, BAD = 2, 1, 0

Votes = dict[tuple[str, UUID], dict[str, bool | None]]
"""By question and document what each visitor thinks; None: they chose it over a higher one."""


@transaction.atomic
def learn(*, acting_user: User) -> int:
    """How many documents are judged by now: of the searches and documents the person may see.

    Good is a thumb up, half a minute of reading, or being opened in a search that answered; bad a
    thumb down. What is opened because it stands at the top says nothing; opened below a result
    that was passed over it touches the question (Joachims and others 2005: who clicks has looked
    at what stands above). Each visitor has one vote on a document for a question. A second call
    changes what has changed.
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
    verdicts = {
        key: grade
        for key, voters in _votes(events).items()
        if (grade := _verdict(voters.values())) is not None
    }
    documents = {
        document.public_id: document
        for document in Document.objects.visible_to(acting_user)
        .filter(public_id__in={public_id for _, public_id in verdicts})
        .only("pk", "public_id", "title")
    }
    texts = {event.folded: event.query for event in events.values()}
    judged = 0
    for (folded, public_id), grade in sorted(verdicts.items()):
        if public_id in documents and len(texts[folded]) <= 500:
            _judge(texts[folded], documents[public_id], grade, acting_user)
            judged += 1
    return judged


@transaction.atomic
def take_back() -> int:
    """How many judgements of searchers were removed, with the questions only they had made."""
    _, rows = Judgement.objects.filter(judge_name=JUDGE, judge=None).delete()
    made = GoldenQuery.objects.filter(origin=GoldenQuery.Origin.CLICKS, judgements=None)
    made.filter(must_be_first=None).delete()
    return rows.get(Judgement._meta.label, 0)


def _votes(events: Mapping[int, SearchEvent]) -> Votes:
    """By question and document what each visitor thinks: the last that they said counts."""
    rows = Interaction.objects.filter(event__in=events).order_by("at", "pk")
    by_event: dict[int, list[Interaction]] = defaultdict(list)
    for row in rows:
        by_event[row.event_id].append(row)
    votes: Votes = defaultdict(dict)
    for key, said in by_event.items():
        event = events[key]
        solved = any(row.kind == Kind.SOLVED for row in said)
        chosen = _chosen_over_others(said)
        for row in said:
            is_good = _is_good(row, solved=solved)
            if row.document is not None and is_good is not None:
                votes[event.folded, row.document][event.visitor] = is_good
        for document in chosen:
            votes[event.folded, document].setdefault(event.visitor, None)
    return votes


def _chosen_over_others(said: Iterable[Interaction]) -> list[UUID]:
    """The documents that were opened although one above them was not."""
    opened = {row.rank: row.document for row in said if row.kind == Kind.CLICK}
    return [
        document
        for rank, document in opened.items()
        if rank is not None
        and document is not None
        and any(above not in opened for above in range(1, rank))
    ]


def _is_good(row: Interaction, *, solved: bool) -> bool | None:
    """What an interaction says of its document; None for nothing."""
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


def _verdict(voters: Iterable[bool | None]) -> int | None:
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
