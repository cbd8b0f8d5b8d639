"""What fails while documents are taken in: a full disk, a bad provider, a killed import."""

from __future__ import annotations

import errno
import io
import math
import os
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone
from pytest import approx

from common.jobs import BULK, INTERACTIVE, sweep, waiting
from ingestion import services, spaces, tasks
from ingestion.documents import processing_steps
from ingestion.errors import NotStored
from ingestion.intake import imports as importing
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    Document,
    DocumentVersion,
    Import,
    ImportItem,
    Lane,
    State,
)
from tests.faults.halted_workers import held_bytes
from tests.faults.harness import (
    LONG,
    NOTE,
    ROOT,
    assert_nothing_lost_or_doubled,
    environment,
    finished,
    kill,
    let_time_pass,
    wait_for,
    worker,
)
from tests.support.factories import make_collection, make_document, upload
from tests.support.fake_openai import (
    Behaviour,
    FakeOpenAI,
    dropped,
    half,
    hang,
    status,
    wrong_dimension,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("clean_cache", "short_leases"),
]

# Two megabytes that no file system can make smaller, on a disk of one.
UPLOAD = """
import io, os, sys, django
django.setup()
from ingestion import services
from ingestion.errors import NotStored
from ingestion.models import Collection
file = io.BytesIO(os.urandom(2_000_000).hex().encode())
try:
    services.receive(Collection.objects.get(), file, file_name="big.txt", acting_user=None)
except NotStored as error:
    print(error)
    left = [name for _, _, names in os.walk(os.environ["DISK"]) for name in names]
    print("left:", left)
"""


def small_disk(disk: Path) -> list[str]:
    """A prefix of commands for which `disk` is a tmpfs of a megabyte; empty where none may be."""
    if not shutil.which("unshare") or not shutil.which("mount"):
        return []
    script = f'mount -t tmpfs -o size=1m tmpfs "{disk}" && exec "$@"'
    prefix = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    tried = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return prefix if tried.returncode == 0 else []


def test_full_disk_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    make_collection()
    disk = tmp_path / "disk"
    disk.mkdir()
    prefix = small_disk(disk)
    # Where no tmpfs may be mounted, a limit on the size of files refuses at the same point.
    limit = [] if prefix else ["prlimit", "--fsize=1000000"]
    found = subprocess.run(
        [*prefix, *limit, sys.executable, "-c", UPLOAD],
        cwd=ROOT,
        env=environment(
            DISK=str(disk),
            FILES_DIR=str(disk),
            DJANGO_SETTINGS_MODULE="kbsite.settings",
            PYTHONPATH=str(ROOT),
        ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "could not be stored" in found.stdout, found.stdout + found.stderr
    assert "free space" in found.stdout
    assert "left: []" in found.stdout
    assert not Document.objects.exists()
    assert not DocumentVersion.objects.exists()


class FullAfter(io.BytesIO):
    """A file that cannot be read to its end, as when the disk of temporary files fails."""

    reads = 0

    def read(self, size: int | None = -1) -> bytes:
        self.reads += 1
        if self.reads > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().read(size)


def test_bytes_that_were_half_stored_are_stored_whole_the_next_time() -> None:
    collection = make_collection()
    content = b"# Note\n\nThe whole of it."
    with pytest.raises(NotStored):
        services.receive(collection, FullAfter(content), file_name="n.md", acting_user=None)
    assert not Document.objects.exists()
    version = upload(collection, content, file_name="n.md").version
    with default_storage.open(str(version.file.name)) as stored:
        assert stored.read() == content
    processing_steps.advance(version.pk)
    version.refresh_from_db()
    assert version.state == State.READY
    assert_nothing_lost_or_doubled()


# --- A provider of embeddings that misbehaves, over real HTTP: time is lost, and nothing else ----


FIRST = "# Doors\n\nThe north door has no pump."


@pytest.fixture
def provider(settings: object) -> Iterator[FakeOpenAI]:
    """A server that embeds, and is told by the tests how to fail."""
    with FakeOpenAI() as server:
        settings.EMBEDDER = "openai"  # type: ignore[attr-defined]
        settings.EMBEDDER_OPTIONS = {  # type: ignore[attr-defined]
            "openai": {
                "base_url": server.base_url, "api_key": "key", "model": "m",
                "attempts": 1, "timeout": 3.0,
            }
        }  # fmt: skip
        spaces.forget_embedders()
        try:
            yield server
        finally:
            spaces.forget_embedders()


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(status(429, retry_after="2"), id="429 with Retry-After"),
        pytest.param(dropped(), id="connection dropped"),
        pytest.param(hang(30), id="nothing for half a minute"),
        pytest.param(wrong_dimension(5), id="wrong dimension"),
        pytest.param(half(), id="half a batch"),
    ],
)
def test_bad_reply_of_a_provider_only_delays_a_document(
    provider: FakeOpenAI, behaviour: Behaviour
) -> None:
    collection = make_collection()
    make_document(collection, FIRST, file_name="a.md")
    provider.then(behaviour)
    late = make_document(collection, NOTE, file_name="b.md")

    version = DocumentVersion.objects.get(document=late)
    assert version.state in (State.EMBEDDING, State.FAILED)
    assert version.error
    assert version.chunk_count > 2 or version.state == State.FAILED
    assert not ChunkEmbedding.objects.filter(chunk__document=late).exists()

    if version.state == State.FAILED:
        services.retry([late], acting_user=None)
    let_time_pass()
    processing_steps.advance(version.pk)
    assert finished()
    assert_nothing_lost_or_doubled(documents=2)
    for held in ChunkEmbedding.objects.all():
        assert math.fsum(x * x for x in held.vector) == approx(1, abs=0.01)


