"""Rights over people: nobody gains a right that they do not hold.

Groups open collections, and a password or an e-mail address signs in as somebody. Whoever may
change people, and is not a superuser, therefore only passes on groups and permissions of their own,
and only takes over accounts of people who may no more than they themselves.
"""

from __future__ import annotations

from django.contrib.auth.models import Group, Permission
from django.db.models import Q, QuerySet

from common.accounts.models import User


def groups_to_give(actor: User) -> QuerySet[Group]:
    """The groups that `actor` may put people into, and take them out of: their own."""
    everything = Group.objects.order_by("name")
    return everything if actor.is_superuser else everything.filter(user=actor)


def permissions_to_give(actor: User) -> QuerySet[Permission]:
    """The permissions that `actor` may give to a group: their own."""
    everything = Permission.objects.all()
    return everything if actor.is_superuser else everything.filter(pk__in=_permissions(actor))


def may_act_for(actor: User, person: User) -> bool:
    """Whether `actor` may set the person's password, user name and e-mail address.

    So may superusers, and whoever holds all groups and permissions of the person, who is not
    deactivated for this: a deactivated account can be activated again.
    """
    if actor.is_superuser or actor.pk == person.pk:
        return True
    if person.is_superuser:
        return False
    own = set(actor.groups.values_list("pk", flat=True))
    if not set(person.groups.values_list("pk", flat=True)) <= own:
        return False
    return set(_permissions(person)) <= set(_permissions(actor))


def _permissions(user: User) -> list[int]:
    permissions = Permission.objects.filter(Q(user=user) | Q(group__user=user))
    return list(permissions.order_by().values_list("pk", flat=True).distinct())
