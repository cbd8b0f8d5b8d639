"""The part as a Django app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class QdrantPart(AppConfig):
    name = "search.parts.qdrant"
    verbose_name = _("Qdrant")

    def ready(self) -> None:
        from ingestion.events import reindexed
        from search import retrieval
        from search.parts.qdrant.retrieve import retrieve
        from search.parts.qdrant.syncing import record_change

        retrieval.register_backend("qdrant", retrieve)
        reindexed.connect(record_change)
