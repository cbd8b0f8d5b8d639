"""Activation of profiles. Published profiles never change: editing one creates a draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from search.domain import COLUMNS, QueryClass, Signal, Weights
from search.engine import configuration
from search.errors import ProfileError
from search.models import ClassWeights, SearchProfile
from search.tuning.experiments import outcomes
from search.tuning.models import EvaluationRun, ProfileChange

if TYPE_CHECKING:
    from common.accounts.models import User

# The settings of a profile besides its weights, as copied to drafts and compared.
FIELDS = ("description", *COLUMNS)
SIGNALS = tuple(signal.value for signal in Signal)
# Both descriptions in full would obscure the other differences.
DESCRIPTION_CHANGED = "description: rewritten"


@transaction.atomic
def draft_from(
    profile: SearchProfile, *, acting_user: User | None, reason: str = ""
) -> SearchProfile:
    """Create a draft with the profile's settings and weights as the next version of its name."""
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
    """Make a profile the active one and retire the previous one; return it.

    A running experiment ends: its visitors must get the published profile, too. Called only by
    `publications`, which applies the gate, and `rollback`. Raises ProfileError if the profile is
    already active or lacks the weights of a class.
    """
    before, chosen = lock(profile)
    if chosen.state == SearchProfile.State.ACTIVE:
        raise ProfileError(
            gettext("%(chosen)s is already the active profile.") % {"chosen": chosen}
        )
    check_complete(chosen)
    if before is not None:
        before.state = SearchProfile.State.RETIRED
        before.save(update_fields=["state"])
    chosen.state = SearchProfile.State.ACTIVE
    chosen.published = timezone.now()
    chosen.save(update_fields=["state", "published"])
    outcomes.finish_running(reason=f"{chosen} became active.", user=acting_user)
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
    """Lock and return the active profile and this one.

    One query locks both rows: concurrent publishers must not both retire the same profile.
    """
    rows = SearchProfile.objects.select_for_update().order_by("pk")
    held = list(rows.filter(pk=profile.pk) | rows.filter(state=SearchProfile.State.ACTIVE))
    chosen = next(row for row in held if row.pk == profile.pk)
    return next((row for row in held if row.state == SearchProfile.State.ACTIVE), None), chosen


def record_edit(
    draft: SearchProfile, changes: list[str], *, acting_user: User | None, reason: str = ""
) -> None:
    """Add the edit of a draft to the audit."""
    audit(draft, ProfileChange.Action.EDITED, acting_user, reason, changes)


@transaction.atomic
def set_weights(draft: SearchProfile, weights: Mapping[QueryClass, Weights]) -> None:
    """Set the weights of a draft by class. Raises ProfileError for a published profile."""
    if not draft.is_draft:
        raise ProfileError(
            gettext("%(draft)s is published and cannot be changed. Create a draft of it first.")
            % {"draft": draft}
        )
    for query_class, shares in weights.items():
        ClassWeights.objects.update_or_create(
            profile=draft, query_class=query_class, defaults=shares.as_dict()
        )


def differences(before: SearchProfile, after: SearchProfile) -> list[str]:
    """The differences between two profiles, one line each."""
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
    """A field's value for people: the label of a choice."""
    label = getattr(profile, f"get_{name}_display", None)
    return label() if label else getattr(profile, name)


def _percent(share: Decimal) -> str:
    return f"{(share * 100).normalize():f}%"


def check_complete(profile: SearchProfile) -> None:
    """Raises ProfileError if a query class has no weights."""
    held = set(profile.class_weights.values_list("query_class", flat=True))
    missing = [query_class.value for query_class in QueryClass if query_class.value not in held]
    if missing:
        raise ProfileError(
            gettext("%(profile)s has no weights for: %(missing)s. Add them first.")
            % {"profile": profile, "missing": ", ".join(missing)}
        )


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
    """Add an entry to the audit of a profile."""
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
    # Bulk writes send no signals.
    configuration.bump()
