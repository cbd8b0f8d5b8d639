"""Django's Redis cache with a circuit breaker: while Redis hangs, readers wait at most once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache, wraps
from typing import Any

from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis import exceptions

from common.circuit_breaker import REDIS, CircuitOpen


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
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


class _SharedClient(RedisCacheClient):
    """Uses one client for all commands: Django makes a new one for each command.

    A client is safe for threads; it takes each command's connection from a pool.
    """

    @cached_property
    def _shared(self) -> Any:
        return super().get_client(write=True)

    def get_client(self, *args: Any, **kwargs: Any) -> Any:
        return self._shared

    def count(self, key: str, seconds: int) -> tuple[int, int]:
        """See `GuardedRedisCache.count`."""
        client = self.get_client(key, write=True)
        commands = client.pipeline(transaction=False)
        commands.set(key, 0, ex=seconds, nx=True).incr(key).ttl(key)
        _, number, seconds_left = commands.execute()
        if seconds_left < 0:  # it expired in between: the key of `incr` would never expire
            client.expire(key, seconds)
            seconds_left = seconds
        return number, max(1, seconds_left)


@lru_cache
def _client(servers: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> _SharedClient:
    """The process's client of these servers.

    Django keeps a cache object for each context, which under ASGI is each request and each piece of
    work that it gives to a thread: with a client of its own each would open a connection.
    """
    return _SharedClient(list(servers), **dict(options))


class GuardedRedisCache(RedisCache):
    """Raises CircuitOpen for some seconds after Redis could not be reached or did not answer.

    A search catches that and goes on without the cache; other pages answer 503.
    """

    @cached_property
    def _cache(self) -> _SharedClient:
        servers, options = self._servers, self._options  # type: ignore[attr-defined]
        return _client(tuple(servers), tuple(sorted(options.items())))

    add = _guarded(RedisCache.add)
    get = _guarded(RedisCache.get)
    set = _guarded(RedisCache.set)
    touch = _guarded(RedisCache.touch)
    delete = _guarded(RedisCache.delete)
    get_many = _guarded(RedisCache.get_many)
    has_key = _guarded(RedisCache.has_key)
    incr = _guarded(RedisCache.incr)
    set_many = _guarded(RedisCache.set_many)
    delete_many = _guarded(RedisCache.delete_many)
    clear = _guarded(RedisCache.clear)

    @_guarded
    def count(self, key: str, seconds: int) -> tuple[int, int]:
        """Increment the counter of the key; return the count and the seconds until it expires.

        A counter expires this many seconds after its first increment. Atomic, one round trip.
        """
        client: Any = self._cache
        count_and_rest: tuple[int, int] = client.count(self.make_and_validate_key(key), seconds)
        return count_and_rest
