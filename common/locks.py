"""PostgreSQL's advisory locks: the lock numbers in use, and functions to acquire them.

The numbers are arbitrary and share one space with the hashes of `hold_name`. The lock order:
docs/adr/0031-one-way-to-work-in-the-background.md.
"""

from __future__ import annotations

from django.db import connection

# Shared: a document becomes searchable. Exclusive: another embedding space becomes active.
EMBEDDING_SWITCH = 7_402_117
# Merging pending changes of term statistics into the totals.
TERM_STATISTICS = 7_133_801
# Gathering gaps from events, or anonymising events.
SEARCH_EVENTS = 5_700_101
# Making or restoring a backup of the site; of a session, not of a transaction.
BACKUP = 7_202_614


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
