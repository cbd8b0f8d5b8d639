"""New code without an interruption: processes finish what they have, and others take over."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psutil
import pytest

from ingestion.models import DocumentVersion, State
from tests.faults.harness import LONG, NOTE, ROOT, environment, wait_for, worker
from tests.support.factories import make_collection, make_document, upload
from tests.support.library import CONNECTIONS

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("servers", "clean_cache", "empty_queues", "short_leases"),
]

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
                *(
                    "--bind",
                    f"fd://{listener.fileno()}",
                    "--workers",
                    "1",
                    "benchmarks.unrefused:application",
                ),
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
            for child in _children(psutil.Process(process.pid)):
                child.kill()
            process.wait()


def _children(master: psutil.Process) -> list[psutil.Process]:
    try:
        return master.children()
    except psutil.NoSuchProcess:
        return []


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


def test_a_worker_that_is_stopped_finishes_its_document_and_another_does_the_rest() -> None:
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
        os.kill(old.pid, signal.SIGTERM)
        wait_for(lambda: old.poll() is not None)
    finished = rows.filter(pk__in=held).values_list("state", flat=True)
    assert set(finished) == {State.READY}
    with worker(1):
        wait_for(lambda: set(rows.values_list("state", flat=True)) == {State.READY}, sweeping=True)
