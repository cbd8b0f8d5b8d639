"""The project's own application: commands and checks."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "kbsite"
