"""Old documents on which many answers rest: the first to look at in a review."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Q
from django.utils import timezone

from ingestion.document_dates import DocumentDate, as_day, date_of_version
from ingestion.documents.currency import date_label, not_current
from ingestion.models import Document
from ingestion.models.visibility import Viewer
from search.answers.domain import State
from search.answers.models import AnswerSource

OLD = timedelta(days=365)  # since its date, or since somebody found it still right. A guess
RECENT = timedelta(days=90)  # of the answers that are counted. A guess
MOST_COMPARED, MOST_LISTED = 200, 10


@dataclass(frozen=True, slots=True)
class OldSource:
    """An old document, and the number of recent answers that cite it."""

    document: Document
    date: DocumentDate
    answers: int

    @property
    def date_label(self) -> str:
        return date_label(self.date)


def old_sources(viewer: Viewer) -> list[OldSource]:
    """The old documents that most recent answers cite, of those that `viewer` may read.

    Neither superseded nor expired ones, nor those that were reviewed since. Three queries.
    """
    today = timezone.localdate()
    reviewed = Q(reviewed=None) | Q(reviewed__lt=today - OLD)
    readable = Document.objects.visible_to(viewer).filter(reviewed, current__isnull=False)
    readable = readable.exclude(pk__in=not_current(today, viewer)).order_by()
    cited = AnswerSource.objects.filter(
        cited=True,
        answer__state=State.DONE,
        answer__at__gte=timezone.now() - RECENT,
        document__in=readable.values("pk"),
    )
    counts = cited.order_by().values("document").annotate(answers=Count("answer", distinct=True))
    by_document = dict(
        counts.order_by("-answers", "document").values_list("document", "answers")[:MOST_COMPARED]
    )
    rows = Document.objects.select_related("current", "collection", "owner", "reviewed_by")
    documents = rows.defer("title_terms", "current__text").in_bulk(by_document)
    dated = (
        OldSource(documents[pk], date_of_version(documents[pk], documents[pk].current), answers)
        for pk, answers in by_document.items()
    )
    return [each for each in dated if as_day(each.date.value) < today - OLD][:MOST_LISTED]
