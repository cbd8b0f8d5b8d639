"""An import whose worker is killed for real, and a note while many imported files are queued."""

from __future__ import annotations

import io
import zipfile
from collections import Counter

import pytest

from common.jobs import BULK, INTERACTIVE, sweep, waiting
from ingestion.intake.importing import services
from ingestion.models import (
    Chunk,
    Document,
    DocumentVersion,
    Import,
    ImportItem,
    Lane,
    State,
)
from tests.faults.harness import LONG, kill, wait_for, worker
from tests.support.factories import make_collection, upload

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("clean_cache", "short_leases"),
]


def start(count: int, text: str = "Text.") -> Import:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(count):
            archive.writestr(f"{number:03}.md", f"# Page {number}\n\n{text}")
    return services.start(
        make_collection(), Import.Kind.ARCHIVE, "pages.zip", file=packed, acting_user=None
    )


def taken() -> int:
    return ImportItem.objects.exclude(state=ImportItem.State.WAITING).count()


def over() -> bool:
    sweep(Import)
    return Import.objects.filter(state=Import.State.DONE).exists()


def test_an_import_killed_with_its_worker_goes_on_where_it_was() -> None:
    of = start(60)
    with worker() as first:
        wait_for(lambda: taken() >= 8, seconds=40)
        kill(first)
    before = taken()
    assert before < 60
    Import.objects.update(enqueued_at="2020-01-01T00:00Z")
    with worker():
        wait_for(over, seconds=60)
    states = Counter(of.items.values_list("state", flat=True))
    assert states == {"added": 60}
    assert Document.objects.count() == DocumentVersion.objects.count() == 60
    assert of.items.exclude(document=None).values("document").distinct().count() == 60


def test_an_uploaded_note_overtakes_what_was_imported() -> None:
    """One process empties the queues in their order: the note waits for one document at most."""
    of = start(10, LONG[:12_000])
    with worker(1):
        wait_for(lambda: Chunk.objects.filter(searchable=True).exists(), seconds=60)
        assert waiting(BULK) > 3
        note = upload(of.collection, "# Note\n\nSeen at once.")
        assert note.version.lane == Lane.INTERACTIVE
        ready = DocumentVersion.objects.filter(pk=note.version.pk, state=State.READY)
        wait_for(ready.exists, seconds=30)
        assert waiting(BULK) > 0
        assert waiting(INTERACTIVE) == 0
