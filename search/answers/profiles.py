"""Answer profiles: drafts are edited, published and rolled back to, each with an audit entry.

As for search profiles (ADR 5): a published version never changes, and an edit of it is a new draft.
No gate measures them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.text import Truncator
from django.utils.translation import gettext

from common.accounts.models import User
from search.answers.domain import AnswerParameters
from search.answers.models import AnswerProfile, AnswerProfileChange
from search.errors import NotPermitted, ProfileError
from search.models.versions import ProfileEdit, check_settings

Action = AnswerProfileChange.Action
State = AnswerProfile.State
PUBLISH = "answers.publish_answerprofile"
ROLL_BACK = "answers.rollback_answerprofile"
FIELDS = (
    "description",
    *(name for name in AnswerParameters.__dataclass_fields__ if name not in {"name", "version"}),
)
"""The fields of a profile that can be edited."""


@transaction.atomic
def create(
    name: str, fields: Mapping[str, object], *, acting_user: User | None, reason: str = ""
) -> AnswerProfile:
    """Create a profile and return its first draft. Raises ProfileError if it is invalid."""
    AnswerProfile.check_new_name(name)
    check_settings(fields, FIELDS)
    draft = AnswerProfile(name=name)
    _set(draft, fields)
    draft.save()
    draft.changes.create(action=Action.CREATED, user=acting_user, reason=reason)
    return draft


@transaction.atomic
def edit(
    profile: AnswerProfile,
    fields: Mapping[str, object],
    *,
    acting_user: User | None,
    reason: str = "",
) -> ProfileEdit[AnswerProfile]:
    """Change a draft, or make a changed new draft of a published version. Raises ProfileError."""
    check_settings(fields, FIELDS)
    before = AnswerProfile.objects.select_for_update().get(pk=profile.pk)
    changes = _differences(before, fields)
    if not changes:
        return ProfileEdit(before)
    draft = before if before.is_draft else before.next_draft(FIELDS)
    _set(draft, fields)
    draft.save()
    action = Action.EDITED if before.is_draft else Action.CREATED
    draft.changes.create(action=action, user=acting_user, reason=reason, changes=changes)
    return ProfileEdit(draft, tuple(changes), is_new_draft=not before.is_draft)


@transaction.atomic
def activate(
    profile: AnswerProfile, *, acting_user: User | None, reason: str = ""
) -> AnswerProfile:
    """Publish a draft, or roll back to a version that was active before.

    Raises NotPermitted, and ProfileError for the active version.
    """
    before, chosen = profile.locked()
    permission = PUBLISH if chosen.is_draft else ROLL_BACK
    if acting_user is not None and not acting_user.has_perm(permission):  # commands have no user
        raise NotPermitted(gettext("You may not do this. Ask an administrator for the permission."))
    if chosen.state == State.ACTIVE:
        raise ProfileError(gettext("%(profile)s is active already.") % {"profile": chosen})
    action = Action.PUBLISHED if chosen.is_draft else Action.ROLLED_BACK
    chosen.succeed(before)
    changes = differences(before, chosen) if before else []
    chosen.changes.create(
        action=action, user=acting_user, reason=reason, changes=changes, replaced=before
    )
    return chosen


def differences(before: AnswerProfile, after: AnswerProfile) -> list[str]:
    """A sentence for each field in which two versions differ, except the description."""
    values = {name: getattr(after, name) for name in FIELDS if name != "description"}
    return _differences(before, values)


def _set(draft: AnswerProfile, fields: Mapping[str, object]) -> None:
    for name, value in fields.items():
        setattr(draft, name, value)
    try:
        draft.full_clean()
    except ValidationError as error:
        raise ProfileError(" ".join(error.messages)) from error


def _differences(before: AnswerProfile, fields: Mapping[str, object]) -> list[str]:
    differences = []
    for name, value in fields.items():
        was = getattr(before, name)
        if was != value:
            label = AnswerProfile._meta.get_field(name).verbose_name  # type: ignore[union-attr]
            differences.append(f"{label}: {_as_text(was)} → {_as_text(value)}")
    return differences


def _as_text(value: Any) -> str:
    return Truncator(str(value)).chars(80) or gettext("empty")
