"""The Django application of search analytics."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AnalyticsConfig(AppConfig):
    name = "search.analytics"
    label = "analytics"
    verbose_name = _("Search analytics")
