"""Rate limits per visitor, counted in the cache that all processes share."""

from __future__ import annotations

import logging
from typing import Any

from redis.exceptions import RedisError
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.throttling import AnonRateThrottle, SimpleRateThrottle, UserRateThrottle

logger = logging.getLogger(__name__)


class Unavailable(APIException):
    status_code = 503
    default_code = "unavailable"
    default_detail = "Signing in does not work at the moment. Try again in a minute."


class _OpenWithoutCache(SimpleRateThrottle):
    """Permit requests while the cache is unavailable: search works without it."""

    def allow_request(self, request: Request, view: Any) -> bool:
        try:
            return super().allow_request(request, view)
        except RedisError as error:
            logger.warning("Requests are not counted while the cache is away: %s", error)
            return True


class AnonymousThrottle(_OpenWithoutCache, AnonRateThrottle):
    """Limit anonymous visitors, by address."""


class UserThrottle(_OpenWithoutCache, UserRateThrottle):
    """Limit signed-in users, by user."""


class LoginThrottle(SimpleRateThrottle):
    """Limit sign-in attempts, by address; refuse them all without the cache, which counts them."""

    scope = "login"

    def get_cache_key(self, request: Request, view: Any) -> str:
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}

    def allow_request(self, request: Request, view: Any) -> bool:
        try:
            return super().allow_request(request, view)
        except RedisError as error:
            raise Unavailable from error
