"""Read replicas: searches read from standbys of the database that have every change before them.

At its start a search asks the primary for its position in the write-ahead log. A replica may answer
it once it has replayed that much: then it shows every upload, edit and right that was committed
before the question, whoever made it (docs/adr/0082-read-replicas.md). Where none has it in time, or
one fails in the middle, the primary answers.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from common.database import ANSWER_SECONDS, Bounded
from common.observing import metrics

logger = logging.getLogger(__name__)

PREFIX = "replica"  # of the names in DATABASES, which the settings number from 1
# For one statement of a search. A guess: ten times what a slow search takes.
STATEMENT_SECONDS = 3.0
# Between attempts to reach a replica that failed: doubled from the first to the second. Guesses.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
# Those that ask how far behind the replicas are: one that hangs delays no other.
_threads = ThreadPoolExecutor(4, thread_name_prefix="replica-lag")
# For so long no search waits for a replica that was behind: each would wait in vain. A guess.
BEHIND_SECONDS = 2.0

# What is committed has been flushed, unless commits do not wait for that. The log is named by its
# cluster and timeline: a standby that was promoted, or missed a failover, has another.
_ON_PRIMARY = """
SELECT (CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
        ELSE pg_current_wal_flush_lsn() END - '0/0')::bigint,
       (SELECT system_identifier FROM pg_control_system()) || '/' ||
       ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int
"""
_ON_REPLICA = """
SELECT coalesce(pg_last_wal_replay_lsn() - '0/0', -1)::bigint,
       CASE WHEN pg_is_in_recovery() THEN
           (SELECT system_identifier FROM pg_control_system()) || '/' ||
           (SELECT timeline_id FROM pg_control_checkpoint())
       ELSE '' END,
       coalesce(extract(epoch FROM now() - pg_last_xact_replay_timestamp()), 0)::float
"""

T = TypeVar("T")
_alias: ContextVar[str] = ContextVar("_alias", default=DEFAULT_DB_ALIAS)


class Router:
    """Django's queries read from the replica inside `read`; everything else is the primary's."""

    def db_for_read(self, model: type, **hints: Any) -> str:
        alias = _alias.get()
        if alias != DEFAULT_DB_ALIAS and connections[DEFAULT_DB_ALIAS].in_atomic_block:
            return DEFAULT_DB_ALIAS  # a transaction reads what it wrote
        return alias

    def db_for_write(self, model: type, **hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: object, other: object, **hints: Any) -> bool:
        return True  # all of them are rows of one database

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS


class _ReadConnection:
    """The connection that reads now use, as `django.db.connection` is the primary's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(connections[_alias.get()], name)


connection = cast(BaseDatabaseWrapper, _ReadConnection())


@dataclass(frozen=True, slots=True)
class Position:
    """How much of which log: bytes from its beginning, and the log's cluster and timeline."""

    bytes: int
    log: str

    def has(self, wanted: Position) -> bool:
        return self.log == wanted.log and self.bytes >= wanted.bytes


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a replica is behind; infinitely if it does not answer, or follows another server."""

    name: str
    answers: bool
    bytes: float = float("inf")
    seconds: float = float("inf")

    @property
    def is_known(self) -> bool:
        return self.bytes != float("inf")


class Replica:
    """What this process knows of one replica."""

    def __init__(self, alias: str) -> None:
        self.alias = alias
        self._away = threading.Event()
        self._behind_until = 0.0
        self._leaving = threading.Lock()

    @property
    def is_usable(self) -> bool:
        """False from a failure until it answers again."""
        return not self._away.is_set()

    def is_fresh(self, wanted: Position, deadline: float) -> bool:
        """Whether it has replayed as much; waits until the deadline if it is not far behind."""
        pause = 0.001
        try:
            while not (found := self._position()).has(wanted):
                now = time.monotonic()
                if found.log != wanted.log:
                    return False  # that of another server, or one that was promoted
                if now >= deadline or now < self._behind_until:
                    self._behind_until = max(self._behind_until, now + BEHIND_SECONDS)
                    return False
                time.sleep(min(pause, deadline - now))
                pause = min(pause * 2, 0.016)
        except (DatabaseError, InterfaceError) as error:
            self.leave(error)
            return False
        self._behind_until = 0.0
        return True

    def _position(self) -> Position:
        with connections[self.alias].cursor() as cursor:
            cursor.execute(_ON_REPLICA)
            return Position(*cursor.fetchone()[:2])

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Within it, reads go to this replica, and each statement has its time limit."""
        raw = connections[self.alias].connection
        raw.seconds = STATEMENT_SECONDS
        token = _alias.set(self.alias)
        try:
            yield
        finally:
            _alias.reset(token)
            raw.seconds = ANSWER_SECONDS

    def leave(self, error: Exception) -> None:
        """Use it no more until it answers, unless the error is that of one statement."""
        code = getattr(error.__cause__, "sqlstate", None)
        # What a statement failed at may be quoted: a question, or a text.
        said = f"error {code}" if code is not None else str(error).split("\n", 1)[0]
        logger.warning("%s: %s", self.alias, said or type(error).__name__)
        if code is not None and not code.startswith(("08", "53", "57P")):
            return  # such as a conflict with the replay
        with self._leaving:
            if self._away.is_set():
                return
            self._away.set()
        threading.Thread(target=self._return, name=self.alias, daemon=True).start()

    def _return(self) -> None:
        """Ask it again and again, so that no reader has to."""
        began, pause = time.monotonic(), FIRST_PAUSE
        while _asked(self.alias) is None:
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        self._away.clear()
        logger.warning("%s answers again, after %.0f s", self.alias, time.monotonic() - began)


