"""Golden queries, entered by hand: created, edited, deleted, listed with their judgements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Min, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.models import Document
from ingestion.models.visibility import Viewer
from search.errors import JudgementError, RunConflict
from search.query.query_key import query_key
from search.tuning.judging import (
    check_collections,
    check_text,
    ensure_query,
    set_must_be_first,
    sorted_slugs,
)
from search.tuning.models import GoldenQuery, Judgement
from search.tuning.models.golden import ALREADY_THERE


@transaction.atomic
def create(
    text: str, collections: Sequence[str], fields: dict[str, Any], *, acting_user: User
) -> GoldenQuery:
    """Create a golden query. Raises JudgementError if there is one with this text already."""
    query, is_new = ensure_query(text, collections, acting_user=acting_user)
    if not is_new:
        raise JudgementError(str(ALREADY_THERE))
    return edit(query, fields, acting_user=acting_user)


@transaction.atomic
def edit(query: GoldenQuery, fields: dict[str, Any], *, acting_user: User) -> GoldenQuery:
    """Change text, collections, query_class, enabled, note or must_be_first; return the query.

    Raises JudgementError for documents and collections that the person may not see, and if another
    query is the same; for a new text what a search raises.
    """
    row = GoldenQuery.objects.select_for_update().get(pk=query.pk)
    text = fields.get("text", row.text)
    slugs = sorted_slugs(fields.get("collections", row.collections))
    check_collections(slugs, acting_user)
    if query_key(text) != row.folded:  # one that no search can run any more can be disabled
        check_text(text)
    same = GoldenQuery.objects.filter(folded=query_key(text), collections=slugs)
    if same.exclude(pk=row.pk).exists():
        raise JudgementError(str(ALREADY_THERE))
    row.text, row.collections = " ".join(text.split()), slugs
    for name in ("query_class", "enabled", "note"):
        setattr(row, name, fields.get(name, getattr(row, name)))
    row.save()
    if "must_be_first" in fields:
        first = fields["must_be_first"]
        return set_must_be_first(row.text, slugs, first, acting_user=acting_user)
    return row


@transaction.atomic
def delete(query: GoldenQuery) -> None:
    """Delete a golden query without judgements. Raises RunConflict for any other."""
    row = GoldenQuery.objects.select_for_update().get(pk=query.pk)
    if row.judgements.exists():
        raise RunConflict(
            gettext(
                "“%(text)s” has judgements, which are never deleted. Disable the query instead."
            )
            % {"text": row.text}
        )
    row.delete()


def listed(viewer: Viewer) -> QuerySet[GoldenQuery]:
    """The golden queries that `viewer` may see, with `judged` (documents), `judges` and `spread`.

    `spread` is the largest difference between grades of one document, 0 to 3; None without any.
    Only judgements that the viewer may see count. `first_visible` is the public id of the
    must-be-first document, if the viewer may see it.
    """
    firsts = Document.objects.visible_to(viewer).filter(pk=OuterRef("must_be_first"))
    visible = Judgement.objects.visible_to(viewer).filter(query=OuterRef("pk")).order_by()
    by_query = visible.values("query")
    by_document = visible.values("query", "reference")
    spread = by_document.annotate(spread=Max("grade") - Min("grade")).order_by("-spread")
    return GoldenQuery.objects.visible_to(viewer).annotate(
        judged=Coalesce(
            Subquery(by_query.annotate(n=Count("reference", distinct=True)).values("n")), 0
        ),
        judges=Coalesce(
            Subquery(by_query.annotate(n=Count("judge_name", distinct=True)).values("n")), 0
        ),
        spread=Subquery(spread.values("spread")[:1]),
        first_visible=Subquery(firsts.values("public_id")[:1]),
    )
