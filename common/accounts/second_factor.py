"""The second factor of staff: who has one, and who must have one."""

from __future__ import annotations

from typing import Any

from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.utils.translation import gettext

from common.accounts.models import User

FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)


# --- second factors (STAFF_SECOND_FACTOR) ---


def has_factor(user: User) -> bool:
    """Whether the user has one-time codes or a passkey."""
    return bool(Authenticator.objects.filter(user=user.pk, type__in=FACTORS).exists())


def must_have_factor(user: User) -> bool:
    """Whether the user is a member of staff who must have a second factor."""
    return user.is_staff and settings.STAFF_SECOND_FACTOR != "off"


def lacks_factor(request: Any) -> bool:
    """Whether the session belongs to a member of staff who still has to add a second factor."""
    user = request.user
    if not user.is_authenticated or not must_have_factor(user):
        return False
    if settings.STAFF_SECOND_FACTOR == "password" and _signed_on(request, user):
        return False
    return not has_factor(user)


def _signed_on(request: Any, user: User) -> bool:
    """Whether the session began with a sign-on provider."""
    records = get_authentication_records(request, user)
    return any(record.get("method") == "socialaccount" for record in records)


def add_a_factor() -> str:
    """The message for members of staff without a second factor."""
    return gettext(
        "Staff of this site sign in with a second factor. Add one on the page /accounts/2fa/."
    )
