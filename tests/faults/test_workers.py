"""Faults while documents are ingested: killed workers, a dead broker, everyone at once.

On real Celery processes, Postgres and Valkey. After each: every document is ready or failed,
no chunk is doubled or orphaned, and the statistics equal a recount.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection

from ingestion import queueing, services, spaces, steps, sweeping, terms
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    Collection,
    Document,
    DocumentVersion,
    State,
    TermFrequency,
)
from kbsite.embedded import EmbeddedServers
from tests.factories import make_collection, make_document, upload
from tests.fake_openai import FakeOpenAI, status

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("clean_cache", "short_leases"),
]

ROOT = Path(__file__).resolve().parents[2]
LEASE_SECONDS = 2
LONG = "\n\n".join(
    f"## Part {number}\n\n" + " ".join(f"word{number}x{i} stands here." for i in range(60))
    for number in range(60)
)


@pytest.fixture
def short_leases(settings: object) -> None:
    settings.INGESTION_LEASE_SECONDS = LEASE_SECONDS  # type: ignore[attr-defined]


@contextmanager
def worker() -> Iterator[subprocess.Popen[bytes]]:
    """A Celery worker of two processes on the tests' database and broker."""
    database = connection.settings_dict
    environment = os.environ | {
        "DATABASE_URL": f"postgres://{database['USER']}@/{database['NAME']}"
        f"?host={quote(database['HOST'])}&port={database['PORT']}",
        "REDIS_URL": f"unix://{settings.EMBEDDED.redis_socket}",
        "INGESTION_LEASE_SECONDS": str(LEASE_SECONDS),
        "EMBEDDER_THREADS": "1",
    }
    command = [sys.executable, "-m", "celery", "-A", "kbsite", "worker", "-c", "2", "-l", "ERROR"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """`kill -9` of the worker and all its children at once."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_for(condition: Callable[[], bool], *, seconds: float, sweep: bool = False) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, list(
            DocumentVersion.objects.values_list("state", "progress", "error")
        )
        if sweep:
            # What beat does every few seconds.
            sweeping.sweep_unfinished()
        time.sleep(0.1)


def finished() -> bool:
    return not DocumentVersion.objects.exclude(
        state__in=[State.READY, State.FAILED, State.SUPERSEDED]
    ).exists()


def assert_nothing_lost_or_doubled() -> None:
    terms.fold()
    current = Document.objects.values("current")
    assert not Chunk.objects.exclude(version__in=current).exists()
    assert not Chunk.objects.filter(searchable=False).exists()
    for version in DocumentVersion.objects.filter(pk__in=current):
        assert version.chunks.count() == version.chunk_count
    assert ChunkEmbedding.objects.count() == Chunk.objects.count()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT lexeme, count(*) FROM ingestion_chunk,"
            " unnest(tsvector_to_array(lexemes)) lexeme WHERE searchable GROUP BY lexeme"
        )
        recount = dict(cursor.fetchall())
    assert dict(TermFrequency.objects.values_list("lexeme", "chunks")) == recount


def test_a_worker_killed_while_embedding_costs_time_only() -> None:
    receipt = upload(make_collection(), LONG, file_name="long.md")
    version = DocumentVersion.objects.filter(pk=receipt.version.pk)
    with worker() as first:
        queueing.enqueue(receipt.version.pk)
        wait_for(ChunkEmbedding.objects.exists, seconds=60)
        kill(first)
        kept = ChunkEmbedding.objects.count()
        assert kept > 0
        assert version.get().is_unfinished
    with worker():
        wait_for(finished, seconds=60, sweep=True)
    assert version.get().state == State.READY
    assert_nothing_lost_or_doubled()


def test_uploads_while_the_broker_is_away_are_found_by_the_sweep(
    servers: EmbeddedServers,
) -> None:
    collection = make_collection()
    servers.valkey.stop()
    try:
        receipt = upload(collection, "# Note\n\nWritten without a broker.")
        receipt.version.refresh_from_db()
        assert receipt.version.state == State.QUEUED
        assert receipt.version.enqueued_at is None
    finally:
        servers.start()
    DocumentVersion.objects.update(created="2020-01-01T00:00Z")
    with worker():
        wait_for(finished, seconds=40, sweep=True)
    assert Document.objects.get().current is not None
    assert_nothing_lost_or_doubled()


def in_threads(work: Callable[[int], object], count: int, threads: int) -> list[object]:
    def run(number: int) -> object:
        try:
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(count)))


def test_the_same_file_ten_times_at_once_is_one_document() -> None:
    collection = make_collection()
    receipts = in_threads(lambda number: upload(collection, "# One\n\nText."), 10, 10)
    assert Document.objects.count() == 1
    assert sum(not receipt.duplicate for receipt in receipts) == 1  # type: ignore[attr-defined]


def test_two_workers_given_the_same_version_do_it_once() -> None:
    receipt = upload(make_collection(), LONG[:4000], file_name="long.md")
    outcomes = in_threads(lambda number: steps.advance(receipt.version.pk), 4, 4)
    assert outcomes.count(True) == 1
    assert_nothing_lost_or_doubled()


def test_statistics_survive_four_workers_doing_anything() -> None:
    collection = make_collection()
    chance = random.Random(7)
    plans = [chance.sample(range(8), 8) for _ in range(4)]

    def act(number: int) -> None:
        for item in plans[number]:
            one_of_anything(collection, item, random.Random(number * 100 + item))

    in_threads(act, 4, 4)
    while not finished():
        for pk in DocumentVersion.objects.filter(finished=None).values_list("pk", flat=True):
            steps.advance(pk)
    assert_nothing_lost_or_doubled()


def one_of_anything(collection: Collection, item: int, chance: random.Random) -> None:
    """Adds, replaces, deletes or folds, on one of eight sources that all four workers share."""
    source = f"/shared/{item}"
    choice = chance.random()
    if choice < 0.65:
        words = " ".join(chance.choices(["alpha", "beta", "gamma", "delta", "omega"], k=20))
        receipt = upload(
            collection, f"# Note {chance.random()}\n\n{words}", source=source, file_name="n.md"
        )
        steps.advance(receipt.version.pk)
    elif choice < 0.85:
        services.delete(Document.objects.filter(source=source), acting_user=None)
    else:
        terms.fold()


def test_an_outage_of_the_model_waits_and_then_goes_on(settings: object) -> None:
    """A provider that is away postpones; it never fails a document or repeats a chunk."""
    with FakeOpenAI() as server:
        settings.EMBEDDER = "openai"  # type: ignore[attr-defined]
        settings.EMBEDDER_OPTIONS = {  # type: ignore[attr-defined]
            "openai": {"base_url": server.base_url, "api_key": "key", "model": "m", "attempts": 1}
        }
        spaces.forget_embedders()
        try:
            collection = make_collection()
            first = make_document(collection, "# A\n\nText one.", file_name="a.md")
            assert state_of(first) == State.READY
            server.then(status(503))
            second = make_document(collection, "# B\n\nText two.", file_name="b.md")
            assert state_of(second) == State.EMBEDDING
            assert second.latest is not None
            assert "Trying again" in second.latest.error
            DocumentVersion.objects.update(not_before=None)
            steps.advance(second.latest.pk)
            second.refresh_from_db()
            assert state_of(second) == State.READY
        finally:
            spaces.forget_embedders()
    assert_nothing_lost_or_doubled()


def state_of(document: Document) -> str:
    assert document.latest is not None
    return document.latest.state


def test_a_document_deleted_under_a_worker_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deletion in the middle of it all: between the last vector and the activation."""
    receipt = upload(make_collection(), "# Note\n\nShort.", file_name="n.md")
    activate = steps.activation.activate

    def delete_first(lease: object) -> None:
        services.delete([receipt.document], acting_user=None)
        activate(lease)  # type: ignore[arg-type]

    monkeypatch.setattr(steps.activation, "activate", delete_first)
    assert steps.advance(receipt.version.pk) is False
    assert Document.objects.count() == Chunk.objects.count() == 0
    assert_nothing_lost_or_doubled()


def test_bytes_deleted_and_uploaded_again_at_once_keep_their_file() -> None:
    collection = make_collection()

    def act(number: int) -> None:
        if number % 2:
            services.delete(Document.objects.all(), acting_user=None)
        else:
            upload(collection, "# Same\n\nBytes.", file_name="same.md")

    for _ in range(5):
        in_threads(act, 6, 6)
        for version in DocumentVersion.objects.all():
            assert version.file.storage.exists(version.file.name)


def test_a_lost_file_fails_with_words() -> None:
    receipt = upload(make_collection(), "# Note\n\nText.", file_name="n.md")
    receipt.version.file.storage.delete(str(receipt.version.file.name))
    steps.advance(receipt.version.pk)
    receipt.version.refresh_from_db()
    assert receipt.version.state == State.FAILED
    assert "Upload it again" in receipt.version.error
