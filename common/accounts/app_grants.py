"""OAuth 2.1: an app acts under a grant, which is an API token that its user creates by consenting.

    consent -> grant (AuthToken with scopes and collections; never given out) and a code
    code, refresh token -> access token and the next refresh token, whose `data` name the grant

So an app is limited, counted, listed, revoked and recorded as an API token is (`tokens`). allauth
keeps the clients, and of their tokens the hashes and the resources that they are for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from allauth.idp.oidc import app_settings
from allauth.idp.oidc.internal.resources import is_resources_subset
from allauth.idp.oidc.models import Client, Token
from django.conf import settings
from django.db.models import Q
from django.db.models.signals import post_delete
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from knox.models import AuthToken

from common.accounts import tokens
from common.accounts.models import User

# The length of allauth's tokens: 64 random bytes in base64. Those of knox have 64 characters.
LENGTH = 86
METADATA = "/.well-known/oauth-protected-resource"
# The addresses that a token may be for, alone or together: the site's own, or one below it.
RESOURCES = ("", "/mcp", "/api", "/v1")
# A spent refresh token that comes again within seconds is a client's second try; later it has been
# copied, and the grant ends. A guess, as are the days after which a spent one is forgotten.
GRACE = timedelta(seconds=60)
SPENT_DAYS = 7
_OF_GRANTS = (Token.Type.REFRESH_TOKEN, Token.Type.AUTHORIZATION_CODE)


def is_on() -> bool:
    """Whether apps may connect to this site with OAuth."""
    return bool(settings.OAUTH != "off")


def metadata_url(request: HttpRequest, resource: str) -> str:
    """The address of a resource's description."""
    return request.build_absolute_uri(METADATA + resource)


def metadata(request: HttpRequest, resource: str, scopes: Iterable[str]) -> dict[str, Any]:
    """The description of a protected resource (RFC 9728); `resource` is its path.

    Without OAuth it names no authorization server: people make tokens themselves.
    """
    site = request.build_absolute_uri("/").rstrip("/")
    return {
        "resource": site + resource,
        "resource_name": "Steelyard",
        **({"authorization_servers": [site]} if is_on() else {}),
        "scopes_supported": list(scopes),
        "bearer_methods_supported": ["header"],
    }


def grant_for(value: str, url: str) -> AuthToken:
    """The grant of an access token, narrowed to the token's scopes, for a request of `url`.

    Raises InvalidToken if the token is unknown, expired, revoked or for another resource, or its
    user inactive.
    """
    token = Token.objects.lookup(Token.Type.ACCESS_TOKEN, value)
    grant = _grant(token)
    if token is None or grant is None:
        raise tokens.InvalidToken(
            gettext("The token is not valid, or no longer. Refresh it, or connect the app again.")
        )
    resources = [each.rstrip("/") for each in token.get_resources()]
    if not is_resources_subset([url], resources):
        sentence = gettext("The token is for %(names)s. Ask for one with resource=%(url)s.")
        place = urlsplit(url)
        first = f"/{place.path.split('/')[1]}"
        wanted = place._replace(path=first if first in RESOURCES else "").geturl()
        raise tokens.InvalidToken(sentence % {"names": ", ".join(resources), "url": wanted})
    grant.narrowed = frozenset(token.get_scopes())
    return grant


def consent(user: User, client: Client, back: str, scopes: Any, limit: Any) -> AuthToken:
    """Create the grant with the rights that `user` gives the app; unused, it expires with its code.

    `back` is the app's redirect address, `limit` the ids of collections or None. Raises
    InvalidToken as `tokens.make` does.
    """
    place = urlsplit(back)
    name = f"{client.name[:48] or client.pk[:48]} · {place.hostname or place.scheme}"
    grant, _ = tokens.make(user, name=name, scopes=scopes, collections=limit)
    _lasts(grant, timedelta(seconds=app_settings.AUTHORIZATION_CODE_EXPIRES_IN))
    Client.objects.filter(pk=client.pk).update(data={**(client.data or {}), "used": True})
    return grant


