"""The applications of the library and of its webhooks, which listen to what happens in it."""

from django.apps import AppConfig
from django.db.models.signals import post_delete
from django.utils.translation import gettext_lazy as _


class IngestionConfig(AppConfig):
    default = True
    name = "ingestion"
    verbose_name = _("Library")

    def ready(self) -> None:
        from ingestion.intake.imports import remove_with_row

        post_delete.connect(remove_with_row, sender="ingestion.Import")


class WebhooksConfig(AppConfig):
    name = "ingestion.webhooks"
    label = "webhooks"
    verbose_name = _("Webhooks")

    def ready(self) -> None:
        from ingestion.events import happened
        from ingestion.webhooks.sending import record_event

        happened.connect(record_event)
