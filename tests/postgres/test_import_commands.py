"""`manage.py import`, `watch`, `scan-folders`, `export-collection` and `import-collection`."""

from __future__ import annotations

import logging
import zipfile
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from ingestion.intake.importing.archives import ArchiveSource
from ingestion.models import Chunk, Collection, Document, Import, ImportItem, WatchedFolder

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_worker")]


def run(name: str, *arguments: object) -> str:
    out = StringIO()
    call_command(name, *map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


def test_an_interrupted_import_goes_on_and_is_carried_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pages.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(4):
            archive.writestr(f"{number}.md", f"# Page {number}\n\nText {number}.")

    with monkeypatch.context() as patched:
        take = ArchiveSource.take

        def interrupted(source: ArchiveSource, item: ImportItem) -> object:
            if item.reference == "2.md":
                raise KeyboardInterrupt
            return take(source, item)

        patched.setattr(ArchiveSource, "take", interrupted)
        with pytest.raises(CommandError, match="import --resume"):
            run("import", path, "--collection", "Pages")
    assert Document.objects.count() == 2
    assert "stopped; 2 waiting, 2 added" in run("import", "--list")

    printed = run("import", "--resume", Import.objects.get().pk)
    assert "4 added" in printed
    assert Chunk.objects.filter(searchable=True).count() == 4
    assert "4 held already" in run("import", path, "--collection", "Pages")

    export = tmp_path / "out.zip"
    run("export-collection", "Pages", export)
    with pytest.raises(CommandError, match="--force"):
        run("export-collection", "pages", export)
    assert "there already: 4 documents" in run("import-collection", export)


def test_an_import_says_what_failed_and_what_it_cannot_take(tmp_path: Path) -> None:
    folder = tmp_path / "books"
    folder.mkdir()
    (folder / "good.md").write_text("# Good\n\nText.")
    (folder / "lies.pdf").write_text("just words, no PDF")
    with pytest.raises(CommandError, match=r"1 item\(s\)"):
        run("import", folder, "--collection", "Books")
    assert Document.objects.get().source == str(folder / "good.md")
    with pytest.raises(CommandError, match="one document"):
        run("import", folder / "good.md", "--collection", "Books")
    with pytest.raises(CommandError, match="switched off"):
        run("import", "https://example.org/", "--collection", "Books")


def test_a_folder_is_watched_looked_at_and_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib import import_module

    scanning = import_module("ingestion.management.commands.scan-folders")
    monkeypatch.setattr(scanning, "SETTLE_SECONDS", 0)
    (tmp_path / "a.md").write_text("# Alpha\n\nText.")
    printed = run("watch", tmp_path, "--collection", "Share", "--poll", 30, "--exclude", "*.tmp")
    folder = WatchedFolder.objects.get()
    assert "waiting" in printed
    assert (folder.poll_seconds, folder.exclude) == (30, "*.tmp")
    assert "1 added" in run("scan-folders")

    (tmp_path / "a.md").unlink()
    with pytest.raises(CommandError, match="not in step"):
        run("scan-folders")
    with pytest.raises(CommandError, match="Name the folders"):
        run("scan-folders", "--confirm-deletions")
    run("scan-folders", folder.pk, "--confirm-deletions")
    assert not Document.objects.kept().exists()

    with pytest.raises(CommandError, match=rf"No folder {folder.pk + 1} is watched"):
        run("scan-folders", folder.pk, folder.pk + 1, "--confirm-deletions")
    with pytest.raises(CommandError, match="does not watch"):
        run("watch", tmp_path, "--collection", "Shre", "--off")
    assert not Collection.objects.filter(name="Shre").exists()
    monkeypatch.chdir(tmp_path.parent)
    run("watch", tmp_path.name, "--collection", "Share")
    assert WatchedFolder.objects.get() == folder, "a relative path is the same folder"
    assert "watched no longer" in run("watch", tmp_path.name, "--collection", "Share", "--off")
    folder.refresh_from_db()
    assert not folder.enabled
    assert "No folder is watched" in run("scan-folders")


def test_the_librarys_log_does_not_stand_between_their_lines(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ingestion")
    (tmp_path / "a.md").write_text("# Alpha\n\nText.")
    run("import", tmp_path, "--collection", "Share")
    run("watch", tmp_path, "--collection", "Share")
    assert [record for record in caplog.records if record.name == "ingestion.audit"] == []
    (tmp_path / "b.md").write_text("# Beta\n\nText.")
    run("import", tmp_path, "--collection", "Share", "-v", 2)
    assert "ingestion.audit" in {record.name for record in caplog.records}
