"""Imports of archives, manifests and folders: what each item becomes, stops, kills and retries."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from common.accounts.models import User
from common.jobs import sweep
from ingestion.errors import IngestionError, StateConflict
from ingestion.intake import import_runner as runner
from ingestion.intake import imports as importing
from ingestion.intake.import_archives import ArchiveSource
from ingestion.models import (
    Collection,
    Document,
    DocumentVersion,
    Import,
    ImportItem,
    Lane,
    SourceKind,
)
from tests.samples.builders import make_zip
from tests.support.factories import make_collection

pytestmark = pytest.mark.django_db

Kind, State = Import.Kind, Import.State


def archive(files: dict[str, str | bytes]) -> io.BytesIO:
    return io.BytesIO(make_zip(files))


def pages(count: int) -> dict[str, str | bytes]:
    return {f"pages/{n:02}.md": f"# Page {n}\n\nText number {n}." for n in range(count)}


def start(files: dict[str, str | bytes], collection: Collection | None = None) -> Import:
    made = collection or make_collection()
    return importing.start(made, Kind.ARCHIVE, "books.zip", file=archive(files), acting_user=None)


def states(of: Import) -> dict[str, str]:
    return dict(ImportItem.objects.filter(of=of).values_list("reference", "state"))


def finish(of: Import) -> Import:
    runner.run(of.pk)
    of.refresh_from_db()
    return of


def uploaded() -> set[str]:
    """What waits to be taken in, other tests' files among it."""
    return (
        set(default_storage.listdir("imports")[1]) if default_storage.exists("imports") else set()
    )


def test_each_member_of_an_archive_is_a_document_with_its_path_as_source() -> None:
    before = uploaded()
    files = {**pages(2), "__MACOSX/._x": b"\0", "empty/": b"", "blank.md": b"", "x.bin": bytes(99)}
    of = finish(start(files))

    assert of.state == State.DONE
    assert states(of) == {
        "pages/00.md": "added",
        "pages/01.md": "added",
        "blank.md": "skipped",
        "x.bin": "skipped",
    }
    document = Document.objects.get(source="pages/01.md")
    assert document.source_kind == SourceKind.UPLOAD
    assert document.metadata == {"folder": ["pages"]}
    assert document.latest is not None
    assert document.latest.lane == Lane.BULK
    assert document.latest.file_name == "01.md"
    assert not of.file  # all of it was taken
    assert uploaded() == before


def test_the_same_archive_again_changes_nothing_and_a_newer_one_brings_up_to_date() -> None:
    collection = make_collection()
    finish(start(pages(3), collection))
    again = finish(start(pages(3), collection))
    assert Counter(states(again).values()) == {"duplicate": 3}
    newer = finish(start({**pages(3), "pages/01.md": "# Page 1\n\nNew words."}, collection))
    assert states(newer)["pages/01.md"] == "replaced"
    assert Document.objects.count() == 3
    assert DocumentVersion.objects.count() == 4


def test_member_names_cannot_leave_the_archive() -> None:
    of = finish(start({"../../etc/passwd.md": "# A\n\nText."}))
    assert states(of) == {"etc/passwd.md": "added"}


def test_archive_bomb_is_refused_at_the_upload(settings: Any) -> None:
    before = uploaded()
    shelf = make_collection()
    with pytest.raises(IngestionError, match="times its size"):
        start({"zeros.txt": bytes(20_000_000)}, shelf)
    settings.IMPORT_MAX_FILES = 2
    with pytest.raises(IngestionError, match="more than 2 files"):
        start(pages(3), shelf)
    for data, message in (
        (
            b"MZ\x90 a program",
            r"not a ZIP archive\. Imports accept a ZIP archive, or a manifest .*\.jsonl",
        ),
        (archive({"a.md": "Text."}).getvalue()[:-20], "incomplete transfer"),
    ):
        file = io.BytesIO(data)
        with pytest.raises(IngestionError, match=message):
            importing.start(shelf, Kind.ARCHIVE, "x.zip", file=file, acting_user=None)
    assert not Import.objects.exists()
    assert uploaded() == before


def test_a_damaged_member_fails_alone_and_can_be_tried_again() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as writer:
        for name, content in pages(2).items():
            writer.writestr(name, content)
    data = bytearray(packed.getvalue())
    at = data.index(b"Text number 1")
    data[at] ^= 1
    of = importing.start(
        make_collection(), Kind.ARCHIVE, "b.zip", file=io.BytesIO(bytes(data)), acting_user=None
    )
    finish(of)
    assert of.state == State.DONE
    assert states(of) == {"pages/00.md": "added", "pages/01.md": "failed"}
    assert of.file  # what failed may be tried again
    assert importing.resume(of, acting_user=None)
    finish(of)
    assert states(of)["pages/01.md"] == "failed"
    assert importing.forget_files() == 0
    name = str(of.file.name)
    Import.objects.update(finished=timezone.now() - importing.RETENTION)
    assert importing.forget_files() == 1
    assert not default_storage.exists(name)
    importing.resume(of, acting_user=None)
    assert finish(of).state == State.FAILED
    assert "no longer exists" in of.error


