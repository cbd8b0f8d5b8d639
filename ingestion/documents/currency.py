"""The currency of documents: read for a reader, put into words, and changed by people.

currencies -> the reasons why documents are not current, as far as a reader may know them
declare    -> what a document supersedes, its days of validity, its review and its owner
still_right, expire, supersede -> the decisions of a review; review_states -> documents to review
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Collection as Container
from datetime import date, timedelta
from typing import Any

from django.contrib.admin.models import CHANGE
from django.db import connection, transaction
from django.db.models import Q
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext

from common.accounts.models import User
from common.database import hold_name
from ingestion.currency_dates import CURRENT, Currency, CurrencyState, state_on
from ingestion.document_dates import DateKind, DocumentDate, as_day
from ingestion.documents.versions import locked
from ingestion.errors import InvalidCurrency
from ingestion.events import log, tell_of_currency
from ingestion.models import Document
from ingestion.models.visibility import Viewer

FIELDS = ("valid_from", "valid_until", "review_by", "owner")
# A guess: longer than any chain of editions; it also ends a cycle that a race could create.
LONGEST_CHAIN = 50
SOON = timedelta(days=30)
"""How long before its day a review is due. A guess."""

# For each document: its valid successors, the nearest first, and the documents it supersedes.
_CHAINS = """
SELECT d.id, d.valid_from, d.valid_until, coalesce(newer.ids, '{}'),
       ARRAY(SELECT older.id FROM ingestion_document older WHERE older.superseded_by_id = d.id)
FROM ingestion_document d
LEFT JOIN LATERAL (
    WITH RECURSIVE chain(id, step) AS (
        SELECT d.superseded_by_id, 1 WHERE d.superseded_by_id IS NOT NULL
        UNION ALL
        SELECT n.superseded_by_id, step + 1
        FROM chain JOIN ingestion_document n ON n.id = chain.id
        WHERE n.superseded_by_id IS NOT NULL AND step < %(longest)s
    )
    SELECT array_agg(n.id ORDER BY step) AS ids
    FROM chain JOIN ingestion_document n ON n.id = chain.id
    JOIN ingestion_collection c ON c.id = n.collection_id
    WHERE n.deleted_at IS NULL AND c.deleted_at IS NULL AND n.current_id IS NOT NULL
      AND (n.valid_from IS NULL OR n.valid_from <= %(today)s)
) newer ON true
WHERE d.id = ANY(%(ids)s)
  AND (d.superseded_by_id IS NOT NULL OR d.valid_from IS NOT NULL OR d.valid_until IS NOT NULL)
"""


# A document is superseded if a direct or indirect successor is valid.
_NOT_CURRENT = """
WITH RECURSIVE older(id) AS (
    SELECT d.id FROM ingestion_document d WHERE d.superseded_by_id = ANY(%s)
    UNION
    SELECT d.id FROM ingestion_document d JOIN older ON d.superseded_by_id = older.id
)
SELECT id FROM older
UNION ALL SELECT id FROM ingestion_document WHERE valid_until < %s OR valid_from > %s
"""


def not_current(day: date, viewer: Viewer) -> RawSQL:
    """The ids of the documents that are superseded, expired or not yet valid on the day.

    As far as `viewer` may know it. One query.
    """
    valid = Q(valid_from=None) | Q(valid_from__lte=day)
    rows = Document.objects.visible_to(viewer).filter(valid, current__isnull=False)
    newer = list(rows.filter(supersedes__isnull=False).order_by().values_list("pk", flat=True))
    return RawSQL(_NOT_CURRENT, (newer, day, day))  # noqa: S611  # ours


def currencies(documents: Iterable[int], viewer: Viewer) -> dict[int, Currency]:
    """The currency of those of these documents that are not current, by id.

    For who may read none of its successors a document is not superseded. One query; two if a
    document has successors; none for no documents.
    """
    today, ids = timezone.localdate(), list(documents)
    if not ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_CHAINS, {"ids": ids, "today": today, "longest": LONGEST_CHAIN})
        rows = cursor.fetchall()
    successors = {newer for _, _, _, chain, _ in rows for newer in chain}
    by_id: dict[int, tuple[int, Any, str]] = {}
    if successors:
        readable = Document.objects.visible_to(viewer).filter(pk__in=successors).order_by()
        by_id = {row[0]: row for row in readable.values_list("pk", "public_id", "title")}
    by_document: dict[int, Currency] = {}
    for pk, valid_from, valid_until, successor_ids, older in rows:
        chain = [each for each in successor_ids if each in by_id]
        state, day = state_on(today, valid_from, valid_until, superseded=bool(chain))
        if state is CurrencyState.CURRENT:
            continue
        newest = by_id[chain[-1]] if chain else (0, "", "")
        behind = older if state is CurrencyState.NOT_YET_VALID else chain
        by_document[pk] = Currency(state, day, str(newest[1]), newest[2], tuple(behind))
    return by_document


def currency_of(document: Document, viewer: Viewer) -> Currency:
    """The currency of one document; runs no query if the document has no dates or successor."""
    if not document.may_be_dated:
        return CURRENT
    return currencies([document.pk], viewer).get(document.pk, CURRENT)


def label(currency: Currency | None, *, title: bool = False) -> str:
    """The state in words, with the successor's `title` if any; empty if the document is current."""
    if currency is None or currency.state is CurrencyState.CURRENT:
        return ""
    if title and currency.successor_title:
        return gettext("Superseded by “%(title)s”") % {"title": currency.successor_title}
    texts = {
        CurrencyState.SUPERSEDED: gettext("Superseded by a newer document"),
        CurrencyState.EXPIRED: gettext("Expired: valid until %(day)s"),
        CurrencyState.NOT_YET_VALID: gettext("Not yet valid: from %(day)s on"),
    }
    day = date_format(currency.day, gettext("j F Y")) if currency.day else ""
    return texts[currency.state] % {"day": day}


