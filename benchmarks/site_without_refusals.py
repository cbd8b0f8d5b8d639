"""The site without refusals: each request waits for its turn. For measurements and tests."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")

from django.conf import settings

settings.WEB_PATIENCE = float("inf")

from kbsite.asgi import application  # noqa: E402  # after the setting

__all__ = ["application"]
