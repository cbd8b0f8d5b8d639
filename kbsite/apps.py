"""The project's own application: commands and probes."""

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps

from kbsite.serving.memory import pause_collections, resume_collections

# Django loads this module among the first, and calls `ready` when all models are loaded.
pause_collections()


class TokensConfig(AppConfig):
    """django-rest-knox, under its name in the admin."""

    name = "knox"
    verbose_name = "API tokens"


class AdminConfig(admin_apps.AdminConfig):
    """Django's admin with our site."""

    default = False
    default_site = "kbsite.admin_site.SteelyardAdminSite"

    def ready(self) -> None:
        super().ready()
        from common.admin import people  # noqa: F401 -- registers people, groups and tokens


class SiteConfig(AppConfig):
    default = True
    name = "kbsite"

    def ready(self) -> None:
        from ingestion.parsing.system_calls import hide_process
        from kbsite.operations.probes import (  # noqa: F401 -- each registers its probes
            database,
            deployment,
            library,
            machine,
            parts,
            settings,
            system_checks,
            work,
        )

        # Every process of the site holds secrets, and a parser may run as the same user.
        hide_process()
        resume_collections()
