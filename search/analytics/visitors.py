"""Who searches, without a cookie: a keyed hash; and whose searches are not recorded at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from common.accounts.models import User

# What programs that ask for themselves call themselves. A person's own script is none of them.
ROBOT = re.compile(
    r"bot\b|crawl|spider|slurp|scrap|monitor|uptime|pingdom|healthcheck|health-check|kube-probe"
    r"|preview|facebookexternalhit|lighthouse|prometheus|blackbox",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks. `key` tells visitors apart and says nothing else of them."""

    user: User | None
    key: str


def visitor_of(request: HttpRequest, *, day: date | None = None) -> Visitor:
    """The visitor behind a request: a user, or an address and browser for the length of `day`."""
    user: User | AnonymousUser | None = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        return Visitor(user, _hashed(f"user {user.pk}"))
    day = day or timezone.now().date()
    browser = request.headers.get("User-Agent", "")
    return Visitor(None, _hashed(f"{day} {_address(request)} {browser}"))


def is_watched(request: HttpRequest) -> bool:
    """Whether what this request does may be recorded.

    Not where recording is off, where the browser asks not to be tracked (`DNT`, `Sec-GPC`), of
    robots, and of pages that a browser only fetches ahead.
    """
    if not settings.SEARCH_EVENTS or request.method == "HEAD":
        return False
    said = request.headers
    if said.get("DNT") == "1" or said.get("Sec-GPC") == "1":
        return False
    ahead = said.get("Sec-Purpose", "") + said.get("Purpose", "") + said.get("X-Moz", "")
    return "prefetch" not in ahead and not ROBOT.search(said.get("User-Agent", ""))


def _hashed(text: str) -> str:
    return str(salted_hmac("search.analytics.visitor", text, algorithm="sha256").hexdigest())


def _address(request: HttpRequest) -> str:
    """The client's address; behind NUM_PROXIES proxies the one that the first of them saw."""
    proxies: int = settings.REST_FRAMEWORK["NUM_PROXIES"] or 0
    forwarded = str(request.META.get("HTTP_X_FORWARDED_FOR", ""))
    direct = str(request.META.get("REMOTE_ADDR", ""))
    if not proxies or not forwarded:
        return direct
    addresses = [address.strip() for address in forwarded.split(",")]
    return addresses[-min(proxies, len(addresses))]
