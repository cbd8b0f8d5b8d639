"""`import_documents`, `export_collection` and `import_collection`."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from ingestion.intake.import_archives import ArchiveSource
from ingestion.models import Chunk, Collection, Document, DocumentVersion, Import, ImportItem, State
from tests.samples.builders import make_zip

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_worker")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "hand book"
    (made / "deep").mkdir(parents=True)
    (made / ".git").mkdir()
    (made / "beam.md").write_text("# Beam\n\nThe long arm of a steelyard.\n")
    (made / "deep" / "hook.txt").write_text("The hook carries the load.\n")
    (made / "picture.gif").write_bytes(b"GIF89a" + bytes(40))
    (made / ".hidden.md").write_text("# Hidden\n")
    (made / ".git" / "config.txt").write_text("not a document")
    return made


def run(name: str, *arguments: object) -> str:
    """What the command prints, errors included."""
    out = StringIO()
    call_command(name, *map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


def import_(*arguments: object) -> str:
    return run("import_documents", *arguments, "--collection", "Handbook")


def failing(*arguments: object) -> tuple[str, str]:
    """What a failing import prints, and the error it ends with."""
    out = StringIO()
    with pytest.raises(CommandError) as error:
        call_command(
            "import_documents", *map(str, arguments), collection="Handbook", stdout=out, stderr=out
        )
    return out.getvalue(), str(error.value)


def test_folder_import_makes_searchable_chunks(folder: Path) -> None:
    printed = import_(folder)

    sources = set(Document.objects.values_list("source", flat=True))
    assert sources == {str(folder / "beam.md"), str(folder / "deep" / "hook.txt")}
    assert Chunk.objects.filter(searchable=True).count() == 2
    assert "2 added, 1 skipped" in printed
    assert "Skipped: picture.gif: “picture.gif” contains a GIF image" in printed
    assert "processed here" in printed


def test_second_run_ingests_only_what_changed(folder: Path) -> None:
    import_(folder)
    (folder / "beam.md").write_text("# Beam\n\nIt is longer now.\n")
    (folder / "new.md").write_text("# New\n\nAn added page.\n")
    printed = import_(folder)

    assert "1 added, 1 new version, 1 duplicate" in printed
    beam = Document.objects.get(source=str(folder / "beam.md"))
    assert [version.number for version in beam.versions.order_by("number")] == [1, 2]
    texts = list(
        Chunk.objects.filter(searchable=True, document=beam).values_list("text", flat=True)
    )
    assert len(texts) == 1
    assert "longer now" in texts[0]


def test_named_files_are_one_import_and_each_must_be_readable(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "empty.md").touch()
    monkeypatch.chdir(folder)
    names = ("beam.md", "deep/hook.txt", ".hidden.md", "empty.md", "picture.gif")
    printed, error = failing(*names)

    assert f"Import {Import.objects.get().pk}: 5 file(s) in {folder}" in printed
    assert "Failed: empty.md: " in printed
    assert "Failed: picture.gif: “picture.gif” contains a GIF image" in printed
    assert "3 added, 2 failed" in printed
    assert error == "2 item(s) cannot be searched."
    assert set(Document.objects.values_list("source", flat=True)) == {
        str(folder / name) for name in names[:3]
    }


def test_file_name_that_is_not_utf8_is_imported(tmp_path: Path) -> None:
    path = Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9.md"))
    path.write_text("# Coffee\n\nText.")
    import_(path)
    assert Document.objects.get().source == f"{tmp_path}/caf\ufffd.md"


def test_archive_is_imported_as_members_or_as_one_document(tmp_path: Path) -> None:
    path = tmp_path / "pages.zip"
    path.write_bytes(make_zip({"a.md": "# A\n\nText.", "b.md": "# B\n\nMore text."}))
    import_(path, "--no-wait")
    assert set(Document.objects.values_list("source", flat=True)) == {"a.md", "b.md"}
    import_(path, "--no-wait", "--kind", "file")
    assert Document.objects.filter(source=str(path)).exists()


def test_refused_origin_leaves_no_import(folder: Path) -> None:
    _, error = failing(folder, "https://example.org/")
    assert "disabled" in error
    (folder / "data.csv").write_text("colour\nred\n")
    _, error = failing(folder, folder / "data.csv")
    assert error.endswith("To import it as one document: --kind file.")
    assert not Import.objects.exists()
    assert not Collection.objects.filter(name="Handbook").exists()


def test_an_import_that_cannot_go_on_does_not_stop_the_next(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(source: ArchiveSource, item: ImportItem) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(ArchiveSource, "take", unreadable)
    path = tmp_path / "pages.zip"
    path.write_bytes(make_zip({"a.md": "# A\n\nText."}))
    printed, error = failing(path, folder)
    stopped = Import.objects.get(kind=Import.Kind.ARCHIVE)
    assert "(Input/output error)" in error
    assert error.endswith(f"Then run: import_documents --resume {stopped.pk}")
    assert "2 added" in printed


def test_failed_file_is_named_with_its_reason_and_tried_again(folder: Path) -> None:
    broken = folder / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nnothing else\n")
    printed, error = failing(folder)
    again, _ = failing(folder)

    version = DocumentVersion.objects.get(file_name="broken.pdf")
    assert version.state == State.FAILED
    assert f"Failed: {broken}: {version.error}" in printed
    assert error == "1 item(s) cannot be searched."
    assert "1 tried again" in again
    assert "3 duplicate" in again


def test_no_wait_leaves_the_work_to_the_workers(folder: Path) -> None:
    printed = import_(folder, "--no-wait")

    assert "2 added, 1 skipped; queued for the workers" in printed
    assert set(DocumentVersion.objects.values_list("state", flat=True)) == {State.QUEUED}
    assert "2 duplicate" in import_(folder)  # and this one finishes them
    assert set(DocumentVersion.objects.values_list("state", flat=True)) == {State.READY}


def test_options_give_language_and_metadata_to_all_documents(folder: Path) -> None:
    given = ("--metadata", "owner=Ann", "--metadata", "year=2024")
    import_(folder, "--no-wait", "--language", "de", *given)

    assert set(Document.objects.values_list("language", flat=True)) == {"de"}
    for metadata in Document.objects.values_list("metadata", flat=True):
        assert {"owner": "Ann", "year": 2024}.items() <= metadata.items()


def test_interrupted_import_is_continued_by_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pages.zip"
    path.write_bytes(make_zip({f"{n}.md": f"# Page {n}\n\nText {n}." for n in range(4)}))

    with monkeypatch.context() as patched:
        take = ArchiveSource.take

        def interrupted(source: ArchiveSource, item: ImportItem) -> object:
            if item.reference == "2.md":
                raise KeyboardInterrupt
            return take(source, item)

        patched.setattr(ArchiveSource, "take", interrupted)
        with pytest.raises(CommandError, match="import_documents --resume"):
            run("import_documents", path, "--collection", "Pages")
    assert Document.objects.count() == 2

    printed = run("import_documents", "--resume", Import.objects.get().pk)
    assert "4 added" in printed
    assert Chunk.objects.filter(searchable=True).count() == 4
    assert "4 duplicate" in run("import_documents", path, "--collection", "Pages")

    export = tmp_path / "out.zip"
    run("export_collection", "Pages", export)
    with pytest.raises(CommandError, match="--force"):
        run("export_collection", "pages", export)
    assert "existing: 4 documents" in run("import_collection", export)


def test_an_export_that_does_not_exist_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "nope.zip", tmp_path):
        with pytest.raises(CommandError, match=f"There is no file {path}"):
            run("import_collection", path)
