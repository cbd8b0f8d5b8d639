"""What the front page shows of searches and of the nights: figures, charts, what is open."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from common.admin.charts import bars, line
from ingestion.models import EmbeddingSpace
from ingestion.models.library import Viewer
from search.analytics import gaps, reporting
from search.tuning.models import Alert, Night, ProfileChange
from search.tuning.quality import nightly

DAYS = 30
GAPS_SHOWN = 5
# In words a person would use; each with how it is written.
Actions = ProfileChange.Action
PUBLISHING = (Actions.PUBLISHED, Actions.OVERRIDDEN, Actions.ROLLED_BACK)


def searching() -> dict[str, Any]:
    """The figures of the last DAYS days and their charts, in one query."""
    period = reporting.figures(days=DAYS)
    whole, days = period.whole, period.days.items()
    return {
        "days": DAYS,
        "since": period.since,
        "searches": whole.searches,
        "per_day": whole.searches / DAYS,
        "figures": [
            ("Nothing found", _percent(whole.zero_rate), "of searches"),
            ("Low confidence", _percent(whole.unsure_rate), "of searches"),
            ("Median time", _ms(whole.p50_ms), "a search"),
            ("95th percentile", _ms(whole.p95_ms), "of search times"),
            *(
                (f"Opened in the first {place}" if place > 1 else "Opened the first",
                 _percent(rate), "of searches that found something")
                for place, rate in whole.click_rates.items()
            ),
        ],
        "charts": [
            bars("Searches a day", [(day, each.searches) for day, each in days]),
            line("Nothing found, %", [(day, _hundredths(each.zero_rate)) for day, each in days],
                 "{:.1f}"),
            line("Low confidence, %", [(day, _hundredths(each.unsure_rate)) for day, each in days],
                 "{:.1f}"),
            line("95th percentile, ms", [(day, each.p95_ms) for day, each in days], "{:.0f}"),
        ],
    }  # fmt: skip


def open_gaps(viewer: Viewer) -> dict[str, Any]:
    """How many gaps are open, and the costliest; four queries."""
    return {
        "count": gaps.open_count(viewer),
        "costliest": gaps.standing(viewer, limit=GAPS_SHOWN),
    }


def quality() -> dict[str, Any]:
    """The golden set over the nights, the last publication, the spaces; five queries at most."""
    measure = nightly.leading_measure()
    since = timezone.localdate() - timedelta(days=DAYS - 1)
    rows = {
        night.date: night
        for night in Night.objects.filter(date__gte=since).select_related("run__profile")
    }
    dates = [since + timedelta(days=number) for number in range(DAYS)]
    values = [
        (date, rows[date].run.measures.get(measure) if date in rows else None) for date in dates
    ]
    published = ProfileChange.objects.filter(action__in=PUBLISHING)
    return {
        "measure": measure,
        "last_night": max(rows.values(), key=lambda night: night.date, default=None),
        "chart": line(f"{measure} of the golden queries", values) if rows else None,
        "alert": Alert.objects.filter(created__date__gte=since).first(),
        "published": published.select_related("profile", "user").first(),
        "spaces": EmbeddingSpace.objects.filter(
            state__in=(EmbeddingSpace.State.ACTIVE, EmbeddingSpace.State.BUILDING)
        ).order_by("state"),
    }


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _hundredths(share: float | None) -> float | None:
    return None if share is None else share * 100


def _ms(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds:.0f} ms"
