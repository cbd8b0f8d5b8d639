"""People's judgements: grades of documents, and must-be-first documents.

Each person has judgements of their own. Nobody can judge a document that they may not see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import IntegrityError, transaction
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.accounts.models import User
from ingestion.models import Collection, Document
from ingestion.models.visibility import Viewer
from search.engine import configuration
from search.engine.read import read_query
from search.errors import JudgementError
from search.query.query_key import fold_query, query_key
from search.tuning.models import GoldenQuery, Judgement

GRADES = {0: _("No answer"), 1: _("Related"), 2: _("Answers"), 3: _("Answers in full")}


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
    query, _is_new = ensure_query(text, collections, acting_user=acting_user)
    judgement = own_judgement(query, document, acting_user) or Judgement(
        query=query, reference=document.public_id, judge_name=acting_user.get_username()
    )
    judgement.document, judgement.title, judgement.judge = document, document.title, acting_user
    judgement.grade = grade
    judgement.note = judgement.note if note is None else note
    judgement.save()
    return judgement


@transaction.atomic
def clear(query: GoldenQuery, document: Document, *, acting_user: User) -> bool:
    """Delete the person's own judgement of the document; return False if there was none."""
    _check_visible(document, acting_user)
    judgement = own_judgement(query, document, acting_user)
    if judgement is not None:
        judgement.delete()
    return judgement is not None


@transaction.atomic
def set_must_be_first(
    text: str, collections: Sequence[str], document: Document | None, *, acting_user: User
) -> GoldenQuery:
    """Set or clear the must-be-first document of a golden query; return the query.

    Raises JudgementError if the person may not see the document, or the one that it would replace.
    """
    if document is not None:
        _check_visible(document, acting_user)
    query, _is_new = ensure_query(text, collections, acting_user=acting_user)
    if query.must_be_first is not None:
        _check_visible(query.must_be_first, acting_user)
    query.must_be_first = document
    query.save(update_fields=["must_be_first"])
    return query


def drop_bare(query: GoldenQuery, *, acting_user: User) -> None:
    """Delete the query if the person has added it, and it has nothing but its text."""
    bare = GoldenQuery.objects.filter(must_be_first=None, note="", judgements=None)
    bare.filter(pk=query.pk, added_by=acting_user).delete()


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


def own_judgement(query: GoldenQuery, document: Document, user: User) -> Judgement | None:
    """The person's judgement of the document."""
    rows = Judgement.objects.select_for_update().filter(
        query=query, reference=document.public_id, judge_name=user.get_username()
    )
    return rows.first()
