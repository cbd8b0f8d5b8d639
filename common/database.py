"""Database work from asynchronous code, without a connection held between two pieces of it.

And connections whose check gives up a server which stops answering.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import psycopg
from asgiref.sync import sync_to_async
from django.db import connection
from psycopg.abc import PQGen
from psycopg.errors import _WaitTimeout

T = TypeVar("T")
# For the check of a connection, which takes a server no time. A guess: many round trips over any
# network, and two of them within the patience of a reader.
CHECK_SECONDS = 0.4


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


async def in_thread(work: Callable[[], T]) -> T:
    """The result of `work`, which may ask the database, without holding a connection afterwards.

    A stream lasts as long as its model writes: two hundred of them must not hold two hundred
    connections.
    """
    return await sync_to_async(released)(work)


def released(work: Callable[[], T]) -> T:
    """The result of `work`; then close the connection, unless a transaction is open around it."""
    try:
        return work()
    finally:
        if not connection.in_atomic_block:
            connection.close()


async def together(works: Sequence[Callable[[], T]]) -> list[T]:
    """The results of several works, made at once, each with a connection of its own for a while.

    Within the caller's transaction one after the other, so that they see what it wrote. The first
    error is raised when all have ended.
    """
    if len(works) < 2 or await sync_to_async(_in_transaction)():
        return [await in_thread(work) for work in works]
    apart = sync_to_async(released, thread_sensitive=False)
    ended = await asyncio.gather(*(apart(work) for work in works), return_exceptions=True)
    results: list[T] = []
    for each in ended:
        if isinstance(each, BaseException):
            raise each
        results.append(each)
    return results


def _in_transaction() -> bool:
    return connection.in_atomic_block
