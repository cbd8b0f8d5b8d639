"""Watched folders: what appears, changes, moves and goes is mirrored; no lost disk empties one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from common.accounts.models import User
from ingestion.documents import processing_steps
from ingestion.documents.restricted_readers import Readers, restrict
from ingestion.intake import watched_folders
from ingestion.intake.watched_folder_scan import scan
from ingestion.models import ChunkEmbedding, Document, DocumentVersion, WatchedFile, WatchedFolder
from ingestion.models.versions import UNFINISHED
from tests.support.factories import make_collection

pytestmark = pytest.mark.django_db

State = WatchedFolder.State


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "share"
    (folder / "deep").mkdir(parents=True)
    write(folder / "a.md", "# Alpha\n\nThe first letter.")
    write(folder / "b.md", "# Beta\n\nThe second letter.")
    write(folder / "deep" / "c.txt", "The third letter.")
    return folder


@pytest.fixture
def folder(root: Path) -> WatchedFolder:
    made = WatchedFolder.objects.create(collection=make_collection(), path=str(root))
    looks(made, 2)
    return made


def write(path: Path, text: str) -> None:
    """A file written at another moment than before, whatever the clock's grain."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    if before:
        os.utime(path, ns=(before + 10**9, before + 10**9))


def looks(folder: WatchedFolder, count: int) -> WatchedFolder:
    for _ in range(count):
        assert scan(folder.pk)
    folder.refresh_from_db()
    return folder


def sources(folder: WatchedFolder) -> list[str]:
    """The kept documents' paths below the folder."""
    kept = Document.objects.undeleted().filter(collection=folder.collection)
    return sorted(
        os.path.relpath(source, folder.path) for source in kept.values_list("source", flat=True)
    )


def document(name: str) -> Document:
    return Document.objects.undeleted().get(source__endswith=f"/{name}")


def test_new_file_becomes_a_document_at_the_second_scan(root: Path) -> None:
    folder = WatchedFolder.objects.create(collection=make_collection(), path=str(root))
    looks(folder, 1)
    assert sources(folder) == []
    assert folder.last_counts == {"waiting": 3}
    looks(folder, 1)
    assert sources(folder) == ["a.md", "b.md", "deep/c.txt"]
    assert (folder.state, folder.last_counts) == (State.OK, {"added": 3})
    looks(folder, 1)
    assert folder.last_counts == {"unchanged": 3}
    assert DocumentVersion.objects.count() == 3


def test_a_file_still_being_written_is_left_alone(folder: WatchedFolder, root: Path) -> None:
    path = root / "growing.md"
    text = "# Growing\n"
    for line in range(3):
        text += f"\nLine {line}.\n"
        write(path, text)
        looks(folder, 1)
        assert "growing.md" not in sources(folder)
    looks(folder, 1)
    assert "growing.md" in sources(folder)


def test_only_changed_content_makes_a_new_version(folder: WatchedFolder, root: Path) -> None:
    write(root / "a.md", "# Alpha\n\nRewritten.")
    write(root / "b.md", (root / "b.md").read_text())
    looks(folder, 2)
    assert document("a.md").versions.count() == 2
    assert document("b.md").versions.count() == 1
    assert folder.last_counts == {"changed": 1, "unchanged": 1}


def test_a_moved_file_keeps_its_document_and_its_embeddings(
    folder: WatchedFolder, root: Path
) -> None:
    for pk in DocumentVersion.objects.filter(state__in=UNFINISHED).values_list("pk", flat=True):
        processing_steps.advance(pk)
    before = document("c.txt")
    assert before.metadata == {"folder": ["deep"]}
    Document.objects.filter(pk=before.pk).update(metadata=before.metadata | {"tags": ["old"]})
    embedded = set(ChunkEmbedding.objects.values_list("pk", flat=True))
    (root / "deep" / "c.txt").rename(root / "third.txt")
    looks(folder, 2)
    after = document("third.txt")
    assert (after.pk, after.public_id) == (before.pk, before.public_id)
    assert after.title == "third"
    assert after.metadata == {"tags": ["old"]}
    assert after.versions.count() == 1
    assert after.latest is not None
    assert after.latest.file_name == "third.txt"
    assert set(ChunkEmbedding.objects.values_list("pk", flat=True)) == embedded
    assert folder.last_counts["moved"] == 1
    assert sources(folder) == ["a.md", "b.md", "third.txt"]
    assert Document.objects.count() == 3


def test_deleted_file_goes_to_the_bin_after_two_scans(folder: WatchedFolder, root: Path) -> None:
    restrict([before := document("a.md")], Readers(), acting_user=None)
    (root / "a.md").unlink()
    looks(folder, 1)
    assert "a.md" in sources(folder)
    looks(folder, 1)
    assert sources(folder) == ["b.md", "deep/c.txt"]
    assert Document.objects.exclude(deleted_at=None).get().title_given is False
    write(root / "a.md", "# Alpha\n\nThe first letter.")
    looks(folder, 2)
    assert "a.md" in sources(folder)
    before.refresh_from_db()
    assert document("a.md").audience == before.audience
    assert before.audience is not None


