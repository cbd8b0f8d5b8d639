"""The part as a Django app."""

from django.apps import AppConfig


class RerankerPart(AppConfig):
    name = "search.parts.reranker"

    def ready(self) -> None:
        from search.engine.reranker import register_reranker
        from search.parts.reranker.guarded import current

        register_reranker(current)