def date_label(date: DocumentDate | None) -> str:
    """The date in words: "March 2026", "added 28 November 2026"; empty without one."""
    if date is None:
        return ""
    form = {4: "Y", 7: "F Y"}.get(len(date.value), gettext("j F Y"))
    day = date_format(as_day(date.value), form)
    return day if date.kind is DateKind.DOCUMENT else gettext("added %(day)s") % {"day": day}


def as_data(currency: Currency | None, absolute: Callable[[str], str] = str) -> dict[str, Any]:
    """The currency as data for programs; `absolute` turns a path into an address."""
    currency, successor = currency or CURRENT, None
    if currency.successor:
        path = Document(public_id=currency.successor).get_absolute_url()
        url = absolute(path)
        successor = {"id": currency.successor, "title": currency.successor_title, "url": url}
    state, day = currency.state.value, currency.day and currency.day.isoformat()
    return {"state": state, "label": label(currency), "day": day, "successor": successor}


# --- what people decide ---------------------------------------------------------------------------


@transaction.atomic
def declare(
    document: Document,
    *,
    acting_user: User | None,
    supersedes: Container[Document] | None = None,
    **fields: Any,
) -> Document:
    """Set the given FIELDS, and the documents that it supersedes; return the document.

    `supersedes` None keeps them; a field None empties it. The caller checks that the user may
    change each of the documents; those that they may not read, and those in the bin, stay
    superseded. Raises InvalidCurrency for days that exclude each other and for documents that would
    supersede themselves.
    """
    hold_name("supersession")
    row = locked(document.pk)
    changes = {name: value for name, value in fields.items() if getattr(row, name) != value}
    for name, value in changes.items():
        setattr(row, name, value)
    if row.valid_from and row.valid_until and row.valid_until < row.valid_from:
        text = gettext("It would be valid until %(until)s, before %(start)s. Correct one of them.")
        raise InvalidCurrency(text % {"until": row.valid_until, "start": row.valid_from})
    if changes:
        row.reminded = None
        row.save(update_fields=[*changes, "reminded", "updated"])
        log(acting_user, row, CHANGE, f"Changed currency: {', '.join(sorted(changes))}")
    if supersedes is not None:
        _set_superseded(row, supersedes, acting_user)
    tell_of_currency()
    return row


def supersede(older: Document, newer: Document, *, acting_user: User | None) -> None:
    """Record that one document supersedes another, and end its review. Raises InvalidCurrency."""
    with transaction.atomic():
        hold_name("supersession")
        declare(newer, acting_user=acting_user, supersedes=[*newer.supersedes.all(), older])
        _reviewed(older, acting_user, review_by=None)


