"""API tokens: made with scopes, verified, noted when used, revoked.

Only a token's hash is stored (knox); the token itself is returned once, when it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext
from knox.models import AuthToken

from common import UserError
from common.accounts.models import ALL_SCOPES, LIMITED_SCOPES, TokenGrant, User

# Use is recorded at most once in this time, to save a write for every request.
NOTED_EVERY = timedelta(hours=1)
# A guess: more than a person can keep track of.
MOST_TOKENS = 100
MOST_DAYS = 3650


class InvalidToken(UserError):
    """The requested token cannot be created; the message says why."""

    code = "invalid_token"


def make(
    user: User,
    *,
    name: str = "",
    scopes: Iterable[str] = ALL_SCOPES,
    collections: Iterable[int] | None = None,
    days: int | None = None,
) -> tuple[AuthToken, str]:
    """Create a token; return its row and the token itself, which is shown only now.

    `collections` are the ids that it is limited to, None for no limit. It expires after `days`,
    by default `default_days()`. Raises InvalidToken.
    """
    in_order = [scope for scope in ALL_SCOPES if scope in set(scopes)]
    limit = None if collections is None else sorted(set(collections))
    _check(in_order, limit, days)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)  # counted and made one at a time
        if alive(user).count() >= MOST_TOKENS:
            raise InvalidToken(
                gettext("You have %(most)d tokens. Revoke one first.") % {"most": MOST_TOKENS}
            )
        row, token = AuthToken.objects.create(
            user=user, expiry=timedelta(days=days or default_days())
        )
        TokenGrant.objects.create(
            token=row, name=name.strip()[:80], scopes=in_order, collections=limit
        )
    return row, token


def default_days() -> int:
    """The default lifetime of a token in days: API_TOKEN_DAYS."""
    lifetime: Any = settings.REST_KNOX["TOKEN_TTL"]
    return max(1, int(lifetime.days))


def _check(scopes: list[str], limit: list[int] | None, days: int | None) -> None:
    if not scopes:
        raise InvalidToken(gettext("Choose at least one scope."))
    if limit is not None and not limit:
        raise InvalidToken(gettext("Choose at least one collection, or no limit."))
    if limit is not None and not set(scopes) <= LIMITED_SCOPES:
        raise InvalidToken(
            gettext(
                "A token that tunes or administers concerns the whole site: it cannot be limited "
                "to collections."
            )
        )
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise InvalidToken(
            gettext("A token expires after 1 to %(most)d days.") % {"most": MOST_DAYS}
        )


def alive(user: User) -> QuerySet[Any]:
    """The user's tokens that have not expired, the newest first."""
    rows: QuerySet[Any] = AuthToken.objects.filter(unexpired(), user=user.pk)
    return rows.select_related("grant").order_by("-created", "digest")


def unexpired() -> Q:
    """The condition of tokens that have not expired."""
    return Q(expiry__isnull=True) | Q(expiry__gt=timezone.now())


def revoke(user: User, key: str) -> bool:
    """Revoke the user's token that begins with `key`; return whether there was one."""
    deleted, _ = AuthToken.objects.filter(user=user.pk, token_key=key).delete()
    return bool(deleted)


def everlasting() -> QuerySet[Any]:
    """The tokens of active users that never expire, or that have no scopes and so all rights."""
    rows: QuerySet[Any] = AuthToken.objects.filter(
        Q(expiry__isnull=True) | (Q(grant=None) & Q(expiry__gt=timezone.now())),
        user__is_active=True,
    )
    return rows


def grant_of(token: AuthToken) -> TokenGrant | None:
    """The rights of the token; None if it has all rights of its user."""
    return TokenGrant.objects.filter(token=token.pk).first()


def admit(user: User, token: AuthToken, *, now: datetime | None = None) -> frozenset[str]:
    """Limit `user` to the token's collections, note the use, and return the token's scopes."""
    user.token_used = str(token.pk)
    grant = grant_of(token)
    if grant is not None and grant.collections is not None:
        user.collections_limit = frozenset(grant.collections)
    if grant is not None:
        _note_use(grant, now or timezone.now())
    return _scopes(token, grant)


def limits_of(rows: Iterable[AuthToken]) -> set[int]:
    """The ids of the collections that these tokens are limited to."""
    grants = (getattr(row, "grant", None) for row in rows)
    return {pk for grant in grants if grant for pk in grant.collections or ()}


def described(rows: Iterable[AuthToken], names: Mapping[int, str]) -> list[dict[str, Any]]:
    """What each token may do, for its owner; the collections that `names` lacks are left out.

    `collections` is None without a limit, and `last_used` if that is not known.
    """
    return [_described(row, getattr(row, "grant", None), names) for row in rows]


def _described(
    row: AuthToken, grant: TokenGrant | None, names: Mapping[int, str]
) -> dict[str, Any]:
    limit = grant.collections if grant else None
    scopes = list(grant.scopes if grant else ALL_SCOPES)
    return {
        "key": row.token_key,
        "name": grant.name if grant else "",
        "scopes": scopes,
        "is_full": set(scopes) == set(ALL_SCOPES),
        "collections": None if limit is None else sorted(names[pk] for pk in limit if pk in names),
        "created": row.created,
        "expiry": row.expiry,
        "last_used": grant.last_used if grant else None,
    }


def scopes_of(token: AuthToken) -> frozenset[str]:
    """The scopes of a token, or of the request that came with one narrowed by OAuth."""
    return _scopes(token, grant_of(token))


def _scopes(token: AuthToken, grant: TokenGrant | None) -> frozenset[str]:
    granted = frozenset(ALL_SCOPES if grant is None else grant.scopes)
    return granted & getattr(token, "narrowed", granted)


def _note_use(grant: TokenGrant, now: datetime) -> None:
    hour = now.replace(minute=0, second=0, microsecond=0)
    if grant.last_used is None or grant.last_used + NOTED_EVERY <= now:
        TokenGrant.objects.filter(pk=grant.pk).update(last_used=hour)
