"""Readers' feedback on answers, and its consequences: search gaps and golden queries.

A complaint about an answer shows its question to administrators who may read all of its sources, as
a failed search does. The note stays with the feedback.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from common.accounts.models import User
from ingestion.models.visibility import Viewer
from search.analytics.failed_search_detection import SETTLE, drained
from search.analytics.models import SearchEvent
from search.analytics.recording import MAX_FOLDED, file_complaints
from search.answers.domain import SURE, State
from search.answers.models import Answer, AnswerFeedback, AnswerSource
from search.answers.models.records import ALL_READABLE
from search.errors import SearchError
from search.query.query_key import fold_query
from search.tuning import judging
from search.tuning.models import GoldenQuery

Reason = AnswerFeedback.Reason
# Reasons that blame one of the sources.
OF_A_SOURCE = frozenset({Reason.SOURCE, Reason.OUTDATED})
MAX_NOTE = 1000
BATCH = 200
# The grade of a document that a helpful answer cites: 3 is reserved for people who read it.
CITED_GRADE = 2


class FeedbackError(SearchError):
    """The feedback does not fit the answer."""

    code = "invalid_feedback"


def give(
    answer: Answer,
    *,
    viewer: Viewer,
    visitor: str,
    helpful: bool,
    reason: str = "",
    source: int | None = None,
    note: str = "",
) -> AnswerFeedback:
    """Store a reader's rating of an answer; it replaces their earlier one.

    `visitor` is the reader's key (`visitor_of`). The caller has made sure that the reader may read
    the answer. Raises FeedbackError for a reason of a helpful answer and for a missing source.
    """
    _check(answer, helpful=helpful, reason=reason, source=source, note=note)
    user = viewer if viewer is not None and viewer.is_authenticated else None
    feedback, _is_new = AnswerFeedback.objects.update_or_create(
        answer=answer,
        visitor=visitor,
        defaults={
            "user": user,
            "helpful": helpful,
            "reason": reason,
            "source": source,
            "note": note.strip(),
            "at": timezone.now(),
            "gathered": False,
        },
    )
    return feedback


def take_back(answer: Answer, *, visitor: str) -> bool:
    """Delete a reader's feedback; return False if there was none. A gap that it made stays."""
    deleted, _rows = AnswerFeedback.objects.filter(answer=answer, visitor=visitor).delete()
    return deleted > 0


def _check(answer: Answer, *, helpful: bool, reason: str, source: int | None, note: str) -> None:
    if answer.state == State.RUNNING:
        raise FeedbackError(_("The answer is still being written. Wait until it is finished."))
    if reason and reason not in Reason.values:
        names = ", ".join(Reason.values)
        raise FeedbackError(_("There is no such reason. Use one of: %s.") % names)
    if helpful and (reason or source is not None):
        raise FeedbackError(_("A reason and a source belong to an answer that did not help."))
    if source is not None:
        if reason not in OF_A_SOURCE:
            raise FeedbackError(_("Name a source only if it is the wrong one or out of date."))
        if not answer.sources.filter(number=source).exists():
            raise FeedbackError(_("The answer has no source %(number)d.") % {"number": source})
    if len(note) > MAX_NOTE:
        raise FeedbackError(_("The note is too long: at most %d characters.") % MAX_NOTE)


def helpfulness(since: datetime) -> dict[str, int]:
    """The numbers of readers since then who found answers `helpful`, and in `total` of those who
    rated them; the last rating of each reader counts (S5-45).
    """
    rows = AnswerFeedback.objects.filter(at__gte=since)
    return rows.aggregate(helpful=Count("pk", Q(helpful=True)), total=Count("pk"))


