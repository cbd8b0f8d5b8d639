"""Fixtures of the web's tests."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.models import Collection
from tests.support.admin_client import signed_in, staff
from tests.support.factories import make_collection
from tests.support.library import lasting_library


@pytest.fixture
def api() -> APIClient:
    """A client of the API that nobody has signed in with."""
    return APIClient()


@pytest.fixture
def desk(administrator: User) -> Client:
    """A browser that the administrator has signed in with."""
    return signed_in(administrator)


@pytest.fixture
def edit(api: APIClient) -> APIClient:
    """`api`, signed in by a user with every permission on documents, who is no superuser."""
    user = staff("editor", "add_document", "change_document", "delete_document", is_staff=False)
    api.force_authenticate(user)
    return api


@pytest.fixture
def one_day(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the module's TODAY, which was read before the tests began, perhaps yesterday."""
    monkeypatch.setattr(timezone, "localdate", lambda: request.module.TODAY)


@pytest.fixture
def handbook(db: None) -> Collection:
    return make_collection("Handbook")


@pytest.fixture
def shelf(db: None) -> Collection:
    return make_collection("Shelf")


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    """The documents of `tests.support.library` by a short name, made once for a module's tests."""
    with lasting_library(django_db_blocker) as filled:
        yield filled
