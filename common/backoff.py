"""When to try again: pauses that double, and the Retry-After header of a server."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# Between the attempts of a job: an outage of a provider lasts minutes, not milliseconds (a guess).
BASE, LONGEST = timedelta(seconds=5), timedelta(minutes=10)
LONGEST_ASKED = 3600.0  # seconds; a server that asks for more is asked again (a guess)


def pause(attempts: int, asked: float | None = None) -> timedelta:
    """The pause after so many attempts: 5 seconds doubling to 10 minutes.

    At least the seconds that a server has asked for, up to an hour.
    """
    doubled: timedelta = min(BASE * 2 ** min(attempts, 10), LONGEST)
    return max(doubled, timedelta(seconds=min(asked or 0.0, LONGEST_ASKED)))


def retry_after(header: str | None) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or a date (RFC 9110, 10.2.3).

    0 for a moment that has passed; None without a header, or for one that says neither.
    """
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            moment = parsedate_to_datetime(header)
        except (ValueError, OverflowError):
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None