def answered(events: Sequence[SearchEvent]) -> set[int]:
    """The keys of the searches that were answered on their page; one query.

    What was shown was called an answer, and nobody said that it did not help.
    """
    if not events:
        return set()
    since, until = min(each.at for each in events), max(each.at for each in events)
    rows = Answer.objects.filter(
        Q(confidence__gte=SURE) | ~Q(model=""),
        state=State.DONE,
        visitor__in={each.visitor for each in events if each.visitor},
        at__range=(since, until + SETTLE),
    ).exclude(feedback__helpful=False)
    times: dict[tuple[str, str], list[datetime]] = defaultdict(list)
    for visitor, question, at in rows.values_list("visitor", "question", "at"):
        times[visitor, fold_query(question)[:MAX_FOLDED]].append(at)
    return {
        each.pk
        for each in events
        for text in {each.folded, fold_query(each.corrected_from)[:MAX_FOLDED]}
        if any(each.at <= at <= each.at + SETTLE for at in times.get((each.visitor, text), ()))
    }


def gather(*, now: datetime | None = None) -> int:
    """Turn settled complaints about answers into signs of search gaps; return how many settled.

    A complaint from a conversation that is not shared, or about an answer one of whose sources was
    deleted, is counted and shows nobody its question.

    A complaint settles as a search does, so that it can be taken back. If the embedding model is
    unavailable, the complaints wait for the next run.
    """
    return drained(_gather_batch, now, "Complaints about answers")


@transaction.atomic
def _gather_batch(settled: datetime) -> int:
    waiting = AnswerFeedback.objects.filter(helpful=False, gathered=False, at__lte=settled)
    waiting = waiting.select_related("answer__thread").prefetch_related("answer__sources__document")
    rows = list(waiting.order_by("pk").select_for_update(of=("self",), skip_locked=True)[:BATCH])
    file_complaints([_complaint(row) for row in rows if _has_readable_question(row.answer)])
    AnswerFeedback.objects.filter(pk__in=[row.pk for row in rows]).update(gathered=True)
    return len(rows)


def _has_readable_question(answer: Answer) -> bool:
    """Whether everybody who may read all sources of the answer may read its question.

    False once a source was deleted: nobody knows any more who could read it.
    """
    is_private = answer.thread is not None and not answer.thread.shared
    return not is_private and len(answer.sources.all()) >= answer.source_count


def _complaint(row: AnswerFeedback) -> SearchEvent:
    answer = row.answer
    return SearchEvent(
        # In a conversation the question alone may say nothing.
        query=answer.searched_for or answer.question,
        visitor=row.visitor,
        sources=sorted({each.document.readers_id for each in answer.sources.all()}),
        collections=sorted(answer.filters.get("collections", ())),
        at=row.at,
    )


def suggested(viewer: Viewer) -> QuerySet[Answer]:
    """Answers that could become golden queries, the newest first.

    Every reader who spoke found them helpful, they cite a source, and `viewer` may read all of
    their sources. Conversations that are not shared stay private.
    """
    rows = Answer.objects.with_readable_sources(viewer).filter(
        pk__in=AnswerFeedback.objects.filter(helpful=True).values("answer"), state=State.DONE
    )
    complaints = AnswerFeedback.objects.filter(helpful=False).values("answer")
    cited = AnswerSource.objects.filter(cited=True).values("answer")
    rows = rows.exclude(pk__in=complaints).filter(pk__in=cited)
    open_ones = Q(thread=None) | Q(thread__shared=True)
    return rows.filter(open_ones, **ALL_READABLE).order_by("-at", "-pk")


@transaction.atomic
def make_golden(answer: Answer, *, acting_user: User) -> GoldenQuery:
    """Make a golden query of the answer's question: the cited documents answer it.

    The judgements are the acting user's own. Raises FeedbackError if the answer cites nothing,
    JudgementError for a document that the acting user may not see.
    """
    cited = answer.sources.filter(cited=True).select_related("document")
    documents = {source.document_id: source.document for source in cited}
    if not documents:
        raise FeedbackError(_("The answer cites no source: there is nothing to judge."))
    text = answer.searched_for or answer.question
    note = _("Cited by an answer.")
    slugs = list(answer.filters.get("collections", ()))
    for document in documents.values():
        judgement = judging.judge(
            text, slugs, document, CITED_GRADE, acting_user=acting_user, note=note
        )
    return judgement.query
