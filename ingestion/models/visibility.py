"""Who may read what: the audience of a collection, and a narrower one of single documents within.

The condition for collections is `CollectionQuerySet.open_to`, of `collections`, on which those of
documents and passages build.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Q
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _

from common.accounts.models import User

if TYPE_CHECKING:
    Viewer = User | AnonymousUser | None

else:
    Viewer = Any


class Visibility(models.TextChoices):
    PUBLIC = "public", _("Everyone")
    SIGNED_IN = "signed_in", _("Signed-in users")
    GROUPS = "groups", _("Members of chosen groups")


# The narrower audiences that name a user, whose key it takes twice, or a group of theirs.
_NAMED = (
    "SELECT collection_id FROM ingestion_collection_people WHERE user_id = %s UNION ALL"
    " SELECT g.collection_id FROM ingestion_collection_groups g"
    " JOIN accounts_user_groups m USING (group_id) WHERE m.user_id = %s"
)


def audiences_of(viewer: User) -> RawSQL:
    """The ids of the narrower audiences that name `viewer` or one of their groups."""
    return RawSQL(f"({_NAMED})", (viewer.pk, viewer.pk))  # noqa: S611  # ours


def narrower(readable: str, viewer: Viewer) -> tuple[str, tuple[int, ...]]:
    """SQL for the ids of collections (`readable`, SQL too) and of `viewer`'s audiences in them.

    Also returns its parameters, which follow those of `readable`. It is built as text because
    Django takes a millisecond to compile it, in each search of a signed-in user. For visitors,
    who belong to no audience, it is `readable` itself.
    """
    if viewer is None or not viewer.is_authenticated or not viewer.is_active:
        return readable, ()
    whole = "coalesce(a.within_id, a.id)"
    sql = f"SELECT a.id FROM ingestion_collection a WHERE {whole} IN ({readable})"  # noqa: S608
    if viewer.is_superuser:
        return sql, ()
    return f"{sql} AND (a.within_id IS NULL OR a.id IN ({_NAMED}))", (viewer.pk, viewer.pk)


def open_to(viewer: Viewer, document: str = "") -> Q:
    """The condition that `viewer` may read a document, given that they may read its collection.

    `document` is the path from a row to its document, with the underscores behind it.
    """
    unrestricted = Q(**{f"{document}audience": None})
    if viewer is None or not viewer.is_authenticated or not viewer.is_active:
        return unrestricted
    if viewer.is_superuser:
        return Q()
    return unrestricted | Q(**{f"{document}audience__in": audiences_of(viewer)})
