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
    "search.classrule", "search.classweights", "search.hide", "search.pin",
    "search.searchprofile", "search.synonym",
    "tuning.evaluationrun", "tuning.experiment", "tuning.goldenquery", "tuning.judgement",
    "tuning.profilechange", "tuning.publication", "tuning.publishgate",
)  # fmt: skip
EDITED = (
    "search.searchprofile", "search.classrule", "search.synonym", "search.pin", "search.hide",
    "tuning.experiment",
)  # fmt: skip


def _right(action: str, model: str) -> str:
    """The permission to do `action` to `model`, which is `app.model`: `app.action_model`."""
    app, _, name = model.partition(".")
    return f"{app}.{action}_{name}"


VIEWER = tuple(_right("view", model) for model in SEEN)
JUDGE = (
    *VIEWER,
    "tuning.add_goldenquery",
    "tuning.change_goldenquery",
    "tuning.add_judgement",
    "tuning.change_judgement",
    "tuning.delete_judgement",
)
TUNER = (
    *JUDGE,
    # Searches are private: members who only judge or read do not see them.
    "analytics.view_searchevent",
    "analytics.view_gap",
    "analytics.change_gap",
    "tuning.delete_goldenquery",
    "tuning.add_evaluationrun",
    "tuning.change_evaluationrun",
    *(_right(action, model) for model in EDITED for action in ("add", "change", "delete")),
)
PUBLISHER = (
    *TUNER,
    "search.publish_searchprofile",
    "search.override_gate",
    "search.rollback_searchprofile",
    "tuning.change_publishgate",
)
GROUPS = {
    "Search viewers": VIEWER,
    "Search judges": JUDGE,
    "Search tuners": TUNER,
    "Search publishers": PUBLISHER,
}
"""Each group's permissions, as `app.codename`."""


@transaction.atomic
def install_groups() -> None:
    """Makes the groups that are missing, with their permissions."""
    missing = [name for name in GROUPS if not Group.objects.filter(name=name).exists()]
    if not missing:
        return
    # Django makes permissions after all migrations as well, in no order that we could rely on.
    for app in ("search", "tuning", "analytics"):
        create_permissions(apps.get_app_config(app), verbosity=0)
    for name in missing:
        group = Group.objects.create(name=name)
        group.permissions.set(_permissions(GROUPS[name]))


def _permissions(names: Iterable[str]) -> list[Permission]:
    wanted = set(names)
    codenames = {name.partition(".")[2] for name in wanted}
    rows = Permission.objects.filter(codename__in=codenames).select_related("content_type")
    named = {f"{row.content_type.app_label}.{row.codename}": row for row in rows}
    if lacking := sorted(wanted - named.keys()):
        raise LookupError(f"There is no permission {', '.join(lacking)} to give to a group.")
    return [named[name] for name in sorted(wanted)]
