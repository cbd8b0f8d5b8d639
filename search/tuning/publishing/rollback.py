"""Rollback to a profile that was active before: without the gate, but audited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext

from search.errors import NotPermitted, ProfileError, RunConflict
from search.models import SearchProfile
from search.tuning.models import ProfileChange
from search.tuning.publishing import activation

if TYPE_CHECKING:
    from common.accounts.models import User

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
            % {"present": present or "No profile"}
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
    return activation.activate(
        target, action=Action.ROLLED_BACK, acting_user=acting_user, reason=reason.strip()
    )


def previous() -> SearchProfile | None:
    """The profile that a rollback would restore: each rollback goes one step further back."""
    held = _history()
    return SearchProfile.objects.filter(pk=held[-2]).first() if len(held) > 1 else None


def was_active(profile: SearchProfile) -> bool:
    """True if the profile was ever active."""
    return profile.pk in once_active()


def once_active() -> set[int]:
    """The primary keys of all profiles that were ever active."""
    rows = ProfileChange.objects.filter(action__in=ACTIVATIONS)
    pks = {pk for pair in rows.values_list("profile", "replaced") for pk in pair if pk}
    active = SearchProfile.objects.filter(state=SearchProfile.State.ACTIVE)
    return pks | set(active.values_list("pk", flat=True))


def _history() -> list[int]:
    """The primary keys of successively active profiles, without those rolled back."""
    held: list[int] = []
    rows = ProfileChange.objects.filter(action__in=ACTIVATIONS).order_by("pk")
    for action, profile, replaced in rows.values_list("action", "profile", "replaced"):
        # The first active profile was installed without an audit entry.
        if not held and replaced:
            held.append(replaced)
        if action == Action.ROLLED_BACK and profile in held:
            while held[-1] != profile:
                held.pop()
        elif not held or held[-1] != profile:
            held.append(profile)
    return held
