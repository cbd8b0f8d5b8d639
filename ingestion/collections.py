"""Create and change collections, with audit rows; who may read one, and why."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.admin.models import ADDITION, CHANGE
from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.errors import StateConflict
from ingestion.events import log
from ingestion.models import Collection, Visibility


def groups_problem(visibility: str, groups: Container[Group], viewer: User | None) -> str:
    """The reason why a collection may not have this audience; empty if it may.

    A collection for groups needs at least one, and one of `viewer`'s own unless a superuser; of
    another one groups would restrict nothing.
    """
    if visibility != Visibility.GROUPS:
        text = 'Only with `"visibility": "groups"` is it for groups: send that, too, or no groups.'
        return text if groups else ""
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


@dataclass(frozen=True, slots=True)
class Sight:
    """A collection and why a person may read it; without a reason they may not."""

    collection: Collection
    reasons: tuple[str, ...]


def seen_by(person: User) -> list[Sight]:
    """All collections outside the bin by name, with the reason why the person may read each.

    Runs three queries.
    """
    own = set(person.groups.values_list("pk", flat=True)) if person.is_active else set()
    rows = Collection.objects.undeleted().prefetch_related("groups").order_by("name")
    return [Sight(row, tuple(_reasons(person, row, own))) for row in rows]


def _reasons(person: User, collection: Collection, own: set[int]) -> Iterator[str]:
    if collection.visibility == Visibility.PUBLIC:
        yield gettext("open to everybody")
    if not person.is_active:
        return
    if collection.visibility == Visibility.SIGNED_IN:
        yield gettext("open to all who sign in")
    if collection.visibility == Visibility.GROUPS:
        shared: list[Group] = [group for group in collection.groups.all() if group.pk in own]
        for group in sorted(shared, key=lambda one: one.name):
            yield gettext("member of the group “%(group)s”") % {"group": group.name}
    if person.is_superuser:
        yield gettext("superuser")
