"""Originals in a bucket of a real S3 server: two hosts that share it, and a server that is gone."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import obstore
import pytest
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.test import RequestFactory
from moto.server import ThreadedMotoServer
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.documents import processing_steps
from ingestion.documents.purging import purge
from ingestion.errors import StorageUnavailable
from ingestion.files.bucket import PART_BYTES, BucketStorage
from ingestion.files.downloads import download
from ingestion.models import Collection, Document, DocumentVersion, State
from kbsite.operations import endpoints
from kbsite.operations.probes import machine
from kbsite.serving import outage
from search.pipeline import search
from tests.faults.harness import ROOT, environment
from tests.support.factories import make_collection, make_document, upload

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("clean_cache")]

TEXT = "# The beam\n\nA poise slides along the beam until both sides balance."
# The other host: a worker of the shared queue, whose site then searches and downloads.
OTHER_HOST = """
import json, os, threading, time
from kbsite.celery import app
from celery.worker import state
import django; django.setup()
from django.test import Client
from ingestion.models import DocumentVersion
found = {}
def look():
    try:
        for _ in range(600):
            version = DocumentVersion.objects.get()
            if version.finished: break
            time.sleep(.1)
        client = Client()
        hits = client.get("/api/v1/search/", {"q": "poise"}).json()["results"]
        found["titles"] = [hit["document"]["title"] for hit in hits]
        answer = client.get(f"/documents/{version.document.public_id}/original/")
        found["bytes"] = answer.getvalue().decode()
        if answer.status_code != 200: found["status"] = answer.status_code
    finally:
        state.should_stop = 0
threading.Thread(target=look).start()
try:
    app.Worker(pool="solo", loglevel="ERROR", without_mingle=True, without_gossip=True).start()
