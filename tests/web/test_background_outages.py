"""A site without a worker or an embedding model says so where files wait for it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from common import heartbeat
from ingestion.embedding.config import OpenAIConfig
from ingestion.embedding.openai import OpenAIEmbedder
from ingestion.errors import EmbeddingUnavailable
from ingestion.spaces.metered_embedder import MeteredEmbedder
from tests.support.admin_client import signed_in, staff
from tests.support.fake_openai import FakeOpenAI, ok, status

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
    def said() -> set[bool]:
        pages = (desk.get(page).content.decode() for page in PAGES)
        shown = {re.search(f'id="no-worker"( hidden)?><strong>\\s*{LINE}', page) for page in pages}
        polled = desk.get("/admin/ingestion/document/progress/").json()["worker"]
        return {not polled, *(each is not None and not each[1] for each in shown)}

    assert said() == {True}
    health = desk.get("/health/")
    assert (health.status_code, health.json()["workers"]) == (200, False)
    heartbeat.begin(Consumer())
    assert said() == {False}
    assert desk.get("/health/").json()["workers"]
    cache.delete(heartbeat.KEY)  # as after its time
    assert said() == {True}


def test_a_worker_that_connects_again_has_one_timer() -> None:
    consumer = Consumer()
    heartbeat.begin(consumer)
    heartbeat.begin(consumer)
    ((seconds, beat),) = consumer.running
    assert seconds < heartbeat.PATIENCE / 2
    cache.delete(heartbeat.KEY)
    beat()
    assert heartbeat.answers()


def test_pages_and_health_name_an_embedder_that_fails(desk: Client) -> None:
    waiting = "The embedding model does not answer"

    def said() -> set[bool]:
        health = desk.get("/health/")
        assert health.status_code == 200
        pages = {waiting in desk.get(page).content.decode() for page in PAGES}
        return pages | {not health.json()["embedder"]}

    with FakeOpenAI(ok(), status(503), status(503)) as server:
        config = OpenAIConfig("fake", "key", server.base_url, dimensions=8, attempts=1)
        worker, reader = (
            MeteredEmbedder(OpenAIEmbedder(config), "openai") for _ in ("worker", "web")
        )
        worker.embed_documents(["oil"])
        assert said() == {False}
        with pytest.raises(EmbeddingUnavailable):
            list(worker.embed_batches(["winch"]))
        assert said() == {True}
        with pytest.raises(EmbeddingUnavailable):
            worker.embed_query("anchor")
        assert said() == {True}
        reader.embed_query("rope", timeout=2)  # in another process than the failure
        assert said() == {False}
