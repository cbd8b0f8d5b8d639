"""Activation of profiles, and rollback. Published profiles never change: a draft replaces them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from django.db import transaction
from django.db.models import Q
from django.dispatch import Signal as Notice
from django.utils.translation import gettext

from common.accounts.models import User
from search.domain import COLUMNS, QueryClass, Signal, Weights
from search.engine import configuration
from search.errors import NotPermitted, ProfileError, RunConflict
from search.models import ClassWeights, SearchProfile
from search.tuning.evaluation import targets
from search.tuning.models import EvaluationRun, ProfileChange

activated = Notice()
"""Sent with the new active `profile` and the `user`, in the transaction that activates it."""

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
    draft = profile.next_draft(FIELDS)
    draft.save()
    ClassWeights.objects.bulk_create(
        ClassWeights(
            profile=draft,
            query_class=row.query_class,
            **{signal: getattr(row, signal) for signal in SIGNALS},
        )
        for row in profile.class_weights.all()
    )
    targets.copy(profile, draft)
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

    Sends `activated`. Called only by `publications`, which applies the gate, and `roll_back`.
    Raises ProfileError if the profile is already active or lacks the weights of a class.
    """
    before, successor = profile.locked()
    if successor.state == SearchProfile.State.ACTIVE:
        raise ProfileError(
            gettext("%(chosen)s is already the active profile.") % {"chosen": successor}
        )
    check_complete(successor)
    successor.succeed(before)
    activated.send(SearchProfile, profile=successor, user=acting_user)
    audit(
        successor,
        action,
        acting_user,
        reason,
        differences(before, successor) if before else [],
        findings=findings,
        run=run,
        replaced=before,
    )
    return successor


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
    classes = set(profile.class_weights.values_list("query_class", flat=True))
    missing = [query_class.value for query_class in QueryClass if query_class.value not in classes]
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


Action = ProfileChange.Action
ROLL_BACK = "search.rollback_searchprofile"
ACTIVATIONS = (Action.PUBLISHED, Action.OVERRIDDEN, Action.ROLLED_BACK)


@transaction.atomic
def roll_back(
    to: SearchProfile | None = None,
    *,
    acting_user: User | None,
    reason: str = "",
    leaving: SearchProfile | None = None,
) -> SearchProfile:
    """Activate the previous profile, or `to`, which must have been active before; return it.

    `leaving` is the profile that the person saw as active: if another is active now, RunConflict is
    raised, so that two concurrent rollbacks do not go back two steps. Raises NotPermitted, and
    ProfileError if there is nothing to roll back to.
    """
    if acting_user is not None and not acting_user.has_perm(ROLL_BACK):
        raise NotPermitted(gettext("You do not have permission to roll back search profiles."))
    # Lock before reading: a concurrent rollback must be seen or wait.
    active = SearchProfile.objects.select_for_update().filter(state=SearchProfile.State.ACTIVE)
    present = active.first()
    if leaving is not None and (present is None or present.pk != leaving.pk):
        raise RunConflict(
            gettext("%(present)s is active now. Reload the page before you roll back.")
            % {"present": present or gettext("No profile")}
        )
    target = to or previous()
    if target is None:
        raise ProfileError(
            gettext("No other profile was active before, so there is nothing to roll back to.")
        )
    if not was_active(target):
        raise ProfileError(
            gettext("%(target)s has never been active. Publish it through the gate instead.")
            % {"target": target}
        )
    return activate(
        target, action=Action.ROLLED_BACK, acting_user=acting_user, reason=reason.strip()
    )


def previous() -> SearchProfile | None:
    """The profile that a rollback would restore: each rollback goes one step further back."""
    history = _history()
    return SearchProfile.objects.filter(pk=history[-2]).first() if len(history) > 1 else None


def was_active(profile: SearchProfile) -> bool:
    """True if the profile is or ever was active."""
    activations = ProfileChange.objects.filter(action__in=ACTIVATIONS)
    return (
        profile.state == SearchProfile.State.ACTIVE
        or activations.filter(Q(profile=profile) | Q(replaced=profile)).exists()
    )


def _history() -> list[int]:
    """The primary keys of successively active profiles, without those rolled back."""
    history: list[int] = []
    rows = ProfileChange.objects.filter(action__in=ACTIVATIONS).order_by("pk")
    for action, profile, replaced in rows.values_list("action", "profile", "replaced"):
        # The first active profile was installed without an audit entry.
        if not history and replaced:
            history.append(replaced)
        if action == Action.ROLLED_BACK and profile in history:
            while history[-1] != profile:
                history.pop()
        elif not history or history[-1] != profile:
            history.append(profile)
    return history
