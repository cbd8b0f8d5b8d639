"""The apps of `common`: people with the custom user model, and the audit trail."""

from django.apps import AppConfig
from django.utils.translation import gettext

from common import UserError


class AccountsConfig(AppConfig):
    name = "common.accounts"
    label = "accounts"
    verbose_name = "People"

    def ready(self) -> None:
        from common.accounts import sign_on  # noqa: F401 -- registers the receivers

        UserError.translate = gettext


class AuditConfig(AppConfig):
    name = "common.audit"
    label = "audit"
    verbose_name = "Audit"

    def ready(self) -> None:
        from common.audit import trail  # noqa: F401 -- registers the receivers
