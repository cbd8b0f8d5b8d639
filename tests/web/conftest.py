"""Fixtures of the web's tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient


@pytest.fixture(autouse=True)
def static_files_as_they_lie(settings: Any) -> None:
    """Addresses of static files without the manifest that `collectstatic` writes on a server."""
    Path(settings.STATIC_ROOT).mkdir(exist_ok=True)
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}


@pytest.fixture
def api() -> APIClient:
    """A client of the API that nobody has signed in with."""
    return APIClient()
