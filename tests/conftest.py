"""Fixtures shared by all tests: embedded servers of their own, users, collections, documents."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from hypothesis import settings as hypothesis

from kbsite.embedded import EmbeddedServers

# How long an example takes is the machine's affair, and not what a test is about.
hypothesis.register_profile("untimed", deadline=None)
hypothesis.load_profile("untimed")


@pytest.fixture(scope="session")
def servers() -> EmbeddedServers:
    """The tests' own Postgres and Valkey, running."""
    embedded = EmbeddedServers(settings.VAR_DIR, durable=False)
    embedded.start()
    return embedded


@pytest.fixture(scope="session")
def django_db_modify_db_settings(servers: EmbeddedServers) -> None:
    """Before the test database is made, its server must answer."""


@pytest.fixture
def clean_cache(servers: EmbeddedServers) -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def reader(db: None) -> User:
    return User.objects.create_user("reader", password="pw-reader")


@pytest.fixture
def member(db: None) -> User:
    """A user in the group `insiders`."""
    user = User.objects.create_user("member", password="pw-member")
    user.groups.add(Group.objects.get_or_create(name="insiders")[0])
    return user


@pytest.fixture
def administrator(db: None) -> User:
    return User.objects.create_superuser("administrator", "a@example.org", "pw-administrator")
