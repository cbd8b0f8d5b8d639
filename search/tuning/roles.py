"""W: who may do what about search: four groups, installed with every migration.

A group that is there stays as it is: an administrator may have changed it.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.apps import apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.db import transaction

SEEN = (
    "classrule", "classweights", "evaluationrun", "experiment", "goldenquery", "hide", "judgement",
    "pin", "profilechange", "publication", "publishgate", "searchprofile", "synonym",
)  # fmt: skip
VIEWER = tuple(f"view_{model}" for model in SEEN)
JUDGE = (
    *VIEWER,
    "add_goldenquery",
    "change_goldenquery",
    "add_judgement",
    "change_judgement",
    "delete_judgement",
)
TUNER = (
    *JUDGE,
    # What people asked is theirs: whoever only judges or looks on does not read it.
    "view_searchevent",
    "view_gap",
    "change_gap",
    "delete_goldenquery",
    "add_evaluationrun",
    "change_evaluationrun",
    *(
        f"{right}_{model}"
        for model in ("searchprofile", "classrule", "synonym", "pin", "hide", "experiment")
        for right in ("add", "change", "delete")
    ),
)
PUBLISHER = (
    *TUNER,
    "publish_searchprofile",
    "override_gate",
    "rollback_searchprofile",
    "change_publishgate",
)
GROUPS = {
    "Search viewers": VIEWER,
    "Search judges": JUDGE,
    "Search tuners": TUNER,
    "Search publishers": PUBLISHER,
}
"""Each group's permissions, by their code names in the app `search`."""


@transaction.atomic
def install_groups() -> None:
    """Makes the groups that are missing, with their permissions."""
    missing = [name for name in GROUPS if not Group.objects.filter(name=name).exists()]
    if not missing:
        return
    # Django makes permissions after all migrations as well, in no order that we could rely on.
    create_permissions(apps.get_app_config("search"), verbosity=0)
    for name in missing:
        group = Group.objects.create(name=name)
        group.permissions.set(_permissions(GROUPS[name]))


def _permissions(codenames: Iterable[str]) -> list[Permission]:
    wanted = set(codenames)
    held = Permission.objects.filter(content_type__app_label="search", codename__in=wanted)
    found = {permission.codename: permission for permission in held}
    if lacking := sorted(wanted - found.keys()):
        raise LookupError(f"There is no permission {', '.join(lacking)} to give to a group.")
    return list(found.values())
