"""The ingestion application."""

from django.apps import AppConfig
from django.db.models.signals import post_delete, post_migrate, post_save


class IngestionConfig(AppConfig):
    name = "ingestion"
    verbose_name = "Library"

    def ready(self) -> None:
        from ingestion.intake.importing.services import remove_with_row
        from ingestion.lexical.stamps import mark_saved
        from ingestion.lexical.textsearch import follow_settings

        post_delete.connect(remove_with_row, sender="ingestion.Import")
        post_save.connect(mark_saved, sender="ingestion.Document")
        post_migrate.connect(follow_settings, sender=self)
