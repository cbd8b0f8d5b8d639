"""Everyone at once: the same file, the same task, the same source, and a broker that is away."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from common.guarded import REDIS
from common.jobs import INTERACTIVE, enqueue, sweep, waiting
from ingestion import services
from ingestion.documents import steps
from ingestion.lexical import terms
from ingestion.models import Collection, Document, DocumentVersion, State
from kbsite.embedded import EmbeddedServers
from tests.faults.harness import (
    NOTE,
    assert_nothing_lost_or_doubled,
    finish_here,
    finished,
    in_state,
    in_threads,
    let_time_pass,
    wait_for,
    worker,
)
from tests.support.factories import make_collection, upload

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("clean_cache", "empty_queues", "short_leases"),
]


def test_uploads_while_the_broker_is_away_are_found_by_the_sweep(
    servers: EmbeddedServers,
) -> None:
    collection = make_collection()
    servers.valkey.stop()
    try:
        version = upload(collection, NOTE).version
        version.refresh_from_db()
        assert version.state == State.QUEUED
        assert version.enqueued_at is None
    finally:
        servers.start()
    while REDIS.is_open:  # it is left alone for some seconds after a failure
        time.sleep(0.1)
    let_time_pass()
    assert sweep(DocumentVersion) == 1
    assert waiting(INTERACTIVE) == 1
    finish_here()
    assert in_state(version, State.READY)()
    assert_nothing_lost_or_doubled(documents=1)


def test_the_same_file_and_the_same_task_ten_times_at_once() -> None:
    collection = make_collection()
    receipts = in_threads(lambda number: upload(collection, NOTE), 10, 10)
    assert sum(not receipt.duplicate for receipt in receipts) == 1  # type: ignore[attr-defined]
    version = DocumentVersion.objects.get()
    for _ in range(10):
        enqueue(DocumentVersion, version.pk)
    with worker():
        wait_for(finished)
        wait_for(lambda: not waiting(INTERACTIVE))
    version.refresh_from_db()
    assert (version.number, version.state) == (1, State.READY)
    assert_nothing_lost_or_doubled(documents=1)


def test_statistics_survive_four_workers_doing_anything() -> None:
    collection = make_collection()
    chance = random.Random(7)
    plans = [chance.sample(range(8), 8) for _ in range(4)]

    def act(number: int) -> None:
        for item in plans[number]:
            one_of_anything(collection, item, random.Random(number * 100 + item))

    in_threads(act, 4, 4)
    finish_here()
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
        held = Document.objects.filter(source=source)
        remove: Callable[..., int] = chance.choice([services.delete, services.purge])
        remove(held, acting_user=None)
    else:
        terms.fold()


def test_bytes_deleted_and_uploaded_again_at_once_keep_their_file() -> None:
    collection = make_collection()

    def act(number: int) -> None:
        if number % 2:
            services.purge(Document.objects.all(), acting_user=None)
        else:
            upload(collection, NOTE, file_name="same.md")

    for _ in range(5):
        in_threads(act, 6, 6)
        for version in DocumentVersion.objects.all():
            assert version.file.storage.exists(version.file.name)
    finish_here()
    assert_nothing_lost_or_doubled()


def test_a_lost_file_fails_with_words() -> None:
    version = upload(make_collection(), NOTE).version
    version.file.storage.delete(str(version.file.name))
    steps.advance(version.pk)
    version.refresh_from_db()
    assert version.state == State.FAILED
    assert "Upload it again" in version.error
