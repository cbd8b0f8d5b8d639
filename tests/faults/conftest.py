"""Fixtures of the tests that kill."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from celery import current_app
from django.conf import settings as django_settings

from kbsite.embedded import EmbeddedServers
from tests.faults.harness import LEASE_SECONDS, close_forks


@pytest.fixture(scope="session", autouse=True)
def _forks_end() -> Iterator[None]:
    yield
    close_forks()


@pytest.fixture
def short_leases(settings: object) -> None:
    """What a dead worker held is free again within seconds."""
    settings.INGESTION_LEASE_SECONDS = LEASE_SECONDS  # type: ignore[attr-defined]


@pytest.fixture
def empty_queues(servers: EmbeddedServers) -> None:
    """A worker finds no messages but the test's own."""
    with current_app.connection_for_write() as broker:
        for queue in django_settings.CELERY_TASK_QUEUES:
            broker.default_channel.queue_purge(queue.name)