def still_right(document: Document, review_by: date | None, *, acting_user: User) -> None:
    """Record that a person confirmed it today, and its next review; None: never.

    Raises InvalidCurrency for a day that is past.
    """
    if review_by is not None and review_by <= timezone.localdate():
        raise InvalidCurrency(gettext("The next review must be after today. Give a later day."))
    with transaction.atomic():
        _reviewed(document, acting_user, review_by=review_by)
        log(acting_user, document, CHANGE, "Reviewed: still right")


def expire(document: Document, *, acting_user: User) -> None:
    """End the document's validity: yesterday becomes its last valid day."""
    day = timezone.localdate() - timedelta(days=1)
    start = document.valid_from and min(document.valid_from, day)
    with transaction.atomic():
        declare(document, acting_user=acting_user, valid_from=start, valid_until=day)
        _reviewed(document, acting_user, review_by=None)


def _reviewed(document: Document, user: User | None, *, review_by: date | None) -> None:
    seen = {"reviewed": timezone.localdate(), "reviewed_by": user, "updated": timezone.now()}
    Document.objects.filter(pk=document.pk).update(**seen, review_by=review_by, reminded=None)


def _set_superseded(newer: Document, documents: Container[Document], user: User | None) -> None:
    """Replace the documents that `newer` supersedes by these."""
    present = set(newer.supersedes.values_list("pk", flat=True))
    requested = {each.pk for each in documents}
    rows = Document.objects.filter(pk__in=present | requested)
    seen = rows if user is None else Document.objects.visible_to(user)
    left_out = seen.filter(pk__in=present - requested).values_list("pk", flat=True)
    added, dropped = requested - present, set(left_out)
    locked_rows = rows.filter(pk__in=added).select_for_update(of=("self",)).order_by("pk")
    check_superseded(newer, locked_rows)
    now = timezone.now()
    rows.filter(pk__in=dropped).update(superseded_by=None, updated=now)
    rows.filter(pk__in=added).update(superseded_by=newer, updated=now)
    Document.objects.filter(pk=newer.pk, edition_of__in=requested).update(edition_of=None)
    for older in rows.filter(pk__in=added | dropped):
        how = "Superseded by" if older.pk in added else "No longer superseded by"
        log(user, older, CHANGE, f"{how}: {newer.public_id}")


def check_superseded(newer: Document | None, documents: Iterable[Document]) -> None:
    """Raise InvalidCurrency if `newer`, None for a new one, cannot supersede all of these."""
    above = _chain_of(newer) if newer else []
    for older in documents:
        if older.pk in above:
            text = gettext("“%(title)s” supersedes this document, so this cannot supersede it.")
        elif older.superseded_by_id not in (None, newer and newer.pk):
            text = gettext("“%(title)s” is superseded by another document. Take that back first.")
        else:
            continue
        raise InvalidCurrency(text % {"title": older.title})


def hold_chain(pk: int) -> None:
    """Hold the lock of `declare`, before that of the document, if it is in a chain of editions."""
    linked = Q(superseded_by=pk) | Q(pk=pk, superseded_by__isnull=False)
    if Document.objects.filter(linked).exists():
        hold_name("supersession")


def leave_chain(document: Document) -> None:
    """Before the document is erased, pass the documents that it superseded on to its successor."""
    document.supersedes.update(superseded_by=document.superseded_by_id)


def _chain_of(document: Document) -> list[int]:
    """The ids of the document and of those that supersede it, the nearest first."""
    chain, above = [document.pk], document.superseded_by_id
    while above is not None and above not in chain:
        chain.append(above)
        rows = Document.objects.filter(pk=above)
        above = rows.values_list("superseded_by_id", flat=True).first()
    return chain


# --- what is to be reviewed -----------------------------------------------------------------------


def review_states() -> dict[str, Q]:
    """The conditions of documents to review: `overdue`, `due` in a month, or without `owner`.

    Superseded and expired documents need no review.
    """
    today = timezone.localdate()
    open_ones = Q(superseded_by=None) | Q(superseded_by__deleted_at__isnull=False)
    open_ones &= Q(current__isnull=False) & (Q(valid_until=None) | Q(valid_until__gte=today))
    stated = Q(review_by__isnull=False) | Q(valid_until__isnull=False)
    return {
        "overdue": open_ones & Q(review_by__lt=today),
        "due": open_ones & Q(review_by__gte=today, review_by__lte=today + SOON),
        "unowned": open_ones & Q(owner=None) & stated,
    }
