"""What happens when a sign-on is connected to an account, and when it no longer is."""

from __future__ import annotations

from typing import Any

from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.signals import social_account_added
from django.db.models.signals import post_delete
from django.dispatch import receiver

from common.accounts import claims, sign_on
from common.accounts.models import SignOn, User


@receiver(social_account_added)
def connected(sociallogin: SocialLogin, **_: Any) -> None:
    """Apply the claims of the newly connected sign-on."""
    sign_on.confirmed(sociallogin)


@receiver(post_delete, sender=SignOn)
def disconnected(instance: SignOn, **_: Any) -> None:
    """Take away what the claims opened; nobody would ask the provider again."""
    if user := User.objects.filter(pk=instance.account.user_id).first():
        claims.withdraw(user)
