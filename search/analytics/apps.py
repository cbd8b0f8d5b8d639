"""The Django application of search analytics."""

from django.apps import AppConfig


class AnalyticsConfig(AppConfig):
    name = "search.analytics"
    label = "analytics"
    verbose_name = "Search analytics"
