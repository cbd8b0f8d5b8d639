"""The Django application of search analytics."""

from typing import Any

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AnalyticsConfig(AppConfig):
    name = "search.analytics"
    label = "analytics"
    verbose_name = _("Search analytics")

    def ready(self) -> None:
        from common.audit import trail
        from search.analytics.models import GapStep

        trail.register(GapStep, _entry)


def _entry(step: Any) -> dict[str, Any]:
    """A step of a search gap as an entry of the audit trail: without the question of a reader."""
    return {"kind": f"gap_{step.kind}", "subject": f"gap {step.gap_id}", "details": {}}
