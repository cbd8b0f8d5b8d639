"""The project's own application: commands and checks."""

from django.apps import AppConfig


class TokensConfig(AppConfig):
    """django-rest-knox, under its name in the admin."""

    name = "knox"
    verbose_name = "API tokens"


class SiteConfig(AppConfig):
    default = True
    name = "kbsite"

    def ready(self) -> None:
        from kbsite import checks  # noqa: F401 -- registers the checks
