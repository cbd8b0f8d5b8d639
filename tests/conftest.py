"""Fixtures shared by all tests: embedded servers of their own, users, collections, documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from celery import current_app
from django.conf import settings
from django.contrib.auth.models import Group
from django.core.cache import cache
from django.db import connection
from django.test import TransactionTestCase
from django.utils import translation

from common import circuit_breaker
from common.accounts.models import User
from ingestion.documents import progress
from ingestion.models import Document
from ingestion.spaces import configuring
from kbsite.embedded import EmbeddedServers
from kbsite.operations import endpoints
from search.engine import embed
from search.presentation import marking, rectangles
from search.retrieval import statement
from search.retrieval.prepared import Shapes
from search.tuning.evaluation import golden_set
from tests.support.database import FirstRows, dump_database, restore_database
from tests.support.golden_library import judge_all, lasting_documents
from tests.support.laws import load_profiles

load_profiles()


@pytest.fixture(scope="session")
def servers() -> EmbeddedServers:
    """The tests' own Postgres and Valkey, running."""
    embedded = EmbeddedServers(settings.VAR_DIR, durable=False)
    embedded.start()
    return embedded


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """The database goes with its server, at the end."""
    return True


@pytest.fixture(scope="session")
def django_db_modify_db_settings(servers: EmbeddedServers) -> None:
    """Before the test database is made, its server must answer."""
    restore_database(connection.creation._get_test_db_name())


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The test database; after a test that commits, its first rows instead of a flush."""
    with django_db_blocker.unblock():
        dump_database()
        rows = FirstRows.of_database()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda test_case: rows.restore())
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_hurry() -> Iterator[None]:
    """A busy machine leaves nothing out of a response, which readers are not made to wait for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marking, "SECONDS", 60.0)
        patch.setattr(rectangles, "SECONDS", 60.0)
        patch.setattr(endpoints, "PATIENCE", 60.0)
        yield


@pytest.fixture(autouse=True)
def _reset_process() -> None:
    """A test that breaks Redis or a model, or reads German, leaves nothing to the next one."""
    circuit_breaker.REDIS.reset()
    embed._breakers.clear()
    translation.deactivate()


@pytest.fixture
def statements_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every statement is compiled anew: the test changes constants of its text."""
    monkeypatch.setattr(statement, "_shapes", Shapes(0))


@pytest.fixture
def clean_cache(servers: EmbeddedServers) -> Iterator[None]:
    cache.clear()
    for loaded in configuring._loaded.values():
        loaded.questions._memory.clear()  # the vectors of questions in the process
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


@pytest.fixture(scope="module")
def harbour(django_db_setup: None, django_db_blocker: Any) -> Iterator[dict[str, Document]]:
    """The documents of `golden_library` by a short name, made once for a module's tests."""
    with lasting_documents(django_db_blocker) as documents:
        yield documents


@pytest.fixture
def documents(harbour: dict[str, Document], db: None, administrator: User) -> dict[str, Document]:
    """Those of `harbour`, judged by the administrator."""
    judge_all(harbour, administrator)
    return harbour


@pytest.fixture
def one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Profiles take their turns once: more rounds only make latencies surer."""
    monkeypatch.setattr(golden_set, "LATENCY_ROUNDS", 1)


@pytest.fixture
def no_worker(servers: EmbeddedServers, monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker runs: the commands need not wait a second for the answer of one."""
    monkeypatch.setattr(current_app.control, "ping", lambda **_: [])
    monkeypatch.setattr(progress, "LOOK_SECONDS", 0.05)
