"""Import and export of judgements: rows of files <-> golden queries and judgements.

An import saves all valid lines, reports the others, and can be repeated: existing judgements are
kept, and a different grade by the same judge is reported, never overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext

from common.accounts.models import User
from common.audit.models import Kind
from common.audit.trail import record
from ingestion.models import Document
from ingestion.models.visibility import Viewer
from search.domain import QueryClass
from search.errors import JudgementError, SearchError
from search.tuning import judging
from search.tuning.evaluation.measures import median_grade
from search.tuning.golden_file_formats import FORMATS, Format, JudgementRow, Problem
from search.tuning.models import GoldenQuery, Judgement

DEFAULT_JUDGE = "imported"


@dataclass(slots=True)
class Imported:
    """The counts of an import: new judgements and queries, and unchanged lines; its problems."""

    judgements: int = 0
    queries: int = 0
    unchanged: int = 0
    problems: list[Problem] = field(default_factory=list)


def export(format_name: str, *, viewer: Viewer) -> tuple[Format, bytes]:
    """The judgements that `viewer` may see: in plain CSV each person's, otherwise the median."""
    chosen = _format(format_name)
    record(Kind.EXPORTED, subject="judgements", details={"format": format_name})
    rows = list(_every(viewer))
    if format_name != "csv":
        rows = list(_medians(rows))
    return chosen, chosen.write(rows)


@transaction.atomic
def import_file(
    format_name: str,
    data: bytes,
    *,
    acting_user: User | None,
    queries: bytes | None = None,
    judge: str = "",
) -> Imported:
    """Import a file's judgements. `judge` names the judge of lines that name none.

    Raises JudgementError for a file of another format.
    """
    done = Imported()
    find = _DocumentFinder(acting_user)
    for row in _format(format_name).read(data, queries):
        if isinstance(row, Problem):
            done.problems.append(row)
            continue
        try:
            _take(row, judge.strip() or DEFAULT_JUDGE, find, done, acting_user)
        except SearchError as error:  # also what a search of its text raises
            done.problems.append(Problem(row.line, str(error)))
    return done


class _DocumentFinder:
    """Finds documents by the names used in files, among those that a person may see."""

    def __init__(self, user: User | None) -> None:
        every = Document.objects.undeleted() if user is None else Document.objects.visible_to(user)
        self._every = every
        self._cache: dict[str, Document] = {}

    def __call__(self, name: str) -> Document:
        """The document with this public id, source, file name or title, tried in that order.

        Raises JudgementError if there is none, or more than one.
        """
        if name not in self._cache:
            self._cache[name] = self._find(name)
        return self._cache[name]

    def _find(self, name: str) -> Document:
        if not name:
            raise JudgementError(gettext("the document is missing."))
        try:
            document = self._every.filter(public_id=UUID(name)).first()
        except ValueError:
            document = None
        if document is not None:
            return document
        for where in ("source", "current__file_name", "title"):
            matches = list(self._every.filter(**{where: name})[:2])
            if len(matches) == 1:
                return matches[0]
            if matches:
                raise JudgementError(
                    gettext("more than one document is called %(name)s. Use its id.")
                    % {"name": repr(name)}
                )
        raise JudgementError(
            gettext("no document has the id, source, file name or title %(name)s.")
            % {"name": repr(name)}
        )


def find_document(name: str, *, viewer: User) -> Document:
    """The document that `viewer` may see under this id, source, file name or title."""
    return _DocumentFinder(viewer)(name.strip())


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise JudgementError(
            gettext("Unknown format %(name)s. Choose one of: %(formats)s.")
            % {"name": repr(name), "formats": ", ".join(FORMATS)}
        )
    return FORMATS[name]


