"""`manage.py ingest`: folders, second runs, what is refused, and the exit code."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command

from ingestion.models import Chunk, Collection, Document, DocumentVersion, State
from tests.support.factories import make_collection

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_worker")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "hand book"
    (made / "deep").mkdir(parents=True)
    (made / ".git").mkdir()
    (made / "beam.md").write_text("# Beam\n\nThe long arm of a steelyard.\n")
    (made / "deep" / "hook.txt").write_text("The hook carries the load.\n")
    (made / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    (made / ".hidden.md").write_text("# Hidden\n")
    (made / ".git" / "config.txt").write_text("not a document")
    return made


def ingest(*arguments: object, collection: str = "Handbook") -> str:
    """What the command prints, errors included."""
    out = StringIO()
    call_command("ingest", *map(str, arguments), "--collection", collection, stdout=out, stderr=out)
    return out.getvalue()


def failing(*arguments: object) -> tuple[str, str]:
    """What a failing command prints, and the error it ends with."""
    out = StringIO()
    with pytest.raises(CommandError) as error:
        call_command(
            "ingest", *map(str, arguments), "--collection", "Handbook", stdout=out, stderr=out
        )
    return out.getvalue(), str(error.value)


def test_folder_is_walked_to_searchable_chunks(folder: Path) -> None:
    printed = ingest(folder)

    sources = set(Document.objects.values_list("source", flat=True))
    assert sources == {str(folder / "beam.md"), str(folder / "deep" / "hook.txt")}
    assert Chunk.objects.filter(searchable=True).count() == 2
    assert "2 new" in printed
    assert "no parser reads them: 1 .png" in printed
    assert "processed here" in printed


def test_second_run_ingests_only_what_changed(folder: Path) -> None:
    ingest(folder)
    (folder / "beam.md").write_text("# Beam\n\nIt is longer now.\n")
    (folder / "new.md").write_text("# New\n\nAn added page.\n")
    printed = ingest(folder)

    assert "1 new, 1 changed, 1 unchanged" in printed
    beam = Document.objects.get(source=str(folder / "beam.md"))
    assert [version.number for version in beam.versions.order_by("number")] == [1, 2]
    texts = list(
        Chunk.objects.filter(searchable=True, document=beam).values_list("text", flat=True)
    )
    assert len(texts) == 1
    assert "longer now" in texts[0]


def test_unchanged_folder_does_nothing(folder: Path) -> None:
    ingest(folder)
    before = list(DocumentVersion.objects.order_by("pk").values())
    printed = ingest(folder)

    assert "2 unchanged" in printed
    assert list(DocumentVersion.objects.order_by("pk").values()) == before


def test_same_bytes_under_another_name_are_one_document(folder: Path) -> None:
    (folder / "copy.md").write_bytes((folder / "beam.md").read_bytes())
    printed = ingest(folder)

    assert Document.objects.count() == 2
    assert f"Duplicate: {folder / 'copy.md'} has the bytes of" in printed
    assert "2 new, 1 duplicate" in printed


def test_refused_file_is_named_and_the_rest_goes_in(folder: Path) -> None:
    (folder / "empty.md").touch()
    printed, error = failing(folder)

    assert f"Refused: {folder / 'empty.md'}" in printed
    assert "2 new, 1 refused" in printed
    assert error == "1 file(s) cannot be searched."
    assert Document.objects.count() == 2


def test_unsupported_file_that_was_named_is_refused(folder: Path) -> None:
    printed, _ = failing(folder / "picture.png")
    assert "PNG image" in printed


def test_failed_file_is_named_with_its_reason_and_tried_again(folder: Path) -> None:
    broken = folder / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nnothing else\n")
    printed, error = failing(folder)
    again, _ = failing(folder)

    version = DocumentVersion.objects.get(file_name="broken.pdf")
    assert version.state == State.FAILED
    assert f"Failed: {broken}: {version.error}" in printed
    assert error == "1 file(s) cannot be searched."
    assert "2 unchanged, 1 tried again" in again


def test_no_wait_leaves_the_work_to_the_workers(folder: Path) -> None:
    printed = ingest(folder, "--no-wait")

    assert "2 new; queued for the workers" in printed
    assert set(DocumentVersion.objects.values_list("state", flat=True)) == {State.QUEUED}
    assert "2 unchanged" in ingest(folder)  # and this one finishes them
    assert set(DocumentVersion.objects.values_list("state", flat=True)) == {State.READY}


def test_new_collection_gets_its_audience(folder: Path) -> None:
    Group.objects.create(name="insiders")
    ingest(folder, "--no-wait", "--group", "insiders", "--language", "de")

    collection = Collection.objects.get(name="Handbook")
    assert (collection.visibility, collection.groups.get().name) == ("groups", "insiders")
    assert set(Document.objects.values_list("language", flat=True)) == {"de"}


def test_known_collection_keeps_its_audience(folder: Path) -> None:
    make_collection("Handbook", visibility="signed_in")
    printed = ingest(folder, "--no-wait", "--visibility", "public")

    assert Collection.objects.get(name="Handbook").visibility == "signed_in"
    assert "stays visible to: Signed-in users" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing-folder"], "no such file or folder: missing-folder"),
        ([".", "--group", "nobody-knows"], "no group 'nobody-knows'"),
        ([".", "--language", "English"], "is no language code"),
        ([".", "--visibility", "public", "--group", "insiders"], "goes with --visibility groups"),
    ],
)
def test_wrong_arguments_are_a_message(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Group.objects.create(name="insiders")
    with pytest.raises(CommandError, match=message):
        ingest(*arguments)
    assert not Document.objects.exists()
