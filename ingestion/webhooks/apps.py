"""The Django application of webhooks: it listens to what happens in the library."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WebhooksConfig(AppConfig):
    name = "ingestion.webhooks"
    label = "webhooks"
    verbose_name = _("Webhooks")

    def ready(self) -> None:
        from ingestion.events import happened
        from ingestion.webhooks.sending import record_event

        happened.connect(record_event)
