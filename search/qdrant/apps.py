"""The Django application of the engine: it listens to what becomes searchable."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class QdrantConfig(AppConfig):
    name = "search.qdrant"
    label = "qdrant"
    verbose_name = _("Qdrant")

    def ready(self) -> None:
        from ingestion.events import reindexed
        from search.qdrant.recording import record_change

        reindexed.connect(record_change)
