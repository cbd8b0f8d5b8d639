"""Django's cache on Redis, which costs a reader one time-out at most while Redis hangs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any

from django.core.cache.backends.redis import RedisCache, RedisCacheClient
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


class _KeptClient(RedisCacheClient):
    """Keeps its client: Django makes a new one for each command.

    A client is safe for threads; it takes each command's connection from a pool.
    """

    @cached_property
    def _kept(self) -> Any:
        return super().get_client(write=True)

    def get_client(self, *args: Any, **kwargs: Any) -> Any:
        # Of several servers Django reads from any, and writes to the first.
        several = len(self._servers) > 1  # type: ignore[attr-defined]
        return super().get_client(*args, **kwargs) if several else self._kept


class GuardedRedisCache(RedisCache):
    """Raises CircuitOpen for some seconds after Redis could not be reached or did not answer.

    A search catches that and goes on without the cache; other pages answer 503.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._class = _KeptClient

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
