"""Create and change collections, with audit rows; `deletion` deletes them."""

from __future__ import annotations

from collections.abc import Collection as Container
from typing import TYPE_CHECKING

from django.contrib.admin.models import ADDITION, CHANGE
from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from ingestion.audit import log
from ingestion.errors import StateConflict
from ingestion.models import Collection, Visibility

if TYPE_CHECKING:
    from common.accounts.models import User


def groups_problem(visibility: str, groups: Container[Group], viewer: User | None) -> str:
    """Why a collection may not have this audience; empty if it may.

    A collection for groups needs at least one, and one of `viewer`'s own unless a superuser.
    """
    if visibility != Visibility.GROUPS:
        return ""
    if not groups:
        return gettext(
            "Choose at least one group; otherwise only superusers can find these documents."
        )
    if viewer is None or viewer.is_superuser:
        return ""
    if set(viewer.groups.values_list("pk", flat=True)) & {group.pk for group in groups}:
        return ""
    return gettext(
        "You are in none of these groups and would lose access to the collection. "
        "Add one of your own groups."
    )


def save(
    collection: Collection,
    fields: Container[str],
    groups: Container[Group] | None,
    *,
    acting_user: User,
) -> Collection:
    """Save a validated collection, new or with these `fields` changed; return it.

    `groups` replace the current ones; None keeps them. Raises StateConflict if another collection
    has taken its name or slug.
    """
    is_new = collection.pk is None
    try:
        with transaction.atomic():
            collection.save(update_fields=None if is_new else fields)
            if groups is not None:
                collection.groups.set(groups)
            changed = sorted({*fields, *(["groups"] if groups is not None else [])})
            message = "Added" if is_new else f"Changed {' and '.join(changed) or 'nothing'}"
            log(acting_user, collection, ADDITION if is_new else CHANGE, message)
    except IntegrityError as error:
        raise StateConflict(
            gettext(
                "Another collection now has the name “%(collection)s” or the address "
                "“%(slug)s”. Choose another one."
            )
            % {"collection": collection.name, "slug": collection.slug}
        ) from error
    return collection
