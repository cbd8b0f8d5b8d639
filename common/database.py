"""Database work from asynchronous code, without a connection held between two pieces of it.

And connections that give up a server which stops answering.
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
# For a statement that takes a server no time. A guess: many round trips over any network.
ANSWER_SECONDS = 0.5


class Bounded(psycopg.Connection[Any]):
    """A connection that gives up after `seconds` without an answer, and is closed then.

    A server that hangs, or from which the network is cut off, would be waited for otherwise: no
    limit of its own can end that.
    """

    seconds = ANSWER_SECONDS

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        try:
            return super().wait(gen, interval, self.seconds if timeout is None else timeout)
        except _WaitTimeout as error:
            self.pgconn.finish()
            raise psycopg.OperationalError(f"no answer within {self.seconds} s") from error


async def in_thread(work: Callable[[], T]) -> T:
    """The result of `work`, which may ask the database, without holding a connection afterwards.

    A stream lasts as long as its model writes: two hundred of them must not hold two hundred
    connections.
    """
    return await sync_to_async(released)(work)


def released(work: Callable[[], T]) -> T:
    """The result of `work`; then close the connection, unless a transaction is open around it.

    Connections to replicas are closed after each search (`replicas.read`).
    """
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
