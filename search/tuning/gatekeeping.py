"""W: who set the gate to what: its settings change through here, with a line in the history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction

from search.models import PublishGate
from search.tuning import publishing

if TYPE_CHECKING:
    from django.contrib.auth.models import User

FIELDS = (
    "enabled",
    "measure",
    "margin",
    "min_queries",
    "latency_margin",
    "latency_floor_ms",
    "first_required",
    "count_synthetic",
    "background_above",
)


@transaction.atomic
def change(settings: Mapping[str, object], *, acting_user: User) -> PublishGate:
    """The gate with these settings; what they were before stands in its history."""
    publishing.gate_row()
    gate = PublishGate.objects.select_for_update().get(pk=1)
    before = {name: getattr(gate, name) for name in FIELDS}
    for name, value in settings.items():
        setattr(gate, name, value)
    gate.full_clean()
    gate.save()
    changed = [
        f"{PublishGate._meta.get_field(name).verbose_name}: {was} → {getattr(gate, name)}"  # type: ignore[union-attr]
        for name, was in before.items()
        if was != getattr(gate, name)
    ]
    if changed:
        LogEntry.objects.log_actions(
            acting_user.pk, [gate], CHANGE, change_message="; ".join(changed), single_object=True
        )
    return gate
