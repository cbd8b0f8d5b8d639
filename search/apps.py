"""The search application: watches what configures a search, and installs what ships."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_delete, post_migrate, post_save


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
        post_migrate.connect(_install, sender=self)


def _install(using: str, plan: list[Any] | None = None, **kwargs: Any) -> None:
    """Install the profiles, rules and patterns that are missing; what exists stays as it is."""
    from search.presets import install

    undone = any(backwards for _, backwards in plan or ())
    if using == "default" and not undone:  # what ships fits the newest tables only
        install()
