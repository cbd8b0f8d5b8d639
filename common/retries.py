"""The pauses between attempts at a call that failed."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# Between a job's attempts: a provider's outage lasts minutes, not milliseconds (a guess).
BASE, LONGEST = timedelta(seconds=5), timedelta(minutes=10)
LONGEST_WAIT = 3600.0  # seconds of a Retry-After; longer ones are cut to this (a guess)


def pause(attempts: int, wait: float | None = None, *, longest: timedelta = LONGEST) -> timedelta:
    """The pause after `attempts` attempts: 5 seconds, doubling up to `longest`.

    At least `wait`, the seconds of a Retry-After header, up to an hour.
    """
    doubled: timedelta = min(BASE * 2 ** min(attempts, 10), longest)
    return max(doubled, timedelta(seconds=min(wait or 0.0, LONGEST_WAIT)))


def retry_after(header: str | None) -> float | None:
    """The seconds in a Retry-After header, given as a number or a date (RFC 9110, 10.2.3).

    0 for a date in the past; None for a missing or invalid header.
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
