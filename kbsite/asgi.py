"""The ASGI application: pages, API and streams by Django, agents (MCP) beside it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")

from common import database  # after the settings module is named
from kbsite.embedded import ensure_servers

if TYPE_CHECKING:
    from kbsite.serving.dispatch import Site

database.patience = database.READERS_PATIENCE


def _application() -> Site:
    # After the setup: they import models.
    from django.conf import settings

    from kbsite.serving.admission import Admission
    from kbsite.serving.dispatch import Pages, Site
    from search.mcp import Gate, is_for_agents

    threads = settings.WEB_THREADS
    admission = Admission(threads, patience=settings.WEB_PATIENCE)
    pages, agents = Pages(admission), Gate()
    return Site(pages, agents, is_for_agents=is_for_agents, threads=threads, admission=admission)


ensure_servers()
django.setup(set_prefix=False)
application = _application()
