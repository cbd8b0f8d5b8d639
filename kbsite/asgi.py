"""The ASGI application: pages, API and streams by Django, agents (MCP) beside it."""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
# Seconds, with time left to answer 503 within two.
os.environ.setdefault("SERVER_PATIENCE", "1.5")

from kbsite.servers import ensure_servers
from kbsite.serving.admission import Admission  # after the settings module is named
from kbsite.serving.dispatch import Pages, Site


def _application() -> Site:
    from django.conf import settings

    from kbsite.operations.monitoring.traces import begin
    from search.mcp import agents_app, is_for_agents  # after the setup: it imports models

    begin("web")
    threads = settings.WEB_THREADS
    admission = Admission(threads, patience=settings.WEB_PATIENCE)
    pages, agents = Pages(admission), agents_app()
    return Site(pages, agents, is_for_agents=is_for_agents, threads=threads, admission=admission)


ensure_servers()
django.setup(set_prefix=False)
application = _application()
