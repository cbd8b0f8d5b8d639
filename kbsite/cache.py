"""Django's cache on Redis, which costs a reader one time-out at most while Redis hangs."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.cache.backends.redis import RedisCache
from redis import exceptions

from common.backoff import REDIS, CircuitOpen


def _guarded(name: str) -> Callable[..., Any]:
    method = getattr(RedisCache, name)

    @wraps(method)
    def guarded(self: RedisCache, *args: Any, **kwargs: Any) -> Any:
        if REDIS.is_open:
            raise CircuitOpen("Redis failed a moment ago and is left alone for some seconds.")
        try:
            return method(self, *args, **kwargs)
        except (exceptions.ConnectionError, exceptions.TimeoutError):
            REDIS.trip()
            raise

    return guarded


class GuardedRedisCache(RedisCache):
    """Raises CircuitOpen for some seconds after Redis could not be reached or did not answer.

    A search catches that and goes on without the cache; other pages answer 503.
    """

    add = _guarded("add")
    get = _guarded("get")
    set = _guarded("set")
    touch = _guarded("touch")
    delete = _guarded("delete")
    get_many = _guarded("get_many")
    has_key = _guarded("has_key")
    incr = _guarded("incr")
    set_many = _guarded("set_many")
    delete_many = _guarded("delete_many")
    clear = _guarded("clear")
