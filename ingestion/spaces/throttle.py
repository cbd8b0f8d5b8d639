"""Requests and tokens a minute that all workers share: a token bucket on the space's row.

The generic cell rate algorithm (ATM Forum, 1996): the row holds the moment at which all that was
taken is paid off. One statement takes from both buckets or from neither, by the database's clock.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import connection

from ingestion.errors import EmbeddingUnavailable

# What may be sent at once: a tenth of a minute's worth (a guess). A whole minute's worth would let
# the first minute send twice what is allowed.
BURST_SECONDS = 6.0

# The wait until the request may be sent, and the row changed only where that is soon enough.
_TAKE = """
WITH asked AS (
    SELECT id,
           GREATEST(
               COALESCE(requests_due - now.at - make_interval(secs => %(burst)s), '0'),
               COALESCE(tokens_due - now.at - make_interval(secs => %(burst)s), '0'),
               COALESCE(held_until - now.at, '0'),
               '0'
           ) AS wait, now.at
    FROM ingestion_embeddingspace, (SELECT clock_timestamp() AS at) now
    WHERE id = %(space)s
    FOR NO KEY UPDATE OF ingestion_embeddingspace
), taken AS (
    UPDATE ingestion_embeddingspace s SET
        requests_due = CASE WHEN s.requests_per_minute > 0 THEN
            GREATEST(s.requests_due, asked.at) + make_interval(secs => 60.0 / s.requests_per_minute)
            END,
        tokens_due = CASE WHEN s.tokens_per_minute > 0 THEN
            GREATEST(s.tokens_due, asked.at)
                + make_interval(secs => 60.0 * %(tokens)s / s.tokens_per_minute)
            END
    FROM asked WHERE s.id = asked.id AND asked.wait <= make_interval(secs => %(longest)s)
)
SELECT extract(epoch FROM wait)::float8 FROM asked
"""
_HOLD = """
UPDATE ingestion_embeddingspace
SET held_until = GREATEST(held_until, clock_timestamp() + make_interval(secs => %s))
WHERE id = %s
"""


_patience: ContextVar[float] = ContextVar("patience", default=float("inf"))


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Within it nobody waits longer for a server; what takes longer is EmbeddingUnavailable."""
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


class SharedThrottle:
    """The allowance of one space's provider. Limits changed on the row hold from the next request.

    Questions are not counted: they are few, and a searcher does not wait for a backfill.
    """

    def __init__(self, space_id: int) -> None:
        self._space_id = space_id

    @property
    def patience(self) -> float:
        """As the block says that it is called in; see `patience`."""
        return _patience.get()

    def take(self, tokens: int, *, longest: float) -> None:
        """Returns once the request may be sent; raises EmbeddingUnavailable if not in time."""
        longest = min(longest, _patience.get())
        values = {
            "space": self._space_id, "tokens": tokens, "longest": max(longest, 0.0),
            "burst": BURST_SECONDS,
        }  # fmt: skip
        with connection.cursor() as cursor:
            cursor.execute(_TAKE, values)
            found = cursor.fetchone()
        wait = found[0] if found else 0.0
        if wait > longest:
            raise EmbeddingUnavailable(
                f"The provider's allowance is used up for {wait:.0f} seconds.", wait
            )
        if wait > 0:
            time.sleep(wait)

    def hold(self, seconds: float) -> None:
        """Lets no worker send for so long."""
        with connection.cursor() as cursor:
            cursor.execute(_HOLD, (seconds, self._space_id))
