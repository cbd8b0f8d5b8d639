"""Drafts: edited in place; editing a published profile creates one. And targets."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext

from common.accounts.models import User
from search.domain import QueryClass, Weights
from search.errors import ProfileError
from search.models import SearchProfile
from search.models.versions import ProfileEdit, check_settings
from search.tuning.evaluation.targets import NAMES as TARGETS
from search.tuning.evaluation.targets import held_by
from search.tuning.models import ProfileChange, ProfileTargets
from search.tuning.publishing import activation

Action = ProfileChange.Action
# Audit entries that do not change the profile.
CHANGED_NOTHING = (
    Action.REFUSED, Action.TRIED, Action.NOT_TRIED, Action.TRIAL_ENDED, Action.TARGETS,
)  # fmt: skip


def edit_stamp(profile: SearchProfile) -> str:
    """An opaque version token (ETag) that changes whenever the profile is edited or published."""
    changes = ProfileChange.objects.filter(profile=profile.pk)
    latest = changes.exclude(action__in=CHANGED_NOTHING).order_by("-pk").first()
    state = SearchProfile.objects.values_list("state", flat=True).get(pk=profile.pk)
    return f"{state}-{latest.pk if latest else 0}"


@transaction.atomic
def edit(
    profile: SearchProfile,
    fields: Mapping[str, object],
    weights: Mapping[QueryClass, Weights],
    *,
    acting_user: User | None,
    reason: str = "",
) -> ProfileEdit[SearchProfile]:
    """Change fields and weights of a draft, or of a new draft of a published profile.

    Fields and classes that are not named stay. The differences are audited; of a draft a reason
    alone, too: it is somebody's note. Raises ProfileError for an unknown field.
    """
    check_settings(fields, activation.FIELDS)
    rows = SearchProfile.objects.prefetch_related("class_weights")
    before = rows.select_for_update().get(pk=profile.pk)
    if not _differs(before, fields, weights):
        if not (before.is_draft and reason):
            return ProfileEdit(before)
        note = (gettext("A note, without a change"),)
        activation.audit(before, Action.EDITED, acting_user, reason, list(note))
        return ProfileEdit(before, note)
    draft = before
    if not before.is_draft:
        draft = activation.draft_from(before, acting_user=acting_user, reason=reason)
    else:
        draft = SearchProfile.objects.get(pk=before.pk)
    for name, value in fields.items():
        setattr(draft, name, value)
    draft.save(update_fields=list(fields) or None)
    activation.set_weights(draft, weights)
    after = rows.get(pk=draft.pk)
    changes = activation.differences(before, after)
    activation.audit(after, Action.EDITED, acting_user, reason, changes)
    return ProfileEdit(after, tuple(changes), is_new_draft=not before.is_draft)


def last_reason(draft: SearchProfile) -> str:
    """The reason of the draft's latest edit that has one, offered for its publication."""
    edits = ProfileChange.objects.filter(
        profile=draft.pk, action__in=(Action.CREATED, Action.EDITED)
    )
    return edits.exclude(reason="").order_by("-pk").values_list("reason", flat=True).first() or ""


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
    SearchProfile.check_new_name(name)
    draft = SearchProfile.objects.create(name=name, **fields)
    activation.set_weights(draft, weights)
    activation.audit(draft, Action.CREATED, acting_user, reason, ["New profile"])
    return draft


@transaction.atomic
def set_targets(
    profile: SearchProfile,
    values: Mapping[str, float | None],
    *,
    acting_user: User | None,
    reason: str = "",
) -> ProfileTargets:
    """Set the named targets of a draft or a published version, with an entry in the audit.

    None removes one. Raises ProfileError for invalid targets.
    """
    SearchProfile.objects.select_for_update().get(pk=profile.pk)
    row = held_by(profile)
    before = {name: getattr(row, name) for name in TARGETS}
    for name, value in values.items():
        setattr(row, name, value)
    try:
        row.full_clean(validate_unique=False)
    except ValidationError as error:
        raise ProfileError(" ".join(error.messages)) from error
    changes = [
        f"{ProfileTargets._meta.get_field(name).verbose_name}: {_shown(was)} → {_shown(now)}"  # type: ignore[union-attr]
        for name, was in before.items()
        if was != (now := getattr(row, name))
    ]
    if changes:
        row.save()
        activation.audit(profile, Action.TARGETS, acting_user, reason, changes)
    return row


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _differs(
    profile: SearchProfile, fields: Mapping[str, object], weights: Mapping[QueryClass, Weights]
) -> bool:
    before = {QueryClass(row.query_class): row.as_weights() for row in profile.class_weights.all()}
    return any(getattr(profile, name) != value for name, value in fields.items()) or any(
        before.get(query_class) != shares for query_class, shares in weights.items()
    )
