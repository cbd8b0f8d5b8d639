"""The WSGI application."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
# Seconds, with time left to answer 503 within two.
os.environ.setdefault("SERVER_PATIENCE", "1.5")

from kbsite.operations.monitoring.traces import begin
from kbsite.servers import ensure_servers  # after the settings module is named

ensure_servers()
application = get_wsgi_application()
begin("web")
