"""The project's own application: commands and checks."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "kbsite"

    def ready(self) -> None:
        from kbsite import checks  # noqa: F401 -- registers them
