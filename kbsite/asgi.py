"""The ASGI application."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")

from kbsite.servers import ensure_servers  # noqa: E402  # needs the settings module named above

ensure_servers()
application = get_asgi_application()