def note_code(grant: AuthToken, client: Client, code: str) -> None:
    """Record that the code belongs to the grant."""
    row = Token(client=client, user=grant.user)
    row.set_value(code)
    _note(row, {"grant": grant.pk})


def lock(value: str) -> tuple[AuthToken | None, Token | None]:
    """The grant of a code or refresh token, and its row; the grant is locked in the transaction.

    A code or token that was spent is refused, and ends its grant; a refresh token that was spent
    just now does not.
    """
    rows = Token.objects.valid().by_value(value).filter(type__in=_OF_GRANTS)
    grant = _grant(rows.first(), AuthToken.objects.select_for_update(of=("self",)))
    row = rows.first()  # read again: another request may have spent it before the lock
    data = (row.data or {}) if row else {}
    spent = data.get("spent")
    if grant is None or row is None or spent is None:
        return grant, row
    if data.get("is_code") or timezone.now().timestamp() - spent > GRACE.total_seconds():
        grant.delete()
    return None, None


def hand_on(grant: AuthToken, spent: Token, issued: Mapping[str, Any]) -> None:
    """Assign the issued tokens to the grant, and mark the code or refresh token as used."""
    for name in ("access_token", "refresh_token"):
        if name in issued:
            row = Token.objects.by_value(issued[name]).get()
            row.data = {**(row.data or {}), "grant": grant.pk}
            row.save(update_fields=["data"])
    is_code = spent.type == Token.Type.AUTHORIZATION_CODE
    if is_code:
        _lasts(grant, timedelta(days=tokens.default_days()))
    _note(spent, {"grant": grant.pk, "spent": timezone.now().timestamp(), "is_code": is_code})


def grant_of(value: str) -> AuthToken | None:
    """The grant of an access token, refresh token or code; None if there is none."""
    return _grant(Token.objects.by_value(value).first())


def connected(user: User) -> set[str]:
    """The keys of the user's API tokens that are grants of apps."""
    if not is_on():
        return set()
    grants = Token.objects.valid().filter(user=user).values_list("data__grant", flat=True)
    return set(tokens.alive(user).filter(pk__in=list(grants)).values_list("token_key", flat=True))


def forget() -> int:
    """Delete expired tokens, and apps that got no grant within a day; return the number."""
    expired, _ = Token.objects.expired().delete()
    introduced = Q(data__dcr=True) | Q(data__cimd=True)
    yesterday = timezone.now() - timedelta(days=1)
    strangers = Client.objects.filter(introduced, created_at__lt=yesterday, data__used__isnull=True)
    return int(expired + strangers.delete()[0])


def _grant(token: Token | None, rows: Any = AuthToken.objects) -> AuthToken | None:
    """The unexpired grant of an active user that the token names."""
    pk = (token.data or {}).get("grant") if token else None
    if pk is None:
        return None
    valid = rows.filter(tokens.unexpired(), pk=pk, user__is_active=True)
    grant: AuthToken | None = valid.select_related("user").first()
    return grant


def _note(token: Token, data: dict[str, Any]) -> None:
    """Store the data of a code, or of a used refresh token."""
    until = timezone.now() + timedelta(days=SPENT_DAYS)
    stored = {"client": token.client, "user": token.user, "data": data, "expires_at": until}
    Token.objects.update_or_create(
        type=Token.Type.AUTHORIZATION_CODE, hash=token.hash, defaults=stored
    )


def _lasts(grant: AuthToken, time: timedelta) -> None:
    AuthToken.objects.filter(pk=grant.pk).update(expiry=timezone.now() + time)


@receiver(post_delete, sender=AuthToken)
def _ended(instance: AuthToken, **_: Any) -> None:
    """Delete the tokens of a grant with it."""
    if is_on():
        Token.objects.filter(user=instance.user_id, data__grant=instance.pk).delete()
