"""The audit trail: events of sign-ins and rights are recorded; all logs are exported by time.

Receivers of signals record what happens, whichever page, API or command causes it. Other apps keep
histories of their own beside their pages: they `register` them here, so that one export has
everything, as JSON lines.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from allauth.core import context
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from axes.signals import user_locked_out
from django.conf import settings
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import AnonymousUser, Group
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_save
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone
from knox.models import AuthToken

from common.accounts.guard import address_of
from common.accounts.models import TokenGrant, User
from common.audit.models import Event, Kind

AT_ONCE = 1_000
_FLAGS = {ADDITION: "added", CHANGE: "changed"}
# A row as an entry: kind, subject and details; username and address where it has them.
Entry = Callable[[Any], Mapping[str, Any]]
# Each log's model, the field with its rows' time, its entries, and the rows to select with a row.
_LOGS: list[tuple[type[Model], str, Entry, tuple[str, ...]]] = []


def record(
    kind: Kind,
    *,
    subject: object = "",
    user: User | AnonymousUser | None = None,
    request: HttpRequest | None = None,
    details: dict[str, Any] | None = None,
) -> None:
    """Record an event of `request`, by default of the request in progress, if any.

    Without `user`, the request's user did it.
    """
    request = request or context.request
    actor = user or getattr(request, "user", None)
    actor = actor if isinstance(actor, User) and actor.pk else None
    facts = dict(details or {})
    Event.objects.create(
        kind=kind,
        user=actor,
        username=actor.get_username() if actor else "",
        address=address_of(request)[:64] if request else "",
        subject=str(subject)[:200],
        details=facts if request else {**facts, "by": "command"},
    )


def forget(*, now: datetime | None = None) -> int:
    """Delete the events older than AUDIT_DAYS; return how many."""
    before = (now or timezone.now()) - timedelta(days=settings.AUDIT_DAYS)
    deleted, _ = Event.objects.filter(at__lt=before).delete()
    return deleted


def register(model: type[Model], entry: Entry, *related: str, at: str = "at") -> None:
    """Add the rows of a model with a `user` to the trail; called from an AppConfig's `ready`."""
    _LOGS.append((model, at, entry, related))


def lines() -> Iterator[str]:
    """The entries, one JSON object a line, the oldest first."""
    logs = (_entries(*log) for log in _LOGS)
    for one in heapq.merge(*logs, key=itemgetter("at")):
        entry = {**one, "at": one["at"].isoformat()}
        yield json.dumps(entry, ensure_ascii=False, default=str) + "\n"


def _entries(
    model: type[Model], at: str, entry: Entry, related: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    rows: Any = model._default_manager.select_related("user", *related).order_by(at, "pk")
    for row in rows.iterator(AT_ONCE):
        facts = {"user": row.user.get_username() if row.user else "", "address": "", **entry(row)}
        order = ("kind", "user", "address", "subject", "details")
        yield {"at": getattr(row, at), "user_id": row.user_id} | {key: facts[key] for key in order}


def _event(row: Event) -> Mapping[str, Any]:
    fields = ("kind", "address", "subject", "details")
    return {"user": row.username, **{name: getattr(row, name) for name in fields}}


def _change(row: LogEntry) -> Mapping[str, Any]:
    """A change in the admin, or by a service that writes into the admin's log."""
    kind = str(row.content_type) if row.content_type else ""
    message = row.get_change_message()
    return {
        "kind": _FLAGS.get(row.action_flag, "deleted"),
        "subject": row.object_repr,
        "details": {"type": kind, "id": row.object_id, "message": message},
    }


register(Event, _event)
register(LogEntry, _change, "content_type", at="action_time")


# The fields of a user that determine their rights or their sign-in.
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
    # An unknown name may be a password typed into the wrong field.
    name = str(credentials.get("username") or "")[:150]
    exists = bool(name) and User.objects.filter(username=name).exists()
    record(Kind.SIGN_IN_FAILED, subject=name if exists else "", request=request)


@receiver(user_locked_out)
def locked_out(request: Any, username: str | None = None, **_: Any) -> None:
    exists = bool(username) and User.objects.filter(username=username).exists()
    record(Kind.LOCKED_OUT, subject=username if exists else "", request=request)


@receiver(pre_save, sender=User)
def look_at_user(instance: User, **_: Any) -> None:
    """Remember the user's state before saving, to compare it afterwards."""
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
