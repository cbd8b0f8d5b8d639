"""Permissions of four groups for search and tuning, installed after every migration.

Existing groups are not changed: an administrator may have edited them.
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
    """The name `app.action_model` of the permission for an action on `app.model`."""
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
    # Searches are private: judges and viewers do not see them.
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
    """Create missing groups with their permissions."""
    missing = [name for name in GROUPS if not Group.objects.filter(name=name).exists()]
    if not missing:
        return
    # Django also creates permissions after migrations, but in no guaranteed order.
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
        raise LookupError(f"Unknown permissions of a group: {', '.join(lacking)}.")
    return [named[name] for name in sorted(wanted)]
