"""Against guessed passwords: failed sign-ins are counted by address and by user name.

django-axes counts, in the cache, for SIGN_IN_LOCK_MINUTES; what it lacks is the time that is left.
After SIGN_IN_FAILURES of them in a row no password is checked for that address or name.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from axes.backends import AxesStandaloneBackend
from axes.handlers.cache import AxesCacheHandler
from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_cache_timeout, get_client_cache_keys, get_failure_limit
from django.http import HttpRequest

from common.addresses import address_of, network_of


def counted_address(request: HttpRequest) -> str:
    """The address as it is counted; with a sign that names never have, see `counted_name`."""
    return f"{network_of(address_of(request))}/"


def counted_name(request: HttpRequest, credentials: Mapping[str, Any] | None) -> str:
    """The user name as it is counted; empty without one, and never equal to an address."""
    given = request.POST if credentials is None else credentials
    return str(given.get("username") or "").replace("/", "_")[:150]


class LockingHandler(AxesCacheHandler):  # type: ignore[misc]
    """Axes' counting, with the time at which each lock ends."""

    def user_login_failed(
        self, sender: Any, credentials: dict[str, Any], request: Any = None, **kwargs: Any
    ) -> None:
        try:
            super().user_login_failed(sender, credentials, request, **kwargs)
        except ValueError:
            # A count ended between being found and being raised. The next one begins; at worst the
            # other of the two counts this attempt twice.
            super().user_login_failed(sender, credentials, request, **kwargs)
        if request is None or not getattr(request, "axes_failures_since_start", None):
            return
        limit = get_failure_limit(request, credentials)
        seconds = get_cache_timeout(request)
        for key in get_client_cache_keys(request, credentials):
            if self.cache.get(key, 0) >= limit:
                self.cache.set(f"{key}-until", time.time() + seconds, seconds)

    def seconds_left(self, request: HttpRequest, credentials: dict[str, Any] | None) -> int:
        """The whole seconds until the last of the locks on this request ends; 0 without one."""
        keys = get_client_cache_keys(request, credentials)
        ends = self.cache.get_many([f"{key}-until" for key in keys]).values()
        return max(0, math.ceil(max(ends, default=0.0) - time.time()))


def seconds_left(request: HttpRequest, credentials: dict[str, Any] | None) -> int:
    """The whole seconds for which these credentials are not checked."""
    AxesProxyHandler.update_request(request)
    handler: Any = AxesProxyHandler.get_implementation()
    return int(handler.seconds_left(request, credentials))


class GuardedBackend(AxesStandaloneBackend):  # type: ignore[misc]
    """The first backend: refuses while a lock lasts. Commands have no address, and no lock."""

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> None:
        if request is not None:
            super().authenticate(request, **credentials)