class Killed(BaseException):
    """Stands for kill -9: nothing catches it."""


@pytest.mark.parametrize("moment", ["discovering", "taking", "filed"])
def test_killed_import_repeats_only_the_current_item(
    moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = start(pages(6))
    with monkeypatch.context() as patched:
        kill_at(patched, moment)
        with pytest.raises(Killed):
            runner.run(of.pk)
    taken = Document.objects.count()
    assert taken == {"discovering": 0, "taking": 3, "filed": 3}[moment]
    finish(of)
    assert Counter(states(of).values()) == {"added": 6}
    assert Document.objects.count() == DocumentVersion.objects.count() == 6
    sources = list(Document.objects.order_by("pk").values_list("source", flat=True))
    assert sources == sorted(pages(6))


def kill_at(patched: pytest.MonkeyPatch, moment: str) -> None:
    """Ends the run in the middle of finding, before the fourth item, or after it was filed."""
    if moment == "discovering":
        patched.setattr(runner, "DISCOVERY_BATCH", 2)
        discover = ArchiveSource.discover

        def some(source: ArchiveSource) -> Any:
            for number, found in enumerate(discover(source)):
                if number == 4:
                    raise Killed
                yield found

        patched.setattr(ArchiveSource, "discover", some)
    elif moment == "taking":

        def take(source: ArchiveSource, item: ImportItem) -> Any:
            if item.reference == "pages/03.md":
                raise Killed
            return original(source, item)

        original = ArchiveSource.take
        patched.setattr(ArchiveSource, "take", take)
    else:
        receive = runner.receive

        def filed(*arguments: Any, **named: Any) -> Any:
            receipt = receive(*arguments, **named)
            if named["source"] == "pages/03.md":
                raise Killed
            return receipt

        patched.setattr(runner, "receive", filed)


def test_stopped_import_can_be_resumed_for_the_remaining_items() -> None:
    of = start(pages(5))

    def check() -> None:
        if Document.objects.count() == 2:
            importing.stop(of, acting_user=None)

    runner.run(of.pk, check=check)
    of.refresh_from_db()
    assert of.state == State.CANCELLED
    assert Document.objects.count() == 2
    assert runner.run(of.pk) is False
    assert importing.resume(of, acting_user=None)
    assert finish(of).state == State.DONE
    assert Document.objects.count() == 5
    assert not importing.resume(of, acting_user=None)


def test_import_is_released_at_the_end_of_a_slice() -> None:
    of = start(pages(3))
    assert runner.run(of.pk, seconds=0)
    of.refresh_from_db()
    assert (of.state, of.lease) == (State.RUNNING, None)
    assert of.discovered is not None
    Import.objects.update(enqueued_at="2020-01-01T00:00Z")
    assert sweep(Import) == 1
    assert finish(of).state == State.DONE


def test_item_that_keeps_killing_its_worker_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = start(pages(2))

    def take(source: ArchiveSource, item: ImportItem) -> Any:
        if item.reference == "pages/00.md":
            raise Killed
        return original(source, item)

    original = ArchiveSource.take
    monkeypatch.setattr(ArchiveSource, "take", take)
    for _ in range(runner.MAX_ATTEMPTS):
        Import.objects.update(attempts=0)
        with pytest.raises(Killed):
            runner.run(of.pk)
    finish(of)
    assert states(of) == {"pages/00.md": "failed", "pages/01.md": "added"}


# --- manifests -----------------------------------------------------------------------------------


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / "a.md").write_text("# Alpha\n\nThe first.")
    (folder / "b.md").write_text("# Beta\n\nThe second.")
    return folder


def manifest(shelf: Path, name: str, text: str, **fields: Any) -> Import:
    path = shelf / name
    path.write_text(text)
    of = importing.start(
        make_collection(),
        Kind.MANIFEST,
        str(path),
        options={"path": str(path), "base": str(shelf)},
        by_command=True,
        acting_user=None,
    )
    runner.run(of.pk, by_command=True)
    of.refresh_from_db()
    return of


