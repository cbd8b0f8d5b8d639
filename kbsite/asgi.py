"""The ASGI application."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")

from kbsite.servers import ensure_servers  # after the settings module is named

ensure_servers()
application = get_asgi_application()
