"""Statements kept by their shape, and prepared in the database.

Questions of one shape differ in a few values only. Django compiles and Postgres plans their
statement once; then a search sends its values alone. What a viewer may read is no part of a shape:
it is compiled for every search (`readable`), and its text is in the key.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from django.conf import settings
from django.db import DatabaseError, connection
from psycopg.errors import InvalidSqlStatementName

# Shapes in use are few: signals that run, boosts that match, profiles. Each plan
# takes memory of its connection's server process. Guesses.
MOST_SHAPES = 128
MOST_PREPARED = 16
# Postgres plans again after ANALYZE, which may come a minute after an import; a plan for a library
# that was small must not serve a large one until then. Reading and planning take some 3 ms.
PLAN_SECONDS = 60.0

_PARAMETER = re.compile(r"%\((\w+)\)s|%%")
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with named parameters; literal percent signs are doubled.

    `names` are its parameters by their numbers in `numbered`, the same text for PREPARE.
    """

    text: str
    names: tuple[str, ...] = field(init=False)
    numbered: str = field(init=False)

    def __post_init__(self) -> None:
        numbers: dict[str, int] = {}

        def number(match: re.Match[str]) -> str:
            name = match[1]
            return "%" if name is None else f"${numbers.setdefault(name, len(numbers) + 1)}"

        object.__setattr__(self, "numbered", _PARAMETER.sub(number, self.text))
        object.__setattr__(self, "names", tuple(numbers))

    @classmethod
    def with_constants(cls, text: str, constants: Mapping[str, Any]) -> Statement:
        """The statement with these parameters written into its text.

        Postgres plans without the values of parameters, but needs them to use partial indexes.
        """

        def written(match: re.Match[str]) -> str:
            name = match[1]
            return _literal(constants[name]) if name in constants else match[0]

        return cls(_PARAMETER.sub(written, text))


class Shapes:
    """The most recently used statements by shape, of one process."""

    def __init__(self, most: int = MOST_SHAPES) -> None:
        self._most = most
        self._statements: OrderedDict[Hashable, Statement] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, shape: Hashable, make: Callable[[], Statement]) -> Statement:
        """The statement of this shape; `make` makes it the first time."""
        with self._lock:
            if (statement := self._statements.get(shape)) is not None:
                self._statements.move_to_end(shape)
                return statement
        statement = make()
        with self._lock:
            self._statements[shape] = statement
            while len(self._statements) > self._most:
                self._statements.popitem(last=False)
        return statement


def run(statement: Statement, values: Mapping[str, Any], local: Mapping[str, str] = {}) -> Rows:
    """The statement's rows. The settings `local`, SQL expressions by name, apply to it alone.

    Prepared on its first run on a connection, unless the setting PREPARED_STATEMENTS forbids it.
    """
    if not settings.PREPARED_STATEMENTS or _as_text.get():
        return send(statement.text, values, local)
    # The values are arguments of the prepared statement: no plan could be better for knowing them.
    local = {**local, "plan_cache_mode": "'force_generic_plan'"}
    try:
        return send(_executed(statement, local), values, {})
    except DatabaseError as error:
        if not isinstance(error.__cause__, InvalidSqlStatementName) or connection.in_atomic_block:
            raise
        # A pooler handed over another connection, or the statements were deallocated.
        _by_connection.pop(connection.connection, None)
        return send(_executed(statement, local), values, {})


def _executed(statement: Statement, local: Mapping[str, str]) -> str:
    """The message that runs the statement with its settings, both prepared on this connection."""
    first = _prepared(_setting(tuple(local.items())))
    values = ", ".join(f"%({name})s" for name in statement.names)
    arguments = f"({values})" if values else ""
    return f"EXECUTE {first};EXECUTE {_prepared(statement)}{arguments}"


@lru_cache(maxsize=64)
def _setting(local: tuple[tuple[str, str], ...]) -> Statement:
    """The statement that sets these SQL expressions, by name, for its transaction."""
    set_all = ", ".join(f"set_config('{name}', {to}, true)" for name, to in local)
    return Statement(f"SELECT {set_all}")


_as_text: ContextVar[bool] = ContextVar("_as_text", default=False)


@contextmanager
def sent_as_text() -> Iterator[None]:
    """Within this context statements are sent as text, for tools that read or replay them."""
    token = _as_text.set(True)
    try:
        yield
    finally:
        _as_text.reset(token)


def send(sql: str, values: Mapping[str, Any], local: Mapping[str, str]) -> Rows:
    """The rows of one statement, sent with its settings (SQL expressions) in one message."""
    if local:
        sql = f"{_setting(tuple(local.items())).text};{sql}"
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        while cursor.nextset():
            pass
        return list(cursor.fetchall())


@dataclass(frozen=True, slots=True)
class _Prepared:
    name: str
    since: float


_by_connection: WeakKeyDictionary[Any, OrderedDict[str, _Prepared]] = WeakKeyDictionary()
_numbers = count(1)


def _prepared(statement: Statement) -> str:
    """The name of the prepared statement on this connection."""
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    raw = connection.connection
    statements = _by_connection.setdefault(raw, OrderedDict())
    entry = statements.get(statement.numbered)
    if entry and time.monotonic() - entry.since < PLAN_SECONDS:
        statements.move_to_end(statement.numbered)
        return entry.name
    old = statements.pop(statement.numbered, None)
    if old is None and len(statements) >= MOST_PREPARED:
        _, old = statements.popitem(last=False)
    name = f"steelyard_{next(_numbers)}"
    with connection.wrap_database_errors:
        if old:
            raw.execute(f"DEALLOCATE {old.name}")
        raw.execute(f"PREPARE {name} AS {statement.numbered}", prepare=False)
    statements[statement.numbered] = _Prepared(name, time.monotonic())
    return name


def _literal(value: Any) -> str:
    """A constant of a statement as SQL, for a text in which percent signs are doubled."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) and math.isfinite(value) and value >= 0:
        return repr(value)
    if isinstance(value, str) and "\\" not in value and "\0" not in value:
        return "'" + value.replace("'", "''").replace("%", "%%") + "'"
    raise TypeError(f"{value!r} cannot be written into a statement.")
