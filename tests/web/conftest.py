"""Fixtures of the web's tests."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient


@pytest.fixture
def api() -> APIClient:
    """A client of the API that nobody has signed in with."""
    return APIClient()
