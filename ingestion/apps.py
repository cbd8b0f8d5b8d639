"""The ingestion application."""

from django.apps import AppConfig
from django.db.models.signals import post_delete


class IngestionConfig(AppConfig):
    name = "ingestion"
    verbose_name = "Library"

    def ready(self) -> None:
        from ingestion.intake.importing.services import remove_with_row

        post_delete.connect(remove_with_row, sender="ingestion.Import")
