"""The ASGI application: pages, API and streams by Django, agents (MCP) beside it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")

from kbsite import servers  # after the settings module is named

if TYPE_CHECKING:
    from kbsite.serving.dispatch import Site

servers.patience = servers.READERS_PATIENCE


def _application() -> Site:
    # After the setup: they import models.
    from django.conf import settings

    from kbsite.operations.monitoring.instrumentation import begin_process
    from kbsite.serving.admission import Admission
    from kbsite.serving.dispatch import Pages, Site
    from search.mcp.gate import agents_app, is_for_agents

    begin_process("web")
    threads = settings.WEB_THREADS
    admission = Admission(threads, patience=settings.WEB_PATIENCE)
    pages, agents = Pages(admission), agents_app()
    return Site(pages, agents, is_for_agents=is_for_agents, threads=threads, admission=admission)


servers.ensure_servers()
django.setup(set_prefix=False)
application = _application()
