"""W: draft -> published. What is published never changes; an edit makes the next draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from search.domain import COLUMNS, QueryClass, Signal, Weights
from search.engine import configuration
from search.errors import ProfileError
from search.models import ClassWeights, SearchProfile
from search.tuning.experiments import ending
from search.tuning.models import EvaluationRun, ProfileChange

if TYPE_CHECKING:
    from django.contrib.auth.models import User

# What a profile is made of besides its weights: what a draft copies and a difference lists.
FIELDS = ("description", *COLUMNS)
SIGNALS = tuple(signal.value for signal in Signal)
# Its two texts side by side would hide the figures that matter.
DESCRIPTION_CHANGED = "description: rewritten"


@transaction.atomic
def draft_from(
    profile: SearchProfile, *, acting_user: User | None, reason: str = ""
) -> SearchProfile:
    """A new draft with the profile's settings and weights, as the next version of its name."""
    versions = SearchProfile.objects.select_for_update().filter(name=profile.name)
    newest = max(row.version for row in versions)
    draft = SearchProfile.objects.create(
        name=profile.name,
        version=newest + 1,
        based_on=profile,
        **{field: getattr(profile, field) for field in FIELDS},
    )
    ClassWeights.objects.bulk_create(
        ClassWeights(
            profile=draft,
            query_class=row.query_class,
            **{signal: getattr(row, signal) for signal in SIGNALS},
        )
        for row in profile.class_weights.all()
    )
    audit(draft, ProfileChange.Action.CREATED, acting_user, reason, [f"Draft of {profile}"])
    return draft


@transaction.atomic
def activate(
    profile: SearchProfile,
    *,
    action: ProfileChange.Action,
    acting_user: User | None,
    reason: str = "",
    findings: Sequence[str] = (),
    run: EvaluationRun | None = None,
) -> SearchProfile:
    """The profile, now the active one; the one before it is retired. The next search uses it.

    An experiment that runs ends: whoever takes part must meet what was published, too.

    Only `publishing`, which asks the gate, and `rollback` call this. Raises ProfileError when it
    is active already or lacks weights for a class.
    """
    before, chosen = lock(profile)
    if chosen.state == SearchProfile.State.ACTIVE:
        raise ProfileError(f"{chosen} is the active profile already.")
    check_complete(chosen)
    if before is not None:
        before.state = SearchProfile.State.RETIRED
        before.save(update_fields=["state"])
    chosen.state = SearchProfile.State.ACTIVE
    chosen.published = timezone.now()
    chosen.save(update_fields=["state", "published"])
    ending.finish_running(reason=f"{chosen} became active.", user=acting_user)
    audit(
        chosen,
        action,
        acting_user,
        reason,
        differences(before, chosen) if before else [],
        findings=findings,
        run=run,
        replaced=before,
    )
    return chosen


def lock(profile: SearchProfile) -> tuple[SearchProfile | None, SearchProfile]:
    """The active profile and this one, held until the transaction ends.

    One lock over both rows: two publishers at once must not both retire the same profile.
    """
    rows = SearchProfile.objects.select_for_update().order_by("pk")
    held = list(rows.filter(pk=profile.pk) | rows.filter(state=SearchProfile.State.ACTIVE))
    chosen = next(row for row in held if row.pk == profile.pk)
    return next((row for row in held if row.state == SearchProfile.State.ACTIVE), None), chosen


def record_edit(
    draft: SearchProfile, changes: list[str], *, acting_user: User | None, reason: str = ""
) -> None:
    """Writes the audit row of an edited draft."""
    audit(draft, ProfileChange.Action.EDITED, acting_user, reason, changes)


@transaction.atomic
def set_weights(draft: SearchProfile, weights: Mapping[QueryClass, Weights]) -> None:
    """Gives a draft its weights by class. Raises ProfileError for a published profile."""
    if not draft.is_draft:
        raise ProfileError(f"{draft} is published and does not change. Make a draft of it first.")
    for query_class, shares in weights.items():
        ClassWeights.objects.update_or_create(
            profile=draft, query_class=query_class, defaults=shares.as_dict()
        )


def differences(before: SearchProfile, after: SearchProfile) -> list[str]:
    """What changed from one profile to another, a sentence each; empty when nothing did."""
    lines = [
        f"{name.replace('_', ' ')}: {_shown(before, name)} → {_shown(after, name)}"
        for name in FIELDS
        if name != "description" and getattr(before, name) != getattr(after, name)
    ]
    if before.description != after.description:
        lines.append(DESCRIPTION_CHANGED)
    old = {row.query_class: row for row in before.class_weights.all()}
    for row in after.class_weights.all():
        was = old.get(row.query_class)
        for signal in SIGNALS:
            if was is None or getattr(was, signal) != getattr(row, signal):
                earlier = "none" if was is None else _percent(getattr(was, signal))
                lines.append(
                    f"{row.query_class}, {signal}: {earlier} → {_percent(getattr(row, signal))}"
                )
    return lines


def _shown(profile: SearchProfile, name: str) -> object:
    """A field's value as people read it: a choice by its label."""
    label = getattr(profile, f"get_{name}_display", None)
    return label() if label else getattr(profile, name)


def _percent(share: Decimal) -> str:
    return f"{(share * 100).normalize():f}%"


def check_complete(profile: SearchProfile) -> None:
    """Raises ProfileError where a class of questions has no weights."""
    held = set(profile.class_weights.values_list("query_class", flat=True))
    missing = [query_class.value for query_class in QueryClass if query_class.value not in held]
    if missing:
        raise ProfileError(f"{profile} has no weights for: {', '.join(missing)}. Add them first.")


def audit(
    profile: SearchProfile,
    action: ProfileChange.Action,
    user: User | None,
    reason: str,
    changes: Sequence[str],
    *,
    findings: Sequence[str] = (),
    run: EvaluationRun | None = None,
    replaced: SearchProfile | None = None,
) -> None:
    """Writes down who did what to the profile, and why."""
    ProfileChange.objects.create(
        profile=profile,
        action=action,
        user=user,
        reason=reason,
        differences=list(changes),
        findings=list(findings),
        run=run,
        replaced=replaced,
    )
    # Rows written in bulk send no signal.
    configuration.bump()
