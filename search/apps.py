"""The search application: registers signals and parts, and reloads the changed configuration."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_delete, post_save
from django.utils.translation import gettext_lazy as _


class QdrantConfig(AppConfig):
    """The part “qdrant”: its tables are there on every site."""

    name = "search.parts.qdrant"
    label = "qdrant"
    verbose_name = _("Qdrant")


class SearchConfig(AppConfig):
    default = True
    name = "search"

    def ready(self) -> None:
        from search import exporting
        from search.engine import configuration
        from search.parts import register_parts
        from search.signals import keyword, recency, registry, synonym, title, vector

        registry.register(
            keyword.KeywordSignal(),
            title.TitleSignal(),
            vector.VectorSignal(),
            recency.RecencySignal(),
            synonym.SynonymSignal(),
        )
        register_parts()
        exporting.attach_all()
        for model in configuration.WATCHED:
            post_save.connect(configuration.bump, sender=model)
            post_delete.connect(configuration.bump, sender=model)
