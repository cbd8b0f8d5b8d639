"""The app of the audit trail."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "common.audit"
    label = "audit"
    verbose_name = "Audit"

    def ready(self) -> None:
        from common.audit import trail  # noqa: F401 -- registers the receivers
