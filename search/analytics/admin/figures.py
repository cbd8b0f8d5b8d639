"""Search figures, charts and open gaps on the admin's front page."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

from common.admin.charts import bars, line
from ingestion.models.library import Viewer
from search.analytics import gaps, reporting

# The periods that the front page offers, in days.
RANGES = (7, 30, 90, 365)
DAYS = 30
GAPS_SHOWN = 5


def days_of(text: str) -> int:
    """The chosen period in days; DAYS for anything that is not offered."""
    return int(text) if text in map(str, RANGES) else DAYS


def searching(length: int = DAYS) -> dict[str, Any]:
    """The search figures of the last `length` days with their charts; one query."""
    period = reporting.figures(days=length)
    whole, days = period.whole, period.days.items()
    return {
        "days": length,
        "since": period.since,
        "searches": whole.searches,
        "per_day": whole.searches / length,
        "figures": [
            (gettext("No results"), _percent(whole.zero_rate), gettext("of searches")),
            (gettext("Low confidence"), _percent(whole.unsure_rate), gettext("of searches")),
            (gettext("Median time"), _ms(whole.p50_ms), gettext("per search")),
            (gettext("95th percentile"), _ms(whole.p95_ms), gettext("of search times")),
            *(
                (
                    gettext("Opened in the first %(count)d") % {"count": place}
                    if place > 1
                    else gettext("Opened the first"),
                    _percent(rate),
                    gettext("of searches with results"),
                )
                for place, rate in whole.click_rates.items()
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
                [(day, each.p95_ms) for day, each in days],
                "{:.0f}",
                from_zero=True,
            ),
        ],
    }


def open_gaps(viewer: Viewer) -> dict[str, Any]:
    """The number of open gaps, and the costliest of them; four queries."""
    return {
        "count": gaps.open_count(viewer),
        "costliest": gaps.summaries(viewer, limit=GAPS_SHOWN),
    }


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _hundredths(share: float | None) -> float | None:
    return None if share is None else share * 100


def _ms(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds:.0f} ms"
