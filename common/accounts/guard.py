"""Protection against password guessing: failed sign-ins are counted by address and user name.

django-axes counts, in the cache, for AXES_COOLOFF_TIME. After SIGN_IN_FAILURES of them in a row no
password is checked for that address or name.

A stranger could so lock a known name out of its own account. Therefore a browser in which that name
has signed in before carries a signed cookie, and its failures are counted apart (OWASP, "device
cookies"): the locks of strangers do not concern it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from axes.backends import AxesStandaloneBackend
from axes.handlers.cache import AxesCacheHandler
from django.conf import settings
from django.core import signing
from django.core.management.base import CommandError
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac
from rest_framework.throttling import BaseThrottle

DEVICE_COOKIE = "steelyard_device"
DEVICE_SECONDS = 365 * 24 * 3600  # a guess: people come back within a year
_SALT = "steelyard.accounts.device"


def counted_address(request: HttpRequest) -> str:
    """The counter key of an address; its final "/" distinguishes it from those of user names."""
    return f"{network_of(address_of(request))}/"


def counted_name(request: HttpRequest, credentials: Mapping[str, Any] | None) -> str:
    """The user name as it is counted; empty without one, and never equal to an address.

    With the device's number behind it in a browser where that name has signed in before.
    """
    name = _name(request, credentials)
    device = _device(request, name)
    return f"{name.replace('/', '_')[:150]}/{device}" if device else name.replace("/", "_")[:150]


def counted_by(request: Any, credentials: Mapping[str, Any] | None = None) -> list[str]:
    """The keys under which a failure is counted; the function in AXES_LOCKOUT_PARAMETERS.

    Not by the address where the browser is known: others of its network may have guessed.
    """
    # Axes' commands pass a row instead of a request.
    if isinstance(request, HttpRequest) and _device(request, _name(request, credentials)):
        return ["username"]
    return ["ip_address", "username"]


def remember_device(response: HttpResponse, name: str) -> None:
    """Set the cookie of a browser in which `name` has just signed in."""
    response.set_cookie(
        DEVICE_COOKIE,
        signing.dumps([_digest(name), secrets.token_hex(8)], salt=_SALT),
        max_age=DEVICE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _name(request: HttpRequest, credentials: Mapping[str, Any] | None) -> str:
    source = request.POST if credentials is None else credentials
    return str(source.get("username") or "")


def _device(request: HttpRequest, name: str) -> str:
    """The number of a browser in which `name` has signed in; empty of any other."""
    cookie = request.COOKIES.get(DEVICE_COOKIE, "")
    if not cookie or not name:
        return ""
    try:
        digest, number = signing.loads(cookie, salt=_SALT, max_age=DEVICE_SECONDS)
    except (signing.BadSignature, ValueError, TypeError):
        return ""
    return str(number) if constant_time_compare(digest, _digest(name)) else ""


def _digest(name: str) -> str:
    # The cookie does not reveal to the next user of a shared browser who signed in there.
    return salted_hmac(_SALT, name, algorithm="sha256").hexdigest()


class LockingHandler(AxesCacheHandler):  # type: ignore[misc]
    """Axes' cache handler, with counts that may end at any moment."""

    def user_login_failed(
        self, sender: Any, credentials: dict[str, Any], request: Any = None, **kwargs: Any
    ) -> None:
        try:
            super().user_login_failed(sender, credentials, request, **kwargs)
        except ValueError:
            # A count ended between being found and being raised. The next one begins; at worst the
            # other of the two counts this attempt twice.
            super().user_login_failed(sender, credentials, request, **kwargs)

    def reset_attempts(
        self, *, ip_address: str | None = None, username: str | None = None, **kwargs: Any
    ) -> int:
        """Forget the failures of an address or a name. Raises CommandError without either."""
        if ip_address is None and username is None:
            raise CommandError(
                "Counts are kept in the cache, which lists none: name whom to let in again with "
                "`manage.py axes_reset_username NAME` or `manage.py axes_reset_ip ADDRESS`."
            )
        if ip_address is not None:
            ip_address = f"{network_of(ip_address.rstrip('/'))}/"
        count: int = super().reset_attempts(ip_address=ip_address, username=username, **kwargs)
        return count


class GuardedBackend(AxesStandaloneBackend):  # type: ignore[misc]
    """The first backend: refuses while a lock lasts. Commands have no address, and no lock."""

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> None:
        if request is not None:
            super().authenticate(request, **credentials)


def address_of(request: Any) -> str:
    """The client's address; behind NUM_PROXIES proxies, the one that the first of them saw."""
    return str(BaseThrottle().get_ident(request) or "")


def network_of(address: str) -> str:
    """An IPv4 address, or the /64 network of an IPv6 address; without the port of some proxies."""
    host = address
    if address.startswith("["):
        host = address[1:].partition("]")[0]
    elif address.count(":") == 1:
        host = address.partition(":")[0]
    with suppress(ValueError):
        parsed = ip_address(host.partition("%")[0])
        if not isinstance(parsed, IPv6Address):
            return str(parsed)
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ip_network((parsed, 64), strict=False))
    return host
