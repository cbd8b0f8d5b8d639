"""Search reports for administrators: figures by day, open gaps.

Figures count all searches, since they reveal no question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext

from common.admin.charts import bars, line
from ingestion.models.visibility import Viewer
from search.analytics import gap_queue

# The ranks among which a searcher opened a result.
RANKS = (1, 3, 10)
# A rate of nothing is NULL.
FIGURES = """
SELECT grouping(day), day, count(*), avg((total = 0)::int)::float8, avg(unsure::int)::float8,
       ARRAY[avg((click <= 1)::int) FILTER (WHERE clickable),
             avg((click <= 3)::int) FILTER (WHERE clickable),
             avg((click <= 10)::int) FILTER (WHERE clickable)]::float8[],
       percentile_cont(ARRAY[.5, .95]) WITHIN GROUP (ORDER BY milliseconds)
FROM (
    SELECT (at AT TIME ZONE %(zone)s)::date AS day, total, unsure, milliseconds,
           coalesce(best_click, 1000) AS click, total > 0 AND channel = 'page' AS clickable
    FROM analytics_searchevent
    WHERE at >= %(since)s AND page = 1 AND follows_id IS NULL
) AS searches
GROUP BY GROUPING SETS ((day), ())
ORDER BY 1 DESC, 2
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """The number of a set of searches, and the shares of those without results and of the unsure.

    `opened`: of searches on the search page that had results, the shares whose visitor opened one
    of the first RANKS. A share of nothing is None. `times` are the median and the 95th percentile.
    """

    searches: int = 0
    zero_rate: float | None = None
    unsure_rate: float | None = None
    opened: Sequence[float | None] = (None,) * len(RANKS)
    times: Sequence[float | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Period:
    """The figures of the days from `since` to today, by day (with the idle ones) and in all."""

    since: date
    days: dict[date, Figures] = field(default_factory=dict)
    whole: Figures = field(default_factory=Figures)


def figures(*, days: int = 30) -> Period:
    """The figures of the last `days` days, in one query."""
    today = timezone.localdate()
    first = today - timedelta(days=days - 1)
    midnight = timezone.make_aware(datetime.combine(first, datetime.min.time()))
    zone = timezone.get_current_timezone_name()
    with connection.cursor() as cursor:
        cursor.execute(FIGURES, {"since": midnight, "zone": zone})
        rows = cursor.fetchall()
    # Of all days, whose row comes first, the day is NULL.
    by_day = {
        day: Figures(searches, zero, unsure, opened, times or (None, None))
        for _all, day, searches, zero, unsure, opened, times in rows
    }
    every = (first + timedelta(days=number) for number in range(days))
    return Period(first, {day: by_day.get(day, Figures()) for day in every}, by_day[None])


# The periods that the front page offers, in days.
RANGES = (7, 30, 90, 365)
DAYS = 30
TOP_GAPS = 5


def days_of(text: str) -> int:
    """The chosen period in days; DAYS for anything that is not offered."""
    return int(text) if text in map(str, RANGES) else DAYS


def searching(length: int = DAYS) -> dict[str, Any]:
    """The search figures of the last `length` days with their charts; one query."""
    period = figures(days=length)
    whole, days = period.whole, period.days.items()
    return {
        "days": length,
        "since": period.since,
        "searches": whole.searches,
        "per_day": whole.searches / length,
        "figures": [
            (gettext("No results"), _percent(whole.zero_rate), gettext("of searches")),
            (gettext("Low confidence"), _percent(whole.unsure_rate), gettext("of searches")),
            (gettext("Median time"), _ms(whole.times[0]), gettext("per search")),
            (gettext("95th percentile"), _ms(whole.times[1]), gettext("of search times")),
            *(
                (
                    gettext("Opened in the first %(count)d") % {"count": place}
                    if place > 1
                    else gettext("Opened the first"),
                    _percent(rate),
                    gettext("of searches with results"),
                )
                for place, rate in zip(RANKS, whole.opened, strict=True)
            ),
        ],
        "charts": [
            bars(gettext("Searches per day"), [(day, each.searches) for day, each in days]),
            line(
                gettext("No results, %"),
                [(day, _hundredths(each.zero_rate)) for day, each in days],
                "{:.1f}",
                from_zero=True,
            ),
            line(
                gettext("Low confidence, %"),
                [(day, _hundredths(each.unsure_rate)) for day, each in days],
                "{:.1f}",
                from_zero=True,
            ),
            line(
                gettext("95th percentile, ms"),
                [(day, each.times[1]) for day, each in days],
                "{:.0f}",
                from_zero=True,
            ),
        ],
    }


def open_gaps(viewer: Viewer) -> dict[str, Any]:
    """The number of open gaps that cost, and the costliest of them; four queries."""
    costliest = gap_queue.summaries(viewer, limit=TOP_GAPS)
    return {
        "count": gap_queue.costly_count(viewer),
        "costliest": [gap for gap in costliest if not gap.is_probably_fine],
    }


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _hundredths(share: float | None) -> float | None:
    return None if share is None else share * 100


def _ms(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds:.0f} ms"