def test_documents_can_be_kept_when_their_files_are_deleted(
    folder: WatchedFolder, root: Path
) -> None:
    WatchedFolder.objects.update(deletion=WatchedFolder.Deletion.KEEP)
    (root / "a.md").unlink()
    looks(folder, 3)
    assert "a.md" in sources(folder)
    assert WatchedFile.objects.count() == 2


def empty_it(root: Path) -> None:
    for path in sorted(root.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def lose_most(root: Path) -> None:
    (root / "a.md").unlink()
    (root / "b.md").unlink()


def lose_it(root: Path) -> None:
    root.rename(root.with_name("elsewhere"))


def make_a_link(root: Path) -> None:
    lose_it(root)
    root.symlink_to(root.with_name("elsewhere"))


@pytest.mark.parametrize(
    ("lose", "state", "message"),
    [
        (lose_it, State.MISSING, "is missing"),
        (empty_it, State.HELD, "3 of 3 files are missing"),
        (lose_most, State.HELD, "2 of 3 files are missing"),
        (make_a_link, State.ERROR, "become a link"),
    ],
)
def test_vanished_folder_deletes_no_document(
    lose: Callable[[Path], None], state: str, message: str, folder: WatchedFolder, root: Path
) -> None:
    lose(root)
    for _ in range(3):
        looks(folder, 1)
        assert folder.state == state
        assert message in folder.message
    assert sources(folder) == ["a.md", "b.md", "deep/c.txt"]


def test_mass_deletion_is_held_despite_files_being_written(
    folder: WatchedFolder, root: Path
) -> None:
    lose_most(root)
    for line in range(4):
        write(root / "growing.log", "line\n" * (line + 1))
        write(root / "also.log", "line\n" * (line + 2))
        looks(folder, 1)
    assert sources(folder) == ["a.md", "b.md", "deep/c.txt"]


def test_returned_disk_withdraws_a_confirmed_deletion(folder: WatchedFolder, root: Path) -> None:
    lose_it(root)
    root.mkdir()
    looks(folder, 2)
    watched_folders.confirm_deletion(folder, acting_user=None)
    root.rmdir()
    root.with_name("elsewhere").rename(root)
    looks(folder, 1)
    assert folder.state == State.OK
    empty_it(root)
    looks(folder, 2)
    assert folder.state == State.HELD
    assert len(sources(folder)) == 3


def test_a_folder_renamed_within_is_a_move_of_all_its_files(
    folder: WatchedFolder, root: Path
) -> None:
    ids = set(Document.objects.values_list("pk", flat=True))
    for name in ("a.md", "b.md"):
        (root / name).rename(root / "deep" / name)
    (root / "deep").rename(root / "deeper")
    looks(folder, 2)
    assert sources(folder) == ["deeper/a.md", "deeper/b.md", "deeper/c.txt"]
    assert set(Document.objects.values_list("pk", flat=True)) == ids
    assert folder.state == State.OK


def test_unreadable_files_are_listed_and_not_deleted(
    folder: WatchedFolder, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "deep":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    (root / "out.md").symlink_to("/etc/hostname")
    looks(folder, 3)
    assert "deep/c.txt" in sources(folder)
    listed = WatchedFile.objects.filter(state=WatchedFile.State.UNREADABLE)
    assert sorted(listed.values_list("path", flat=True)) == ["deep", "out.md"]
    assert folder.last_counts["unreadable"] == 2


def test_the_same_bytes_twice_are_one_document_until_they_differ(
    folder: WatchedFolder, root: Path
) -> None:
    write(root / "copy.md", (root / "a.md").read_text())
    looks(folder, 2)
    assert WatchedFile.objects.get(path="copy.md").state == WatchedFile.State.DUPLICATE
    assert Document.objects.count() == 3
    # The first of them changes: the copy is now the only file with the old bytes.
    write(root / "a.md", "# Alpha\n\nOther words.")
    looks(folder, 3)
    assert sources(folder) == ["a.md", "b.md", "copy.md", "deep/c.txt"]
    # And one that becomes like another gives its document up.
    write(root / "copy.md", (root / "b.md").read_text())
    looks(folder, 2)
    assert sources(folder) == ["a.md", "b.md", "deep/c.txt"]


def test_only_folders_below_the_roots_can_be_watched(
    root: Path, reader: User, administrator: User, settings: object
) -> None:
    assert watched_folders.checked_path(f"{root}/../share", acting_user=administrator) == str(root)
    with pytest.raises(watched_folders.WatchRefused, match="WATCH_ROOTS"):
        watched_folders.checked_path(str(root), acting_user=reader)
    settings.WATCH_ROOTS = [root.parent]  # type: ignore[attr-defined]
    assert watched_folders.checked_path(str(root), acting_user=reader) == str(root)
    with pytest.raises(watched_folders.WatchRefused, match="WATCH_ROOTS"):
        watched_folders.checked_path(f"{root.parent}/../", acting_user=reader)
    with pytest.raises(watched_folders.WatchRefused, match="own files are there"):
        watched_folders.checked_path("/", acting_user=administrator)