except SystemExit:
    pass
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Bucket:
    """The bucket of a running server that speaks S3 over HTTP."""

    server: ThreadedMotoServer
    address: str = "s3://house/steelyard"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Bucket]:
    """The site's originals are in a bucket, which is empty."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    # All servers of a process have the same buckets.
    urllib.request.urlopen(f"{url}/moto-api/reset", data=b"").close()
    urllib.request.urlopen(urllib.request.Request(f"{url}/house", method="PUT")).close()
    variables = {
        "AWS_ENDPOINT": url, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "something",
    }  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = Bucket(server)
    settings.ORIGINALS_URL = found.address
    options = {"address": found.address}
    default = {"BACKEND": "ingestion.files.bucket.BucketStorage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "default": default}
    try:
        yield found
    finally:
        server.stop()


def names(bucket: Bucket) -> set[str]:
    """The names of the objects in the bucket."""
    store = BucketStorage(bucket.address)._objects
    return {meta["path"] for batch in obstore.list(store) for meta in batch}


def test_two_hosts_share_database_queue_and_bucket(bucket: Bucket, tmp_path: Path) -> None:
    collection = make_collection()
    version = upload(collection, TEXT, title="Beam").version
    assert names(bucket) == {version.file.name}
    done = subprocess.run(
        [sys.executable, "-c", OTHER_HOST],
        cwd=ROOT,
        env=environment(
            DJANGO_SETTINGS_MODULE="kbsite.settings", STEELYARD_VAR=str(tmp_path / "var"),
            ORIGINALS_URL=bucket.address, ALLOWED_HOSTS="testserver", DEBUG="1",
        ),
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    there = json.loads(done.stdout.splitlines()[-1])
    assert there == {"titles": ["Beam"], "bytes": TEXT}
    # What the other host has read is found here, and the file as well.
    assert [result.title for result in search("poise", viewer=None).results] == ["Beam"]
    version.refresh_from_db()
    assert version.state == State.READY
    assert b"".join(download(version, None)).decode() == TEXT  # type: ignore[arg-type]
    assert not any((tmp_path / "var").rglob("originals"))


def test_a_document_is_read_from_the_bucket_once_and_leaves_it_with_its_rows(
    bucket: Bucket,
) -> None:
    collection = make_collection()
    document = make_document(collection, TEXT, title="Beam")
    again = make_document(make_collection("Second"), TEXT, title="Beam")
    assert document.current is not None
    assert again.current is not None
    assert len(names(bucket)) == 1
    purge([document])
    assert len(names(bucket)) == 1
    purge([again])
    assert names(bucket) == set()


def test_large_file_is_read_in_parts_and_by_position(bucket: Bucket) -> None:
    content = bytes(range(256)) * (PART_BYTES // 256) + b"the end"
    default_storage.save("imports/large", File(io.BytesIO(content)))
    assert default_storage.size("imports/large") == len(content)
    with default_storage.open("imports/large") as stored:
        assert stored.read(4) == content[:4]
        stored.seek(-7, io.SEEK_END)
        assert stored.read() == b"the end"
        stored.seek(0)
        assert stored.read() == content
    with pytest.raises(FileNotFoundError):
        default_storage.open("imports/none")
    with pytest.raises(ValueError, match="no address"):
        default_storage.url("imports/large")


def test_upload_with_a_wrong_checksum_is_not_kept(bucket: Bucket) -> None:
    name = f"originals/ab/{'ab' * 32}"
    with pytest.raises(StorageUnavailable):
        default_storage.save(name, File(io.BytesIO(b"not what the name promises")))
    assert names(bucket) == set()


def _gone(bucket: Bucket) -> None:
    bucket.server.stop()


def _of_nobody(bucket: Bucket) -> None:
    default_storage._wrapped = BucketStorage("s3://nobody/steelyard")  # type: ignore[attr-defined]


@pytest.mark.parametrize("happen", [_gone, _of_nobody])
def test_upload_without_the_bucket_is_refused_and_loses_nothing(
    bucket: Bucket, happen: Callable[[Bucket], None], administrator: User
) -> None:
    collection = make_collection()
    waiting = upload(collection, TEXT, title="Beam").version
    happen(bucket)
    client = APIClient()
    client.force_authenticate(administrator)
    file = io.BytesIO(b"# Another\n\nNote.")
    file.name = "another.md"
    answer = client.post(
        "/api/v1/documents/", {"collection": collection.slug, "file": file}, format="multipart"
    )
    assert answer.status_code == 503, answer.content
    assert answer.json()["code"] == "storage_unavailable"
    assert Document.objects.count() == 1
    if happen is _gone:
        processing_steps.advance(waiting.pk)
        waiting.refresh_from_db()
        assert waiting.state != State.FAILED
        assert "Trying again" in waiting.error
        assert not endpoints.storage_answers()
        (finding,) = machine.storage()
        assert finding.state == "wrong"
        with pytest.raises(StorageUnavailable) as caught:
            download(waiting, None)
        shown = outage.unavailable(RequestFactory().get("/"), str(caught.value))
        assert shown.status_code == 503


class Refusing(BaseHTTPRequestHandler):
    """Answers everything with 403, or, while `hangs`, not at all."""

    hangs = threading.Event()

    def do_PUT(self) -> None:
        if self.hangs.is_set():
            time.sleep(0.3)
        self.send_response(403)
        self.end_headers()

    do_HEAD = do_GET = do_POST = do_PUT  # noqa: N815

    def log_message(self, *arguments: object) -> None: ...


@pytest.mark.parametrize("hangs", [False, True], ids=["refuses", "hangs"])
def test_refusing_or_hanging_bucket_is_reported(
    bucket: Bucket, hangs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.files.bucket.TIMEOUT", "0.1s")
    monkeypatch.setattr("ingestion.files.bucket.RETRIES", {"max_retries": 0})
    (Refusing.hangs.set if hangs else Refusing.hangs.clear)()
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(StorageUnavailable, match="unavailable" if hangs else "refuses access"):
            upload(make_collection(), TEXT)
        assert not endpoints.storage_answers()
        assert [each.state for each in machine.storage()] == ["wrong"]
        server.shutdown()
    assert not Document.objects.exists()


def test_the_doctor_writes_reads_and_deletes(bucket: Bucket) -> None:
    (finding,) = machine.storage()
    assert finding.state == "ok", finding
    assert endpoints.storage_answers()
    assert names(bucket) == set()
    assert not Collection.objects.exists()
    assert not DocumentVersion.objects.exists()
