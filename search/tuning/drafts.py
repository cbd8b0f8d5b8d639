"""Drafts of profiles.

A draft is edited in place; editing a published profile creates one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext

from common.accounts.models import User
from search.domain import QueryClass, Weights
from search.errors import ProfileError
from search.models import ClassWeights, SearchProfile
from search.tuning.diff import FIELDS, SIGNALS, differences
from search.tuning.evaluation.golden_set import fingerprint
from search.tuning.models import EvaluationRun, ProfileChange

Action = ProfileChange.Action


@dataclass(frozen=True, slots=True)
class ProfileEdit:
    """The result of an edit. Without `changes` nothing was saved and `profile` is the given one."""

    profile: SearchProfile
    changes: tuple[str, ...] = ()
    is_new_draft: bool = False


def edit_stamp(profile: SearchProfile) -> str:
    """A version token (ETag) that changes whenever the ranking of a profile is edited or published.

    Of the saved profile, whatever this instance has.
    """
    saved = SearchProfile.objects.get(pk=profile.pk)
    return f"{saved.state}-{fingerprint(saved.as_profile())}"


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
            others=row.others,
            added=row.added,
            **{signal: getattr(row, signal) for signal in SIGNALS},
        )
        for row in profile.class_weights.all()
    )
    audit(draft, Action.CREATED, acting_user, reason, [f"Draft of {profile}"])
    return draft


@transaction.atomic
def edit(
    profile: SearchProfile,
    fields: Mapping[str, object],
    weights: Mapping[QueryClass, Weights],
    *,
    acting_user: User | None,
    reason: str = "",
) -> ProfileEdit:
    """Change fields and weights of a draft, or of a new draft of a published profile.

    Fields and classes that are not named keep their values. The differences are audited, and the
    reason even without any difference.
    """
    rows = SearchProfile.objects.prefetch_related("class_weights")
    before = rows.select_for_update().get(pk=profile.pk)
    if not _differs(before, fields, weights):
        if not (before.is_draft and reason):
            return ProfileEdit(before)
        note = (gettext("A note, without a change"),)
        audit(before, Action.EDITED, acting_user, reason, list(note))
        return ProfileEdit(before, note)
    if before.is_draft:
        draft = SearchProfile.objects.get(pk=before.pk)
    else:
        draft = draft_from(before, acting_user=acting_user, reason=reason)
    for name, value in fields.items():
        setattr(draft, name, value)
    draft.save(update_fields=list(fields) or None)
    set_weights(draft, weights)
    after = rows.get(pk=draft.pk)
    changes = differences(before, after)
    audit(after, Action.EDITED, acting_user, reason, changes)
    return ProfileEdit(after, tuple(changes), is_new_draft=not before.is_draft)


def _differs(
    profile: SearchProfile, fields: Mapping[str, object], weights: Mapping[QueryClass, Weights]
) -> bool:
    """Whether the profile has other values than these."""
    before = {QueryClass(row.query_class): row.as_weights() for row in profile.class_weights.all()}
    return any(getattr(profile, name) != value for name, value in fields.items()) or any(
        before.get(query_class) != shares for query_class, shares in weights.items()
    )


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
            profile=draft,
            query_class=query_class,
            defaults={"others": 0, "added": {}, **shares.as_dict()},
        )


def audit(
    profile: SearchProfile,
    action: Action,
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


def last_reason(draft: SearchProfile) -> str:
    """The reason of the draft's latest edit that has one, offered for its publication."""
    edits = ProfileChange.objects.filter(
        profile=draft.pk, action__in=(Action.CREATED, Action.EDITED)
    )
    return edits.exclude(reason="").order_by("-pk").values_list("reason", flat=True).first() or ""


def check_new_name(name: str) -> None:
    """Raise ProfileError if a profile has this name."""
    if SearchProfile.objects.filter(name=name).exists():
        raise ProfileError(
            gettext(
                "A profile “%(name)s” already exists. Open it and save your changes as a new "
                "draft, or choose another name."
            )
            % {"name": name}
        )


@transaction.atomic
def create(
    name: str,
    fields: Mapping[str, object],
    weights: Mapping[QueryClass, Weights],
    *,
    acting_user: User | None,
    reason: str = "",
) -> SearchProfile:
    """Create a profile and return its first draft. Raises ProfileError if the name is taken."""
    check_new_name(name)
    draft = SearchProfile.objects.create(name=name, **fields)
    set_weights(draft, weights)
    audit(draft, Action.CREATED, acting_user, reason, ["New profile"])
    return draft
