"""Complaints about answers: their questions join the search gaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from common import database
from search.analytics.gathering import Failure, file_failures
from search.analytics.models import SearchEvent, Sign
from search.query.expand import fold_query

# As long as the columns of a wording.
MAX_WORDING, MAX_FOLDED = 1000, 500


@dataclass(frozen=True, slots=True)
class Complaint:
    """A question whose answer did not help a visitor.

    `sources` are the ids of the collections that it was answered from, `collections` the names of
    those that were asked: whoever may not read one of them may not read the question.
    """

    question: str
    visitor: str
    sources: Sequence[int]
    collections: Sequence[str]
    at: datetime


@transaction.atomic
def file_complaints(complaints: Iterable[Complaint]) -> None:
    """File the questions of complaints as gaps. Raises EmbeddingError."""
    failures = [
        Failure(
            SearchEvent(
                query=complaint.question[:MAX_WORDING],
                folded=fold_query(complaint.question)[:MAX_FOLDED],
                visitor=complaint.visitor,
                sources=list(complaint.sources),
                collections=list(complaint.collections),
                at=complaint.at,
            ),
            (Sign.ANSWER,),
        )
        for complaint in complaints
    ]
    failures = [failure for failure in failures if failure.event.folded]
    if failures:
        database.hold(database.SEARCH_EVENTS)
        file_failures(failures)