def test_retry_after_of_a_provider_is_respected(provider: FakeOpenAI) -> None:
    make_document(make_collection(), FIRST, file_name="a.md")
    provider.then(status(429, retry_after="120"))
    asked = len(provider.requests)
    late = make_document(make_collection("Other"), NOTE, file_name="b.md")
    version = DocumentVersion.objects.get(document=late)
    assert version.not_before is not None
    assert (version.not_before - timezone.now()).total_seconds() > 110
    # Nobody asks before that.
    assert processing_steps.advance(version.pk) is False
    assert len(provider.requests) == asked + 1


@pytest.mark.usefixtures("clean_cache")
@pytest.mark.parametrize(("retry_after", "waiting"), [(None, 0), ("120", 2)])
def test_what_waits_is_due_when_the_provider_answers_again(
    provider: FakeOpenAI, retry_after: str | None, waiting: int
) -> None:
    collection = make_collection()
    make_document(collection, FIRST, file_name="a.md")
    provider.then(*[status(503, retry_after=retry_after)] * 2)
    for name in ("b.md", "c.md"):
        make_document(collection, f"{NOTE} {name}", file_name=name)
    paused = DocumentVersion.objects.filter(not_before__gt=timezone.now())
    assert paused.count() == 2
    asked = len(provider.requests)
    spaces.embedder().embed_query("Who lifts the beam?")
    assert (paused.count(), len(provider.requests)) == (waiting, asked + 1)


@pytest.mark.usefixtures("clean_cache")
def test_one_document_a_minute_tries_during_an_outage(provider: FakeOpenAI) -> None:
    collection = make_collection()
    make_document(collection, FIRST, file_name="a.md")
    provider.then(*[status(503)] * 2)
    for name in ("b.md", "c.md"):
        make_document(collection, f"{NOTE} {name}", file_name=name)
    paused = DocumentVersion.objects.filter(not_before__gt=timezone.now())
    first, last = paused.order_by("pk")
    tasks.sweep()
    tasks.sweep()
    assert list(paused.all()) == [last]
    assert processing_steps.advance(first.pk) is True
    assert not paused.all().exists()


def test_an_outage_of_many_attempts_is_no_crash(provider: FakeOpenAI) -> None:
    """Ten failures in a row are still the provider's, and fail no document."""
    collection = make_collection()
    make_document(collection, FIRST, file_name="a.md")
    provider.then(*[status(503)] * 10)
    version = upload(collection, NOTE, file_name="b.md").version
    for _ in range(10):
        let_time_pass()
        assert processing_steps.advance(version.pk) is False
    let_time_pass()
    assert processing_steps.advance(version.pk) is True
    assert Document.objects.filter(current__state=State.READY).count() == 2
    assert_nothing_lost_or_doubled()


# --- An import whose worker is killed for real, and a note while many imported files are queued --


def start(count: int, text: str = "Text.") -> Import:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(count):
            archive.writestr(f"{number:03}.md", f"# Page {number}\n\n{text}")
    return importing.start(
        make_collection(), Import.Kind.ARCHIVE, "pages.zip", file=packed, acting_user=None
    )


def taken() -> int:
    return ImportItem.objects.exclude(state=ImportItem.State.WAITING).count()


def over() -> bool:
    sweep(Import)
    return Import.objects.filter(state=Import.State.DONE).exists()


def test_import_of_a_killed_worker_continues_where_it_was() -> None:
    of = start(30)
    with held_bytes("# Page 20\n\nText."), worker() as first:
        wait_for(lambda: taken() >= 8)
        kill(first)
    before = taken()
    assert before < 30
    Import.objects.update(enqueued_at="2020-01-01T00:00Z")
    with worker():
        wait_for(over)
    states = Counter(of.items.values_list("state", flat=True))
    assert states == {"added": 30}
    assert Document.objects.count() == DocumentVersion.objects.count() == 30
    assert of.items.exclude(document=None).values("document").distinct().count() == 30


def test_an_uploaded_note_overtakes_what_was_imported() -> None:
    """One process empties the queues in their order: the note waits for one document at most."""
    of = start(30, LONG[:12_000])
    with worker(1):
        wait_for(lambda: Chunk.objects.filter(searchable=True).exists())
        assert waiting(BULK) > 3
        note = upload(of.collection, "# Note\n\nSeen at once.")
        assert note.version.lane == Lane.INTERACTIVE
        ready = DocumentVersion.objects.filter(pk=note.version.pk, state=State.READY)
        wait_for(ready.exists)
        assert waiting(BULK) > 0
        assert waiting(INTERACTIVE) == 0
