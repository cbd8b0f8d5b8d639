"""How often one client may call the API: rates by address or by user, counted in the cache."""

from __future__ import annotations

import logging
from typing import Any, cast

from django.http import HttpRequest
from redis.exceptions import RedisError
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.throttling import AnonRateThrottle, SimpleRateThrottle, UserRateThrottle

logger = logging.getLogger(__name__)


class Unavailable(APIException):
    status_code = 503
    default_code = "unavailable"
    default_detail = "Signing in does not work at the moment. Try again in a minute."


class _CountingThrottle(SimpleRateThrottle):
    """Count requests from the first of a period on, in one round trip to the cache.

    DRF's own keeps the times of all requests of the last period, and reads and writes that list at
    each of them (ADR 91).
    """

    num_requests: int
    duration: int
    seconds_left = 0

    def allow_request(self, request: Request, view: Any) -> bool:
        if self.rate is None or (key := self.get_cache_key(request, view)) is None:
            return True
        counter: Any = self.cache
        # Another name than DRF's: until an hour after an update there are lists under its.
        count, self.seconds_left = counter.count(f"counted:{key}", self.duration)
        return bool(count <= self.num_requests)

    def wait(self) -> float | None:
        return self.seconds_left


class _OpenWithoutCache(_CountingThrottle):
    """Permit requests while the cache is unavailable: search works without it."""

    def allow_request(self, request: Request, view: Any) -> bool:
        try:
            return super().allow_request(request, view)
        except RedisError as error:
            logger.warning("Requests are not counted while the cache is unavailable: %s", error)
            return True


class AnonymousThrottle(_OpenWithoutCache, AnonRateThrottle):
    """Limit anonymous visitors, by address."""


class UserThrottle(_OpenWithoutCache, UserRateThrottle):
    """Limit signed-in users, by user.

    DRF's own also limits anonymous visitors, by address: the lower of both rates would count.
    """

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        return super().get_cache_key(request, view) if request.user.is_authenticated else None


class AnonymousAnswersThrottle(AnonymousThrottle):
    """Limit the answered questions of anonymous visitors, by address."""

    scope = "answers_anonymous"


class UserAnswersThrottle(UserThrottle):
    """Limit the answered questions of signed-in users, by user."""

    scope = "answers_user"


def seconds_to_wait(request: HttpRequest, *, for_search: bool = False) -> int:
    """The seconds until the next question is admitted by the rate limit; 0 if it is admitted now.

    Questions to be answered count, or with `for_search` searches, together with those of the API.
    """
    throttle: SimpleRateThrottle
    if request.user.is_authenticated:
        throttle = UserThrottle() if for_search else UserAnswersThrottle()
    else:
        throttle = AnonymousThrottle() if for_search else AnonymousAnswersThrottle()
    if throttle.allow_request(cast("Any", request), None):
        return 0
    return max(1, round(throttle.wait() or 60))


class LoginThrottle(_CountingThrottle):
    """Limit sign-in attempts, by address; refuse them all without the cache, which counts them."""

    scope = "login"

    def get_cache_key(self, request: Request, view: Any) -> str:
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}

    def allow_request(self, request: Request, view: Any) -> bool:
        try:
            return super().allow_request(request, view)
        except RedisError as error:
            raise Unavailable from error
