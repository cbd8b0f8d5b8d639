"""The search application: watches what configures a search, and installs what ships."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_delete, post_migrate, post_save, pre_delete


class SearchConfig(AppConfig):
    name = "search"

    def ready(self) -> None:
        from ingestion.spaces import changes
        from search.engine import configuration
        from search.exporting import attach_all
        from search.tuning.experiments import arms

        attach_all()
        configuration.register_experiments(arms.running)
        for model in configuration.WATCHED:
            post_save.connect(configuration.bump, sender=model)
            post_delete.connect(configuration.bump, sender=model)
        changes.remarks.append(configuration.calibration_remark)
        post_migrate.connect(_install, sender=self)
        pre_delete.connect(_forget_title, sender="ingestion.Document")


def _install(using: str, plan: list[Any] | None = None, **kwargs: Any) -> None:
    """Installs the groups, profiles, rules and patterns that are missing; changes none there is."""
    from search.presets import install
    from search.tuning.roles import install_groups

    undone = any(backwards for _, backwards in plan or ())
    if using == "default" and not undone:  # what ships fits the newest tables only
        install_groups()
        install()


def _forget_title(instance: Any, **_signal: Any) -> None:
    """Takes the title of a document that is removed for good out of what people judged of it."""
    from search.tuning.models import Judgement

    Judgement.objects.filter(reference=instance.public_id).exclude(title="").update(title="")
