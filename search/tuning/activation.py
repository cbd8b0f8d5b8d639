"""Activation of profiles, and rollback. Published profiles never change: a draft replaces them."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Q
from django.dispatch import Signal as Notice
from django.utils.translation import gettext

from common.accounts.models import User
from search.domain import QueryClass
from search.errors import NotPermitted, ProfileError, RunConflict
from search.models import SearchProfile
from search.tuning.diff import differences
from search.tuning.drafts import audit
from search.tuning.models import EvaluationRun, ProfileChange

Action = ProfileChange.Action
ROLL_BACK = "search.rollback_searchprofile"
ACTIVATIONS = (Action.PUBLISHED, Action.OVERRIDDEN, Action.ROLLED_BACK)

activated = Notice()
"""Sent with the new active `profile` and the `user`, in the transaction that activates it."""


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


def check_complete(profile: SearchProfile) -> None:
    """Raises ProfileError if a query class has no weights."""
    classes = set(profile.class_weights.values_list("query_class", flat=True))
    missing = [query_class.value for query_class in QueryClass if query_class.value not in classes]
    if missing:
        raise ProfileError(
            gettext("%(profile)s has no weights for: %(missing)s. Add them first.")
            % {"profile": profile, "missing": ", ".join(missing)}
        )


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
