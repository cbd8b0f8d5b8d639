"""The currency stated in files, and uploads that may be a new edition of a document.

A file names documents of its own collection alone, by id, source, file name or title.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cmp_to_key, reduce
from itertools import pairwise
from operator import and_
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, Q
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.currency_dates import DATES, day_of
from ingestion.documents.currency import declare
from ingestion.edition_titles import edition_title
from ingestion.errors import InvalidCurrency
from ingestion.lexical.near_duplicates import MAX_DISTANCE
from ingestion.models import Document, DocumentVersion, Lane
from ingestion.models.documents import DocumentQuerySet

CHANGE = "ingestion.change_document"
# Passages of a new document that are compared with those of its collection, and the share of them
# that another document must nearly hold. Guesses; each passage costs a look at all signatures.
PROBES, ALIKE = 5, 0.5
# The most documents whose titles differ as those of editions do, and of titles that are compared.
# Guesses.
SERIES, MOST_TITLES = 4, 50

_NEAR = """
SELECT c.document_id, count(DISTINCT probe.at)
FROM ingestion_chunk c, unnest(%s::bigint[]) WITH ORDINALITY probe(signature, at)
WHERE c.collection_id = %s AND c.searchable AND c.document_id <> %s
  AND bit_count((c.signature # probe.signature)::bit(64)) <= %s
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1
"""


def read_version(version: DocumentVersion, from_file: Mapping[str, Any]) -> tuple[str, ...]:
    """Apply the currency stated in a version's file and import, where it differs from the last.

    Values that the version before stated too are skipped, so that a file that is read again does
    not undo a person's change. An import's values take precedence over the file's own. Returns the
    problems, as sentences with the remedy; `version.stated` holds the applied values.
    """
    values = {**from_file, **(version.stated or {})}
    if not values:
        return ()
    before = DocumentVersion.objects.filter(document=version.document_id, stated__isnull=False)
    earlier = before.filter(number__lt=version.number).order_by("-number")
    last = earlier.values_list("stated", flat=True).first() or {}
    version.stated, problems = _apply_new(version.document, values, last)
    return tuple(problems)


def restate(document: Document, stated: Mapping[str, Any]) -> None:
    """Apply an import's values for a stored file, where they differ from the last import's."""
    version = document.latest
    assert version is not None
    last = version.stated or {}
    applied, _ = _apply_new(document, stated, last)
    if (after := {**last, **applied}) != last:
        version.stated = after
        version.save(update_fields=["stated"])


def _apply_new(
    document: Document, values: Mapping[str, Any], last: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Apply the values that differ from `last`; return the values now applied, and the problems."""
    fresh = {key: value for key, value in values.items() if last.get(key) != value}
    problems = list(_apply(document, fresh))
    wrong = {key for key, _ in problems}
    applied = {key: value for key, value in values.items() if key not in wrong}
    return applied, [problem for _, problem in problems]


def _apply(document: Document, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Apply the values of a file or an import; return the refused keys and the problems."""
    fields: dict[str, Any] = {}
    for key in DATES & values.keys():
        if (day := day_of(values[key])) is None:
            text = gettext("“%(key)s: %(text)s” is not a date. Write 2026-01-31, or set it here.")
            yield key, text % {"key": key, "text": values[key]}
        else:
            fields[key] = day
    if name := values.get("owner"):
        people = User.objects.filter(Q(username=name) | Q(email=name.lower()), is_active=True)
        if owner := people.first():
            fields["owner"] = owner
        else:
            text = gettext("There is no user “%(name)s” who could be the owner: choose one here.")
            yield "owner", text % {"name": name}
    older: list[Document] = []
    for name in values.get("supersedes", ()):
        try:
            older.append(_document_named(document, name))
        except InvalidCurrency as error:
            yield "supersedes", f"“supersedes: {name}”: {error}"
    both = {"supersedes": {*document.supersedes.all(), *older}} if older else {}
    for changes in filter(None, (fields, both)):
        try:
            declare(document, acting_user=None, **changes)
        except InvalidCurrency as error:
            yield from ((key, str(error)) for key in changes)


def _document_named(document: Document, name: str) -> Document:
    """The document that a file names as superseded. Raises InvalidCurrency."""
    adder = document.added_by
    rows = Document.objects.visible_to(adder) if adder else Document.objects.undeleted()
    rows = rows.filter(_called(name), collection=document.collection_id)
    matches = rows.exclude(pk=document.pk)[:2]
    if len(matches) != 1:
        text = gettext("give one document's id, path, file name or title, or choose it here.")
        raise InvalidCurrency(text)
    # A part, such as an attachment of a message, does not belong to the person who added the whole.
    if document.parent_id or (adder is not None and not adder.has_perm(CHANGE)):
        Document.objects.filter(pk=document.pk).update(edition_of=matches[0])
        raise InvalidCurrency(gettext("only a person who may change documents can decide this."))
    return matches[0]


def _called(name: str) -> Q:
    try:
        return Q(public_id=UUID(name))
    except ValueError:
        return Q(source=name) | Q(latest__file_name=name) | Q(title__iexact=name)


def offer(version: DocumentVersion) -> None:
    """Mark a new document that may be a new edition of another one, for a person to decide.

    Such a document is newer than another one of the collection, and has the same title, or one that
    differs in a year, a number or a word such as "final"; or, if a person uploaded it, nearly the
    same passages. If it is the older one of two such titles, the newer one is marked.
    """
    rows = Document.objects.filter(pk=version.document_id, parent=None, edition_of=None)
    document = rows.select_related("current").defer("current__text").first()
    if version.number > 1 or document is None:
        return
    others = Document.objects.undeleted().filter(collection=document.collection_id, parent=None)
    others = others.filter(current__isnull=False, superseded_by=None).exclude(pk=document.pk)
    same = list(others.filter(title__iexact=document.title).select_related("current")[:2])
    older = same[0] if len(same) == 1 else None
    if older is None and _offer_by_title(document, others):
        return
    if older is None and version.lane == Lane.INTERACTIVE:
        older = _near(document, others)
    if older is not None and _is_newer(document, older):
        rows.update(edition_of=older)


def _offer_by_title(document: Document, others: DocumentQuerySet) -> bool:
    """Mark the document, and the next newer one, by titles that share a stem; return whether any
    do. Of more than SERIES documents none is an edition: they are minutes, chapters, invoices.
    """
    title = edition_title(document.title)
    if not title.stem:
        return False
    named = others.filter(reduce(and_, (Q(title__icontains=word) for word in title.stem)))
    # Several documents of one title, as files of many folders have, are no editions of each other.
    named = named.exclude(title__iexact=document.title).order_by("pk")
    named = named.select_related("current").defer("current__text")
    rows = [row for row in named[:MOST_TITLES] if edition_title(row.title).stem == title.stem]
    rows.append(document)
    if len(rows) > SERIES:
        offered = Document.objects.filter(pk__in=[row.pk for row in rows], edition_of__in=rows)
        offered.exclude(title__iexact=F("edition_of__title")).update(edition_of=None)
        return True
    rows.sort(key=cmp_to_key(lambda one, other: 1 if _is_newer(one, other) else -1))
    at = rows.index(document)
    for older, newer in pairwise(rows[max(0, at - 1) : at + 2]):
        if _is_newer(newer, older):
            fresh = Document.objects.filter(Q(edition_of=None) | Q(edition_of__in=rows))
            fresh.filter(pk=newer.pk).update(edition_of=older)
    return len(rows) > 1


def _near(document: Document, others: DocumentQuerySet) -> Document | None:
    """The document with the most near-duplicates of this one's passages; None below ALIKE."""
    signed = document.chunks.exclude(signature=None).order_by("ordinal")
    signatures = list(signed.values_list("signature", flat=True))
    probes = signatures[:: max(1, len(signatures) // PROBES)][:PROBES]
    with connection.cursor() as cursor:
        cursor.execute(_NEAR, [probes, document.collection_id, document.pk, MAX_DISTANCE])
        row = cursor.fetchone() if probes else None
    if row is None or row[1] < ALIKE * len(probes):
        return None
    return others.filter(pk=row[0]).select_related("current").first()


def _is_newer(document: Document, older: Document) -> bool:
    """Compare what the titles say; else the dates in both files; else of the uploads, unless both
    came from a source.
    """
    by_titles = edition_title(document.title).is_newer(edition_title(older.title))
    if by_titles is not None:
        return by_titles
    dates = [v and (v.file_modified or v.file_created) for v in (document.current, older.current)]
    by_files = all(dates) or (document.source and older.source)
    mine, theirs = dates if by_files else (document.created, older.created)
    return bool(mine and theirs and mine > theirs)
