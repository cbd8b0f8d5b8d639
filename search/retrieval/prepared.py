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
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any

from django.db import DatabaseError, connection
from psycopg import Cursor, RawCursor
from psycopg.errors import InvalidSqlStatementName
from psycopg.pq import Format

from common.database import may_prepare, preparing

# Shapes in use are few: signals that run, boosts that match, profiles. A guess.
MOST_SHAPES = 128
# Postgres plans again after ANALYZE, which comes a minute or two after an import as a rule; where
# it does not, a plan for a library that was small must not serve a large one for long. Reading and
# planning its statements takes a search 7 ms, and on a site with few readers a connection waits for
# its next search longer than a minute.
PLAN_SECONDS = 600.0

_PARAMETER = re.compile(r"%\((\w+)\)s|%%")
Rows = list[tuple[Any, ...]]
Values = Mapping[str, Any]


def with_constants(text: str, constants: Mapping[str, Any]) -> str:
    """The statement with these named parameters written into its text.

    Postgres plans without the values of parameters, but needs them to use partial indexes.
    """

    def written(match: re.Match[str]) -> str:
        name = match[1]
        return _literal(constants[name]) if name in constants else match[0]

    return _PARAMETER.sub(written, text)


class Shapes:
    """The most recently used statements by shape, of one process."""

    def __init__(self, most: int = MOST_SHAPES) -> None:
        self._most = most
        self._statements: OrderedDict[Hashable, str] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, shape: Hashable, make: Callable[[], str]) -> str:
        """The statement of this shape; `make` makes it the first time."""
        with self._lock:
            statement = self._statements.get(shape)
        statement = statement or make()
        with self._lock:
            self._statements[shape] = statement
            self._statements.move_to_end(shape)
            while len(self._statements) > self._most:
                self._statements.popitem(last=False)
        return statement


def run(statement: str, values: Values, form: Format = Format.TEXT) -> Rows:
    """The statement's rows, sent in that `form`: a long bytea takes half as long in the binary one.

    Prepared on its first run on a connection, if it may be (`may_prepare`).
    """
    if not may_prepare():
        return send(statement, values)
    values = {name: _untyped(value) for name, value in values.items()}
    try:
        return _run_prepared(statement, values, form)
    except DatabaseError as error:
        if not isinstance(error.__cause__, InvalidSqlStatementName) or connection.in_atomic_block:
            raise
        # A pooler handed over another connection. psycopg forgets its statements by this.
        Cursor(connection.connection).execute("DEALLOCATE ALL", prepare=False)
        return _run_prepared(statement, values, form)


def _run_prepared(statement: str, values: Values, form: Format) -> Rows:
    text, names = _numbered(statement, time.monotonic() // PLAN_SECONDS)
    with preparing(RawCursor) as cursor:
        cursor.cursor.format = form
        cursor.execute(text, [values[name] for name in names])
        return list(cursor.fetchall())


@lru_cache(MOST_SHAPES)
def _numbered(statement: str, period: float) -> tuple[str, tuple[str, ...]]:
    """The statement of a `period` with numbered parameters, and their names in this order.

    psycopg would read a long text for its named ones at each search, 1 ms.
    """
    numbers: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        name = match[1]
        return f"${numbers.setdefault(name, len(numbers) + 1)}" if name else "%"

    return f"{_PARAMETER.sub(numbered, statement)}\n-- {period:.0f}", tuple(numbers)


def _untyped(value: Any) -> Any:
    """The value as text: psycopg would prepare a statement for each size of a number.

    A list of integers is one text, too: psycopg would write them one by one.
    """
    if isinstance(value, list):
        if all(isinstance(each, int) for each in value):
            return f"{{{','.join(map(str, value))}}}"
        return [_untyped(each) for each in value]
    return str(value) if isinstance(value, int | float) else value


def send(sql: str, values: Values, local: Mapping[str, str] = {}) -> Rows:
    """The rows of one statement, sent with its settings (SQL expressions) in one message."""
    if local:
        settings_sql = ", ".join(f"set_config('{name}', {to}, true)" for name, to in local.items())
        sql = f"SELECT {settings_sql};{sql}"
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        while cursor.nextset():
            pass
        return list(cursor.fetchall())


def _literal(value: Any) -> str:
    """A constant of a statement as SQL, for a text in which percent signs are doubled."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) and math.isfinite(value) and value >= 0:
        return repr(value)
    if isinstance(value, str) and "\\" not in value and "\0" not in value:
        return "'" + value.replace("'", "''").replace("%", "%%") + "'"
    raise TypeError(f"{value!r} cannot be written into a statement.")
