"""PostgreSQL's advisory locks: every number that is taken, and the ways to take one.

The numbers are arbitrary and share one space with the hashes of `hold_name`. The order of locks:
docs/adr/0031-one-way-to-work-in-the-background.md.
"""

from __future__ import annotations

from django.db import connection

# Shared: a document becomes searchable. Exclusive: another embedding space becomes the active one.
EMBEDDING_SWITCH = 7_402_117
# Who moves the pending changes of term statistics into the totals.
TERM_STATISTICS = 7_133_801
# Who gathers gaps from events, or makes events anonymous.
SEARCH_EVENTS = 5_700_101


def hold(lock: int, *, shared: bool = False) -> None:
    """Wait for the lock, and hold it until the present transaction ends."""
    _call(f"pg_advisory_xact_lock{'_shared' * shared}(%s)", lock)


def try_hold(lock: int) -> bool:
    """Whether the lock was free; it is then held until the present transaction ends."""
    return bool(_call("pg_try_advisory_xact_lock(%s)", lock))


def hold_name(name: str) -> None:
    """Wait until no other transaction holds the name, and hold it until this one ends."""
    _call("pg_advisory_xact_lock(hashtextextended(%s, 0))", name)


def _call(function: str, value: int | str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}", [value])
        (result,) = cursor.fetchone()
        return result