CSV = """Path;Title;Language;Owner
a.md;First letter;de;Finance
missing.md;;;
b.md;;klingon;
a.md;;;
b.md;one;en;Sales;more
b.md;;;
"""
JSON = "\n".join(
    [
        json.dumps({"path": "a.md", "title": "First letter", "language": "de", "Owner": "Finance"}),
        json.dumps({"path": "missing.md"}),
        '{"path": "b.md", "language": "klingon"}',
        '{"path": "a.md"}',
        '{"path": "b.md"',
        json.dumps({"path": "b.md"}),
    ]
)


@pytest.mark.parametrize(("name", "text", "first"), [("m.csv", CSV, 2), ("m.jsonl", JSON, 1)])
def test_a_manifest_names_files_and_fails_by_line(
    shelf: Path, name: str, text: str, first: int
) -> None:
    of = manifest(shelf, name, text)

    messages = {
        item.reference: item.message for item in ImportItem.objects.filter(of=of, state="failed")
    }
    assert set(messages) == {f"line {first + 2}", f"line {first + 3}", f"line {first + 4}"}
    assert "klingon" in messages[f"line {first + 2}"]
    assert f"document of line {first}" in messages[f"line {first + 3}"]
    assert f"Line {first + 4}:" in messages[f"line {first + 4}"]
    assert states(of)["missing.md"] == "skipped"
    assert "no file at this path" in ImportItem.objects.get(of=of, reference="missing.md").message
    assert states(of)["b.md"] == "added"
    alpha = Document.objects.get(title="First letter")
    assert (alpha.language, alpha.title_given, alpha.source) == ("de", True, str(shelf / "a.md"))
    item = ImportItem.objects.get(of=of, reference="a.md")
    assert item.metadata["metadata"] == {"Owner": "Finance"} or item.metadata["metadata"] == {
        "owner": "Finance"
    }


def test_a_manifest_sends_lines_to_other_collections(shelf: Path) -> None:
    other = make_collection("Other shelf")
    manifest(shelf, "m.csv", "path,collection\na.md,Other shelf\nb.md,Nowhere\n")
    assert Document.objects.get().collection == other
    assert "no collection “Nowhere”" in ImportItem.objects.get(reference="b.md").message


@pytest.mark.parametrize("text", ["", "name,size\na.md,3\n", "path,path\na.md,b.md\n"])
def test_senseless_manifest_is_refused(shelf: Path, text: str) -> None:
    with pytest.raises(IngestionError):
        manifest(shelf, "m.csv", text)
    assert not Import.objects.exists()


# --- folders -------------------------------------------------------------------------------------


def test_paths_of_the_server_are_for_superusers_below_the_roots(
    shelf: Path, administrator: User, reader: User, settings: Any
) -> None:
    def attempt(user: User, path: Path) -> Import:
        return importing.start(collection, Kind.FOLDER, str(path), acting_user=user)

    collection = make_collection()
    with pytest.raises(IngestionError, match="IMPORT_ROOTS"):
        attempt(administrator, shelf)
    settings.IMPORT_ROOTS = [shelf.parent]
    with pytest.raises(IngestionError, match="superusers"):
        attempt(reader, shelf)
    with pytest.raises(IngestionError, match="IMPORT_ROOTS"):
        attempt(administrator, shelf / ".." / ".." / "..")
    of = finish(attempt(administrator, shelf))
    assert states(of) == {"a.md": "added", "b.md": "added"}
    assert Document.objects.get(source=str(shelf / "a.md")).source_kind == SourceKind.PATH


def test_links_out_of_a_folder_are_not_followed(shelf: Path, tmp_path: Path, settings: Any) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\n\nNot below the folder.")
    (shelf / "link.md").symlink_to(secret)
    (shelf / "dir").symlink_to(tmp_path)
    os.mkfifo(shelf / "pipe.md")
    of = importing.start(
        make_collection(), Kind.FOLDER, str(shelf), acting_user=None, by_command=True
    )
    runner.run(of.pk, by_command=True)
    assert states(of) == {
        "a.md": "added", "b.md": "added", "link.md": "failed", "dir": "failed",
    }  # fmt: skip
    assert not Document.objects.filter(source__contains="secret").exists()


def test_import_read_by_a_command_is_left_alone_by_workers(shelf: Path) -> None:
    of = importing.start(
        make_collection(), Kind.FOLDER, str(shelf), acting_user=None, by_command=True
    )
    Import.objects.update(created="2020-01-01T00:00Z")
    assert sweep(Import) == 0
    assert runner.run(of.pk) is False
    importing.stop(of, acting_user=None)
    with pytest.raises(StateConflict, match="--resume"):
        importing.resume(of, acting_user=None)
