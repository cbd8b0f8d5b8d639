"""The search application: registers signals and parts, and reloads the changed configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.db.models.signals import post_delete, post_save

if TYPE_CHECKING:
    from search.reranking import Reranker, RerankerConfig


class SearchConfig(AppConfig):
    name = "search"

    def ready(self) -> None:
        from ingestion.spaces import changes
        from search.engine import configuration
        from search.exporting import rows
        from search.parts import register_parts
        from search.reranking import Kind, register
        from search.signals import keyword, recency, registry, synonym, title, vector

        registry.register(
            keyword.KeywordSignal(),
            title.TitleSignal(),
            vector.VectorSignal(),
            recency.RecencySignal(),
            synonym.SynonymSignal(),
        )
        register_parts()
        rows.attach_all()
        register(Kind.OPENAI, _listwise)
        for model in configuration.WATCHED:
            post_save.connect(configuration.bump, sender=model)
            post_delete.connect(configuration.bump, sender=model)
        changes.remarks.append(configuration.calibration_remark)


def _listwise(config: RerankerConfig) -> Reranker:
    # Imported when it is needed: the openai package takes most of a second.
    from search.answers.listwise import ListwiseReranker

    return ListwiseReranker(config)
