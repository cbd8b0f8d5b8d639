"""A site without a worker says so where files wait for one."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from common import heartbeat
from tests.support.admin_client import signed_in, staff

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]
PAGES = ("/admin/", "/admin/ingestion/document/add/")
LINE = "No worker has answered for 40 s: files are stored"


class Consumer:
    """A worker's consumer, with its timer."""

    def __init__(self) -> None:
        self.timer = self
        self.running: list[Any] = []

    def call_repeatedly(self, seconds: int, call: Any) -> Any:
        self.running.append((seconds, call))
        return self

    def cancel(self) -> None:
        self.running.pop()


@pytest.fixture
def desk() -> Client:
    return signed_in(staff("librarian", "add_document", "view_document", "view_collection"))


def test_pages_and_health_name_absent_workers(desk: Client) -> None:
    assert all(LINE in desk.get(page).content.decode() for page in PAGES)
    health = desk.get("/health/")
    assert (health.status_code, health.json()["workers"]) == (200, False)
    heartbeat.begin(Consumer())
    assert not any(LINE in desk.get(page).content.decode() for page in PAGES)
    assert desk.get("/health/").json()["workers"]
    cache.delete(heartbeat.KEY)  # as after its time
    assert LINE in desk.get(PAGES[0]).content.decode()


def test_a_worker_that_connects_again_has_one_timer() -> None:
    consumer = Consumer()
    heartbeat.begin(consumer)
    heartbeat.begin(consumer)
    ((seconds, beat),) = consumer.running
    assert seconds < heartbeat.PATIENCE / 2
    cache.delete(heartbeat.KEY)
    beat()
    assert heartbeat.answers()
