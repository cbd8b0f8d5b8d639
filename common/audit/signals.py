"""Events of sign-ins, credentials and rights, whichever page, API or command causes them."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from axes.signals import user_locked_out
from django.contrib.auth.models import Group
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_save
from django.dispatch import receiver
from knox.models import AuthToken

from common.accounts.models import TokenGrant, User
from common.audit.models import Kind
from common.audit.trail import record

# The fields of a user that say what they may do, or how they sign in.
WATCHED = ("is_active", "is_staff", "is_superuser", "username", "email", "password")


@receiver(user_logged_in)
def signed_in(request: Any, user: User, **_: Any) -> None:
    record(Kind.SIGNED_IN, user=user, request=request, details={"at": request.path[:100]})


@receiver(user_logged_out)
def signed_out(request: Any, user: User | None, **_: Any) -> None:
    if user is not None:
        record(Kind.SIGNED_OUT, user=user, request=request)


@receiver(user_login_failed)
def failed(credentials: Any, request: Any = None, **_: Any) -> None:
    # A name that nobody has may be a password in the wrong field.
    name = str(credentials.get("username") or "")[:150]
    exists = bool(name) and User.objects.filter(username=name).exists()
    record(Kind.SIGN_IN_FAILED, subject=name if exists else "", request=request)


@receiver(user_locked_out)
def locked_out(request: Any, username: str | None = None, **_: Any) -> None:
    exists = bool(username) and User.objects.filter(username=username).exists()
    record(Kind.LOCKED_OUT, subject=username if exists else "", request=request)


@receiver(pre_save, sender=User)
def look_at_user(instance: User, **_: Any) -> None:
    """Keep what the user was, to compare after saving."""
    instance.audited = User.objects.filter(pk=instance.pk).values(*WATCHED).first() or {}  # type: ignore[attr-defined]


@receiver(post_save, sender=User)
def saved_user(instance: User, created: bool, update_fields: Any = None, **_: Any) -> None:
    # Signing in updates one field, and so does the renewal of a hash: neither changes a right.
    if update_fields is not None and set(update_fields) <= {"last_login", "password"}:
        return
    before: dict[str, Any] = getattr(instance, "audited", {})
    changed = [name for name in WATCHED if created or before.get(name) != getattr(instance, name)]
    if rights := {name: getattr(instance, name) for name in changed if name.startswith("is_")}:
        record(
            Kind.RIGHTS,
            subject=instance,
            details={**rights, **({"added": True} if created else {})},
        )
    if not created and (rest := [name for name in changed if not name.startswith("is_")]):
        record(Kind.CREDENTIALS, subject=instance, details={"changed": rest})


@receiver(m2m_changed, sender=User.groups.through)
@receiver(m2m_changed, sender=User.user_permissions.through)
@receiver(m2m_changed, sender=Group.permissions.through)
def members_changed(
    instance: Any, action: str, reverse: bool, model: Any, pk_set: Any, **_: Any
) -> None:
    if action == "pre_clear":
        record(
            Kind.RIGHTS,
            subject=instance,
            details={"remove": f"all {model._meta.verbose_name_plural}"},
        )
    elif action in ("post_add", "post_remove") and pk_set:
        others = sorted(str(row) for row in model._default_manager.filter(pk__in=pk_set))
        record(Kind.RIGHTS, subject=instance, details={action.removeprefix("post_"): others})


@receiver(post_save, sender=TokenGrant)
def made_token(instance: TokenGrant, created: bool, **_: Any) -> None:
    if created:
        record(
            Kind.CREDENTIALS,
            subject=instance.token.user,
            details={
                "token_made": instance.name,
                "scopes": list(instance.scopes),
                "limited": instance.collections is not None,
            },
        )


@receiver(post_delete, sender=AuthToken)
@receiver(post_delete, sender=Authenticator)
@receiver(post_delete, sender=SocialAccount)
def removed(sender: Any, instance: Any, **_: Any) -> None:
    if user := User.objects.filter(pk=instance.user_id).first():
        record(Kind.CREDENTIALS, subject=user, details={"removed": str(sender._meta.verbose_name)})


@receiver(post_save, sender=Authenticator)
@receiver(post_save, sender=SocialAccount)
def added(sender: Any, instance: Any, created: bool, **_: Any) -> None:
    if created:
        record(
            Kind.CREDENTIALS,
            subject=instance.user,
            details={"added": str(sender._meta.verbose_name)},
        )


@receiver(post_delete, sender=User)
@receiver(post_delete, sender=Group)
def deleted(sender: Any, instance: Any, **_: Any) -> None:
    record(Kind.DELETED, subject=instance, details={"type": str(sender._meta.verbose_name)})
