"""The applications of the site and of `common`, and the settings of Python's garbage collector.

A search makes thousands of short-lived objects and hardly any cycles. With Python's own settings
the collector looks through all that was imported again and again (160,000 objects, 0.1 s each
time) and finds nothing: a quarter of a web process's processor time, and a seventh of every
process' start.
"""

from __future__ import annotations

import gc

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps
from django.utils.translation import gettext

from common import UserError

# Container objects made and not yet freed, beyond which Python looks for cycles among the young
# ones; its default is 700. A guess: a higher one lets more cycles wait for their collection. A
# measurement of web requests at 100,000 (with their model loaded) found 23% less processor time.
YOUNG_OBJECTS = 50_000
# Collections of the younger generation before the next one is looked through: Python's defaults.
OLDER = 10

_paused = False


def pause_collections() -> None:
    """Disable garbage collection until `resume_collections`, while a process loads its modules."""
    global _paused
    _paused = gc.isenabled()
    gc.disable()


def resume_collections() -> None:
    """Enable garbage collection if it was paused, and exempt all present objects from it."""
    if _paused:
        gc.freeze()
        gc.enable()


def spare_collections() -> None:
    """Exempt all present objects from garbage collection, and collect the new ones less often.

    For a process that has loaded its views and models, once: what is garbage by now is freed
    first. Reference counts free almost all objects as before; only cycles wait.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, OLDER, OLDER)


# Django loads this module among the first, and calls `ready` when all models are loaded.
pause_collections()


class AccountsConfig(AppConfig):
    name = "common.accounts"
    label = "accounts"
    verbose_name = "People"

    def ready(self) -> None:

        UserError.translate = gettext


class AuditConfig(AppConfig):
    name = "common.audit"
    label = "audit"
    verbose_name = "Audit"

    def ready(self) -> None:
        from common.audit import trail  # noqa: F401 -- registers the receivers


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
        from common.admin import audit, credentials, people  # noqa: F401 -- register their models
        from kbsite import oauth_clients  # noqa: F401 -- registers apps


class SiteConfig(AppConfig):
    default = True
    name = "kbsite"

    def ready(self) -> None:
        from ingestion.parsing.child.system_calls import hide_process
        from kbsite.operations.probes import (  # noqa: F401 -- each registers its probes
            database,
            machine,
            services,
            settings,
        )

        # Every process of the site holds secrets, and a parser may run as the same user.
        hide_process()
        resume_collections()
