"""W: golden queries kept by hand: made, changed, removed and listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Count, Max, Min, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from ingestion.models.library import Viewer
from search.errors import JudgementError
from search.query.expand import fold_query
from search.tuning.golden.judging import check_query, ensure_query, set_must_be_first, sorted_slugs
from search.tuning.models import GoldenQuery, Judgement
from search.tuning.models.golden import ALREADY_THERE

if TYPE_CHECKING:
    from common.accounts.models import User


@transaction.atomic
def create(
    text: str, collections: Sequence[str], fields: dict[str, Any], *, acting_user: User
) -> GoldenQuery:
    """A new golden query. Raises JudgementError where there is one of this text already."""
    made, is_new = ensure_query(text, collections, acting_user=acting_user)
    if not is_new:
        raise JudgementError(ALREADY_THERE)
    return edit(made, fields, acting_user=acting_user)


@transaction.atomic
def edit(query: GoldenQuery, fields: dict[str, Any], *, acting_user: User) -> GoldenQuery:
    """The golden query with these fields: text, collections, query_class, enabled, note.

    `must_be_first` may be among them: a document or None. Raises JudgementError for what the
    person may not see, and where another query asks the same.
    """
    held = GoldenQuery.objects.select_for_update().get(pk=query.pk)
    text = fields.get("text", held.text)
    slugs = sorted_slugs(fields.get("collections", held.collections))
    check_query(text, slugs, acting_user)
    same = GoldenQuery.objects.filter(folded=fold_query(text), collections=slugs)
    if same.exclude(pk=held.pk).exists():
        raise JudgementError(ALREADY_THERE)
    held.text, held.collections = " ".join(text.split()), slugs
    for name in ("query_class", "enabled", "note"):
        setattr(held, name, fields.get(name, getattr(held, name)))
    held.save()
    if "must_be_first" in fields:
        first = fields["must_be_first"]
        return set_must_be_first(held.text, slugs, first, acting_user=acting_user)
    return held


@transaction.atomic
def delete(query: GoldenQuery) -> None:
    """Removes a golden query that nobody has judged. Raises JudgementError for any other."""
    held = GoldenQuery.objects.select_for_update().get(pk=query.pk)
    if held.judgements.exists():
        raise JudgementError(
            f"“{held.text}” has judgements, and no judgement is lost. Switch the query off instead."
        )
    held.delete()


def listed(viewer: Viewer) -> QuerySet[GoldenQuery]:
    """The golden queries that `viewer` may see, with `judged` (documents), `judges` and `spread`.

    `spread` is how far the grades of one document lie apart at most: 0 to 3; None without any.
    Only judgements that the viewer may see count.
    """
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
    )
