"""The Django application of backups."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class BackupsConfig(AppConfig):
    name = "kbsite.backups"
    label = "backups"
    verbose_name = _("Backups")

    def ready(self) -> None:
        from kbsite.backups import checks  # noqa: F401 -- registers the checks
