"""The app with the custom user model."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "common.accounts"
    label = "accounts"
    verbose_name = "People"

    def ready(self) -> None:
        from common.accounts import sign_on  # noqa: F401 -- registers the receivers
