"""People's judgements: grades of documents, must-be-first documents, and undo.

Each person has judgements of their own. Each change is stored as a JudgementAction, from which
undo restores the previous state exactly. Nobody can judge a document that they may not see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.accounts.models import User
from ingestion.models import Collection, Document
from ingestion.models.visibility import Viewer
from search.engine import configuration
from search.engine.read import read_query
from search.errors import JudgementError
from search.query import MAX_QUERY_CHARS
from search.query.query_key import query_key
from search.query.synonyms import fold_query
from search.tuning.models import GoldenQuery, Judgement, JudgementAction

GRADES = {0: _("No answer"), 1: _("Related"), 2: _("Answers"), 3: _("Answers in full")}
MAX_TEXT = MAX_QUERY_CHARS
Kind = JudgementAction.Kind


def find_query(
    text: str, collections: Iterable[str] = (), *, viewer: Viewer = None
) -> GoldenQuery | None:
    """The golden query with this text and these collections, or None.

    With a `viewer`, only if they may see it.
    """
    rows = GoldenQuery.objects.all() if viewer is None else GoldenQuery.objects.visible_to(viewer)
    return rows.filter(folded=query_key(text), collections=sorted_slugs(collections)).first()


@transaction.atomic
def judge(
    text: str,
    collections: Sequence[str],
    document: Document,
    grade: int,
    *,
    acting_user: User,
    note: str | None = None,
) -> Judgement:
    """Create or change the person's judgement of `document` for the query; return it.

    Creates the golden query if needed. Without a `note` an earlier one is kept. Raises
    JudgementError for a grade outside 0 to 3 and for a document that the person may not see.
    """
    if grade not in GRADES:
        raise JudgementError(
            gettext("The grade %(grade)s is not one of 0, 1, 2 and 3.") % {"grade": grade}
        )
    _check_visible(document, acting_user)
    check_text(text)
    query, is_new = ensure_query(text, collections, acting_user=acting_user)
    own = _own(query, document.public_id, acting_user)
    before = _grade_state(own)
    judgement = own or Judgement(
        query=query, reference=document.public_id, judge_name=acting_user.get_username()
    )
    judgement.document, judgement.title, judgement.judge = document, document.title, acting_user
    judgement.grade = grade
    judgement.note = judgement.note if note is None else note
    judgement.save()
    after = _grade_state(judgement)
    if before != after:
        change = {"kind": Kind.GRADE, "before": before, "after": after, "made_query": is_new}
        query.actions.create(reference=document.public_id, user=acting_user, **change)
    return judgement


@transaction.atomic
def clear(query: GoldenQuery, document: Document, *, acting_user: User) -> bool:
    """Delete the person's own judgement of the document; return False if there was none."""
    _check_visible(document, acting_user)
    own = _own(query, document.public_id, acting_user)
    if own is None:
        return False
    before = _grade_state(own)
    own.delete()
    query.actions.create(
        kind=Kind.GRADE, reference=document.public_id, before=before, user=acting_user
    )
    return True


@transaction.atomic
def set_must_be_first(
    text: str, collections: Sequence[str], document: Document | None, *, acting_user: User
) -> GoldenQuery:
    """Set or clear the must-be-first document of a golden query; return the query.

    Raises JudgementError if the person may not see the document, or the one that it would replace.
    """
    if document is not None:
        _check_visible(document, acting_user)
    query, is_new = ensure_query(text, collections, acting_user=acting_user)
    first = query.must_be_first
    if first is not None:
        _check_visible(first, acting_user)
    before, after = _first_state(first), _first_state(document)
    if before != after:
        query.must_be_first = document
        query.save(update_fields=["must_be_first"])
        reference = (document or first).public_id  # type: ignore[union-attr]
        change = {"kind": Kind.FIRST, "before": before, "after": after, "made_query": is_new}
        query.actions.create(reference=reference, user=acting_user, **change)
    return query


@transaction.atomic
def undo(*, acting_user: User) -> str:
    """Undo the person's latest action that is not undone; return a sentence on what is undone."""
    # Of two concurrent requests, the second undoes the action before.
    actions = JudgementAction.objects.select_for_update(of=("self",)).select_related("query")
    action = actions.filter(user=acting_user, undone_at=None).order_by("-pk").first()
    if action is None:
        return gettext("There is nothing to undo.")
    is_first = action.kind == Kind.FIRST
    message = _undo_first(action) if is_first else _undo_grade(action, acting_user)
    JudgementAction.objects.filter(pk=action.pk).update(undone_at=timezone.now())
    if action.made_query and _is_bare(action.query):
        action.query.delete()
    return message


