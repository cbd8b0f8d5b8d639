"""Everyone at once, a broker that is away, and new code without an interruption."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial

import psutil
import pytest
from django.core.cache import cache
from redis import Redis

from common import heartbeat
from common.circuit_breaker import REDIS
from common.jobs import INTERACTIVE, enqueue, sweep, waiting
from ingestion import services
from ingestion.documents import processing_steps
from ingestion.lexical import bm25_weights
from ingestion.models import Collection, Document, DocumentVersion, State
from kbsite.embedded import EmbeddedServers
from tests.faults.harness import (
    LONG,
    NOTE,
    ROOT,
    assert_nothing_lost_or_doubled,
    environment,
    finish_here,
    finished,
    in_state,
    in_threads,
    let_time_pass,
    wait_for,
    worker,
)
from tests.support.factories import make_collection, make_document, upload
from tests.support.library import CONNECTIONS

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("clean_cache", "empty_queues", "short_leases"),
]


def test_sweep_finds_uploads_made_without_a_broker(servers: EmbeddedServers) -> None:
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
        processing_steps.advance(receipt.version.pk)
    elif choice < 0.85:
        held = Document.objects.filter(source=source)
        remove: Callable[..., int] = chance.choice(
            [partial(services.delete, acting_user=None), services.purge]
        )
        remove(held)
    else:
        bm25_weights.fold()


def test_bytes_deleted_and_uploaded_again_at_once_keep_their_file() -> None:
    collection = make_collection()

    def act(number: int) -> None:
        if number % 2:
            services.purge(Document.objects.all())
        else:
            upload(collection, NOTE, file_name="same.md")

    for _ in range(5):
        in_threads(act, 6, 6)
        for version in DocumentVersion.objects.all():
            assert version.file.storage.exists(version.file.name)
    finish_here()
    assert_nothing_lost_or_doubled()


def test_lost_file_fails_its_document_with_a_reason() -> None:
    version = upload(make_collection(), NOTE).version
    version.file.storage.delete(str(version.file.name))
    processing_steps.advance(version.pk)
    version.refresh_from_db()
    assert version.state == State.FAILED
    assert "Upload it again" in version.error


# --- New code without an interruption: processes finish what they have, and others take over -----


READERS = 3


@contextmanager
def web_server() -> Iterator[tuple[psutil.Process, str]]:
    """The site as it runs in production, with its own time to finish requests."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gunicorn", "--config", "python:kbsite.gunicorn"),
                *("--bind", f"fd://{listener.fileno()}", "--workers", "1"),
                "benchmarks.site_without_refusals:application",
            ],
            cwd=ROOT,
            # However slow the machine of the tests: what is asked here is what a restart refuses.
            env=environment(DATABASE_POOL="4"),
            pass_fds=(listener.fileno(),),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield psutil.Process(process.pid), f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            # The master first: else it would start new processes.
            process.kill()
            with suppress(psutil.NoSuchProcess):
                for child in psutil.Process(process.pid).children():
                    child.kill()
            process.wait()


def outcome(address: str) -> str:
    """The status of a request, or what became of it."""
    try:
        with urllib.request.urlopen(address, timeout=60) as reply:
            reply.read()
            return str(reply.status)
    except urllib.error.HTTPError as error:
        return str(error.code)
    except OSError as error:
        return repr(error)


def test_readers_notice_nothing_when_the_web_server_gets_new_code() -> None:
    """`systemctl reload` sends SIGHUP: the old process answers what it has, then ends."""
    make_document(make_collection(), CONNECTIONS, title="Connections")
    done = threading.Event()
    outcomes: list[str] = []
    with web_server() as (master, base):
        address = f"{base}/api/v1/search/?q=connection+timeout"
        assert outcome(address) == "200"
        before = {child.pid for child in master.children()}

        def read() -> None:
            while not done.is_set():
                outcomes.append(outcome(address))

        with ThreadPoolExecutor(READERS) as readers:
            for _ in range(READERS):
                readers.submit(read)
            try:
                wait_for(lambda: len(outcomes) >= 10)
                master.send_signal(signal.SIGHUP)
                wait_for(lambda: not before & {child.pid for child in master.children()})
                served = len(outcomes)
                wait_for(lambda: len(outcomes) >= served + 10)
            finally:
                done.set()
    assert set(outcomes) == {"200"}
    assert len(outcomes) >= 20


def test_stopped_worker_finishes_its_document_and_the_next_takes_the_rest() -> None:
    """`systemctl restart` sends SIGTERM to the worker's first process, and waits."""
    collection = make_collection()
    with worker(1) as old:
        versions = [
            upload(collection, f"# Paper {number}\n\n{text}", file_name=f"{number}.md").version
            for number, text in enumerate((LONG, NOTE, NOTE))
        ]
        rows = DocumentVersion.objects.filter(pk__in=[version.pk for version in versions])
        under_way = rows.exclude(state__in=[State.QUEUED, State.READY])
        held: set[object] = set()
        wait_for(lambda: held.update(under_way.values_list("pk", flat=True)) or held, sweeping=True)
        with Redis.from_url(environment()["REDIS_URL"]) as cached:
            assert cached.exists(cache.make_key(heartbeat.KEY))
        os.kill(old.pid, signal.SIGTERM)
        wait_for(lambda: old.poll() is not None)
    finished = rows.filter(pk__in=held).values_list("state", flat=True)
    assert set(finished) == {State.READY}
    with worker(1):
        wait_for(lambda: set(rows.values_list("state", flat=True)) == {State.READY}, sweeping=True)
