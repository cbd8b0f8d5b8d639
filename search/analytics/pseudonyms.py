"""Pseudonyms of visitors: who is behind a request, without revealing who."""

from __future__ import annotations

import re
from datetime import date

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from common.accounts.guard import address_of
from common.accounts.models import User

# User agents of crawlers and monitors. A person's own script does not match.
ROBOT = re.compile(
    r"bot\b|crawl|spider|slurp|scrap|monitor|uptime|pingdom|healthcheck|health-check|kube-probe"
    r"|preview|facebookexternalhit|lighthouse|prometheus|blackbox",
    re.IGNORECASE,
)


def user_of(request: HttpRequest) -> User | None:
    """The signed-in user behind a request, if any."""
    user: User | AnonymousUser | None = getattr(request, "user", None)
    return user if user is not None and user.is_authenticated else None


def visitor_of(request: HttpRequest, *, day: date | None = None) -> str:
    """The key of the visitor behind a request: a user, or an address and browser on one day.

    It distinguishes visitors and reveals nothing else about them.
    """
    if user := user_of(request):
        return _hashed(f"user {user.pk}")
    day = day or timezone.now().date()
    browser = request.headers.get("User-Agent", "")
    return _hashed(f"{day} {address_of(request)} {browser}")


def recorded_visitor(request: HttpRequest) -> str:
    """The key of the visitor behind a request that may be recorded; empty for any other."""
    return visitor_of(request) if is_recorded(request) else ""


def is_recorded(request: HttpRequest) -> bool:
    """True if this request may be recorded.

    False when recording is off, when the browser asks not to be tracked (`DNT`, `Sec-GPC`), for
    robots, and for prefetched pages.
    """
    if not settings.SEARCH_EVENTS or request.method == "HEAD":
        return False
    headers = request.headers
    if headers.get("DNT") == "1" or headers.get("Sec-GPC") == "1":
        return False
    return not is_prefetched(request) and not ROBOT.search(headers.get("User-Agent", ""))


def is_prefetched(request: HttpRequest) -> bool:
    """Whether a browser fetches the page in case that its reader opens it."""
    names = ("Sec-Purpose", "Purpose", "X-Moz")
    return any("prefetch" in request.headers.get(name, "") for name in names)


def _hashed(text: str) -> str:
    return str(salted_hmac("search.analytics.visitor", text, algorithm="sha256").hexdigest())
