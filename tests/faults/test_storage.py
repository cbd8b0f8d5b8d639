"""A disk that fills up while an upload is stored."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.files.storage import default_storage

from ingestion import services
from ingestion.documents import steps
from ingestion.errors import NotStored
from ingestion.models import Document, DocumentVersion, State
from tests.faults.harness import ROOT, assert_nothing_lost_or_doubled, environment
from tests.support.factories import make_collection, upload

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


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path) -> None:
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
    steps.advance(version.pk)
    version.refresh_from_db()
    assert version.state == State.READY
    assert_nothing_lost_or_doubled()
