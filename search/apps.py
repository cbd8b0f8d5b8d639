"""The search application: reloads the configuration when a row of it changes; exports pins."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_delete, post_save


class SearchConfig(AppConfig):
    name = "search"

    def ready(self) -> None:
        from ingestion.exporting.format import attach
        from ingestion.spaces import changes
        from search.engine import configuration
        from search.exporting import Pins

        attach(Pins())
        for model in configuration.WATCHED:
            post_save.connect(configuration.bump, sender=model)
            post_delete.connect(configuration.bump, sender=model)
        changes.remarks.append(configuration.calibration_remark)