def _take(
    row: JudgementRow, judge: str, find: _DocumentFinder, done: Imported, user: User | None
) -> None:
    document = find(row.document) if row.grade is not None or row.must_be_first else None
    if row.query_class and row.query_class not in set(QueryClass):
        raise JudgementError(
            gettext("unknown query class %(query_class)s.") % {"query_class": repr(row.query_class)}
        )
    query, is_new = judging.ensure_query(row.query, row.collections, acting_user=user)
    done.queries += is_new
    if row.query_class and is_new:
        query.query_class = row.query_class
        query.save(update_fields=["query_class"])
    if document is not None and row.must_be_first:
        _must_be_first(query, document)
    if document is not None and row.grade is not None:
        _judgement(query, document, row, row.judge or judge, done, user)


def _must_be_first(query: GoldenQuery, document: Document) -> None:
    if query.must_be_first_id is None:
        query.must_be_first = document
        query.save(update_fields=["must_be_first"])
    elif query.must_be_first_id != document.pk:
        raise JudgementError(gettext("another document must be first already; it was kept."))


def _judgement(
    query: GoldenQuery,
    document: Document,
    row: JudgementRow,
    judge: str,
    done: Imported,
    user: User | None,
) -> None:
    judge, grade = judge[:150], row.grade
    assert grade is not None  # checked by `_take`
    is_own = user is not None and judge == user.get_username()
    judgement, created = Judgement.objects.get_or_create(
        query=query,
        reference=document.public_id,
        judge_name=judge,
        defaults={
            "document": document,
            "title": document.title,
            "grade": grade,
            "note": row.note,
            # A file may name other judges, but their accounts are not linked.
            "judge": user if is_own else None,
        },
    )
    if created:
        done.judgements += 1
    elif judgement.grade == grade:
        done.unchanged += 1
    else:
        raise JudgementError(
            gettext(
                "%(judge)s has already graded this document %(old_grade)s, not %(new_grade)s; that "
                "grade was kept."
            )
            % {"judge": judge, "old_grade": judgement.grade, "new_grade": grade}
        )


def _every(viewer: Viewer) -> Iterator[JudgementRow]:
    """A row for each judgement, and one for each query without judgements."""
    queries = GoldenQuery.objects.visible_to(viewer).select_related("must_be_first")
    judged: dict[int, list[Judgement]] = {}
    for judgement in Judgement.objects.visible_to(viewer).order_by("reference", "judge_name"):
        judged.setdefault(judgement.query_id, []).append(judgement)
    firsts = [query.must_be_first_id for query in queries if query.must_be_first_id]
    seen = set(
        Document.objects.visible_to(viewer).filter(pk__in=firsts).values_list("pk", flat=True)
    )
    for query in queries.order_by("folded", "pk"):
        first = query.must_be_first if query.must_be_first_id in seen else None
        is_exported = False
        for judgement in judged.get(query.pk, []):
            is_first = first is not None and judgement.reference == first.public_id
            is_exported = is_exported or is_first
            yield _row(query, judgement, must_be_first=is_first)
        if first is not None and not is_exported:
            yield _row(query, None, document=first, must_be_first=True)
        elif not judged.get(query.pk):
            yield _row(query, None)


def _row(
    query: GoldenQuery,
    judgement: Judgement | None,
    *,
    document: Document | None = None,
    must_be_first: bool = False,
) -> JudgementRow:
    reference = document.public_id if document else judgement.reference if judgement else ""
    return JudgementRow(
        line=0,
        query=query.text,
        document=str(reference),
        grade=judgement.grade if judgement else None,
        collections=tuple(query.collections),
        judge=judgement.judge_name if judgement else "",
        note=judgement.note if judgement else "",
        must_be_first=must_be_first,
        query_class=query.query_class,
        title=judgement.title if judgement else document.title if document else "",
    )


def _medians(rows: Iterable[JudgementRow]) -> Iterator[JudgementRow]:
    """A row for each judged document of a query, with the median grade."""

    def document(row: JudgementRow) -> tuple[str, tuple[str, ...], str]:
        return row.query, row.collections, row.document

    graded = (row for row in rows if row.grade is not None)
    for _, same in groupby(graded, key=document):
        judged = list(same)
        grade = median_grade([row.grade for row in judged if row.grade is not None])
        yield JudgementRow(0, judged[0].query, judged[0].document, grade)