_known: dict[str, Replica] = {}


def names() -> list[str]:
    """The names of the replicas in DATABASES."""
    return [alias for alias in connections if alias.startswith(PREFIX)]


def read(work: Callable[[], T]) -> T:
    """The result of `work`, whose reads a replica answers if one has all that is committed.

    `work` may run twice: if the replica fails, the primary answers. Within a transaction it reads
    from the primary, and so does whatever `work` writes.
    """
    aliases = names()
    if (
        not aliases
        or _alias.get() != DEFAULT_DB_ALIAS
        or connections[DEFAULT_DB_ALIAS].in_atomic_block
    ):
        return work()
    outcome = "primary"
    if (replica := _fresh(aliases)) is not None:
        try:
            with replica.reading():
                found = work()
        except (DatabaseError, InterfaceError) as error:
            replica.leave(error)
            outcome = "failed"
        else:
            metrics.count(metrics.READS, server=replica.alias)
            return found
        finally:
            connections[replica.alias].close()
    metrics.count(metrics.READS, server=outcome)
    return work()


def _fresh(aliases: list[str]) -> Replica | None:
    """A replica that has everything which is committed now, with its connection open."""
    usable = [each for each in map(_replica, aliases) if each.is_usable]
    if not usable:
        return None
    random.shuffle(usable)
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(_ON_PRIMARY)
        wanted = Position(*cursor.fetchone())
    deadline = time.monotonic() + settings.DATABASE_REPLICA_WAIT
    for replica in usable:
        if replica.is_fresh(wanted, deadline):
            return replica
        connections[replica.alias].close()
    return None


def _replica(alias: str) -> Replica:
    return _known.setdefault(alias, Replica(alias))


def lags() -> list[Lag]:
    """How far behind each replica is, asked on connections of their own, outside any request."""
    aliases = names()
    if not aliases:
        return []
    asked = {alias: _threads.submit(_asked, alias) for alias in aliases}
    wait(asked.values(), timeout=2 * ANSWER_SECONDS)
    primary = _asked(DEFAULT_DB_ALIAS, _ON_PRIMARY)  # the last: no replica is ahead of it
    return [
        _lag(alias, primary, each.result() if each.done() else None)
        for alias, each in asked.items()
    ]


def _lag(alias: str, primary: tuple[Any, ...] | None, found: tuple[Any, ...] | None) -> Lag:
    if found is None:
        return Lag(alias, answers=False)
    if primary is None or found[1] != primary[1]:
        return Lag(alias, answers=True)
    behind = max(primary[0] - found[0], 0)
    return Lag(alias, answers=True, bytes=behind, seconds=found[2] if behind else 0.0)


def _asked(alias: str, query: str = _ON_REPLICA) -> tuple[Any, ...] | None:
    """The row of a server; None if it does not answer."""
    parameters = connections[alias].get_connection_params()
    try:
        # libpq's least is two seconds.
        with Bounded.connect(**parameters | {"connect_timeout": 2}) as asked:
            return tuple(asked.execute(query).fetchone() or ()) or None
    except psycopg.Error:
        return None
