"""Connections from asynchronous code, their check, advisory locks, and querysets as SQL.

The numbers of the locks are arbitrary and share one space with the hashes of `hold_name`. The order
of locking: docs/adr/0031-background-work.md.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

import psycopg
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection
from django.db.models import QuerySet
from psycopg.abc import PQGen
from psycopg.errors import _WaitTimeout

T = TypeVar("T")
# For the check of a connection, which takes a server no time. A guess: many round trips over any
# network, and two of them within the patience of a reader.
CHECK_SECONDS = 0.4
# Seconds to wait for the database, with time left to answer 503 within two. Guesses.
READERS_PATIENCE = 1.5
patience = 10.0  # of this process, of workers and commands; the web server's has READERS_PATIENCE


class Checked(psycopg.Connection[Any]):
    """A connection whose check gives up after CHECK_SECONDS, and closes it then.

    The pool checks each before its use. A server that hangs, or from which the network is cut off,
    would be waited for otherwise: no limit of its own can end that.
    """

    _is_checked = False

    def execute(self, *args: Any, **kwargs: Any) -> Any:
        """Execute the pool's check; Django executes its statements by cursors."""
        self._is_checked = True
        try:
            return super().execute(*args, **kwargs)
        finally:
            self._is_checked = False

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        if not self._is_checked:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, CHECK_SECONDS)
        except _WaitTimeout as error:
            self.pgconn.finish()
            raise psycopg.OperationalError(f"no answer within {CHECK_SECONDS} s") from error


_at_once = ContextVar("_at_once", default=False)


async def in_thread(work: Callable[[], T]) -> T:
    """The result of `work`, which may ask the database, without holding a connection afterwards.

    A stream lasts as long as its model writes: two hundred of them must not hold two hundred
    connections. Within `at_once` it runs here, on the caller's connection.
    """
    return work() if _at_once.get() else await sync_to_async(released)(work)


async def completed(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is completed even if the task is cancelled meanwhile."""
    return await (work if _at_once.get() else asyncio.shield(asyncio.ensure_future(work)))


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing but `in_thread`, without an event loop.

    The hops between threads and connections cost a page with an answer 7 of 88 ms.
    """
    before = _at_once.set(True)
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        _at_once.reset(before)
        work.close()
    raise RuntimeError("The coroutine waits for something: it needs an event loop.")


def released(work: Callable[[], T]) -> T:
    """The result of `work`; closes the connection afterwards, except inside a transaction."""
    try:
        return work()
    finally:
        if not connection.in_atomic_block:
            connection.close()


async def together(works: Sequence[Callable[[], T]]) -> list[T]:
    """The results of several functions, run concurrently, each with a connection of its own.

    Within the caller's transaction one after the other, so that they see what it wrote. The first
    error is raised when all have ended.
    """
    if len(works) < 2 or await in_thread(lambda: connection.in_atomic_block):
        return [await in_thread(work) for work in works]
    apart = sync_to_async(released, thread_sensitive=False)
    outcomes = await asyncio.gather(*(apart(work) for work in works), return_exceptions=True)
    results: list[T] = []
    for each in outcomes:
        if isinstance(each, BaseException):
            raise each
        results.append(each)
    return results


# Each plan takes memory of its connection's server process. A guess.
MOST_PREPARED = 16


def may_prepare() -> bool:
    """Whether statements may be prepared: unless the setting PREPARED_STATEMENTS forbids it, or
    Django logs its queries, with their values.
    """
    return settings.PREPARED_STATEMENTS and not connection.queries_logged


def preparing(kind: type[psycopg.Cursor[Any]]) -> Any:
    """A cursor of this kind on Django's connection, which prepares a statement on its first run.

    Django's own cursors put the values into the text, and psycopg does not prepare theirs.
    """
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    raw = connection.connection
    raw.prepare_threshold, raw.prepared_max = 0, MOST_PREPARED
    own: Any = kind(raw)
    return connection.make_cursor(own)


# Shared: a document becomes searchable. Exclusive: another embedding space becomes active.
EMBEDDING_SWITCH = 7_402_117
# Merging pending changes of term statistics into the totals.
TERM_STATISTICS = 7_133_801
# Gathering gaps from events, or anonymising events.
SEARCH_EVENTS = 5_700_101
# Making or restoring a backup of the site; of a session, not of a transaction.
BACKUP = 7_202_614
# Applying migrations; of a session.
MIGRATION = 7_202_615


def hold(lock: int, *, shared: bool = False) -> None:
    """Wait for the lock, and hold it until the current transaction ends."""
    _call(f"pg_advisory_xact_lock{'_shared' * shared}(%s)", lock)


def try_hold(lock: int) -> bool:
    """Acquire the lock until the current transaction ends; False if it is not free."""
    return bool(_call("pg_try_advisory_xact_lock(%s)", lock))


def hold_name(name: str) -> None:
    """Wait for the lock of a name, and hold it until the current transaction ends."""
    _call("pg_advisory_xact_lock(hashtextextended(%s, 0))", name)


def _call(function: str, value: int | str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}", [value])
        (result,) = cursor.fetchone()
        return result


def named(queryset: QuerySet[Any, Any], prefix: str) -> tuple[str, dict[str, Any]]:
    """A queryset's SQL and its parameters by name: `prefix` and a number.

    Parameters that it names itself, `%(name)s` in the text of a RawSQL, stay as they are.
    """
    sql, values = queryset.query.sql_with_params()
    keys = [f"{prefix}{i}" for i in range(len(values))]
    rest = iter(keys)
    # A literal percent sign stays doubled: the statement as a whole is formatted once more.
    text = re.sub("%%|%s", lambda sign: f"%({next(rest)})s" if sign[0] == "%s" else "%%", sql)
    return text, dict(zip(keys, values, strict=True))