@transaction.atomic
def ensure_query(
    text: str,
    collections: Sequence[str],
    *,
    acting_user: User | None,
) -> tuple[GoldenQuery, bool]:
    """Get or create the golden query of this text and these collections; True if created.

    Raises JudgementError for an empty text and for unknown or hidden collections, and for a new
    query what a search raises.
    """
    slugs = sorted_slugs(collections)
    same = GoldenQuery.objects.select_for_update().filter(folded=query_key(text))
    query = same.filter(collections=slugs).first()
    check_collections(slugs, acting_user)
    if query is not None:
        return query, False
    check_text(text)
    try:
        with transaction.atomic():
            created = GoldenQuery.objects.create(
                text=" ".join(text.split()), collections=slugs, added_by=acting_user
            )
    except IntegrityError:  # created concurrently
        return same.get(collections=slugs), False
    return created, True


def check_text(text: str) -> None:
    """Raises JudgementError for an empty question, and otherwise what a search of it raises."""
    if not fold_query(text):
        raise JudgementError(gettext("Enter a question."))
    read_query(text, configuration.current())


def check_collections(slugs: Sequence[str], acting_user: User | None) -> None:
    """Raises JudgementError unless the person may read these collections."""
    collections = Collection.objects.undeleted()
    if acting_user is not None:
        collections = collections.visible_to(acting_user)
    visible = set(collections.filter(slug__in=slugs).values_list("slug", flat=True))
    if unknown := [slug for slug in slugs if slug not in visible]:
        raise JudgementError(
            gettext("Unknown collection: %(unknown)s.") % {"unknown": ", ".join(unknown)}
        )


def _check_visible(document: Document, user: User) -> None:
    if not Document.objects.visible_to(user).filter(pk=document.pk).exists():
        raise JudgementError(gettext("There is no such document."))


def sorted_slugs(collections: Iterable[str]) -> list[str]:
    """The collections' slugs sorted and without repeats: their order has no meaning."""
    return sorted(set(collections))


def _own(query: GoldenQuery, reference: UUID, user: User) -> Judgement | None:
    rows = Judgement.objects.select_for_update().filter(query=query, reference=reference)
    return rows.filter(judge_name=user.get_username()).first()


def _grade_state(judgement: Judgement | None) -> dict[str, Any] | None:
    if judgement is None:
        return None
    return {"grade": judgement.grade, "note": judgement.note, "title": judgement.title}


def _first_state(document: Document | None) -> dict[str, Any] | None:
    return None if document is None else {"document": str(document.public_id)}


def _undo_grade(action: JudgementAction, user: User) -> str:
    reference, before = action.reference, action.before
    assert reference is not None  # a grade always has a document
    own = _own(action.query, reference, user)
    if before is None:
        if own is not None:
            own.delete()
        return gettext("The grade for “%(text)s” has been removed.") % {"text": action.query.text}
    judgement = own or Judgement(
        query=action.query, reference=reference, judge=user, judge_name=user.get_username()
    )
    judgement.document = Document.objects.filter(public_id=reference).first()
    judgement.grade, judgement.note = before["grade"], before["note"]
    judgement.title = before["title"]
    judgement.save()
    return gettext("The grade for “%(text)s” is %(grade)s again.") % {
        "text": action.query.text,
        "grade": judgement.grade,
    }


def _undo_first(action: JudgementAction) -> str:
    text, before = action.query.text, action.before and action.before["document"]
    if _first_state(action.query.must_be_first) != action.after:
        return gettext(
            "Another person has since changed the must-be-first document of “%(text)s”; it "
            "was kept."
        ) % {"text": text}
    document = Document.objects.undeleted().filter(public_id=before).first() if before else None
    action.query.must_be_first = document
    action.query.save(update_fields=["must_be_first"])
    if document:
        return gettext("The previous must-be-first document of “%(text)s” has been restored.") % {
            "text": text
        }
    return gettext("“%(text)s” no longer has a must-be-first document.") % {"text": text}


def _is_bare(query: GoldenQuery) -> bool:
    """True if the query has nothing but its text."""
    return not (
        query.must_be_first_id
        or query.note
        or query.judgements.exists()
        or query.actions.filter(undone_at=None).exists()
    )
