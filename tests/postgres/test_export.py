"""A collection taken away and brought back: equal results, the same ids, and nothing hostile."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import transaction

from common.accounts.models import User
from ingestion import services
from ingestion.documents import processing_steps
from ingestion.exporting import restoring, writing
from ingestion.intake.import_protocol import ImportRefused
from ingestion.lexical import bm25_weights
from ingestion.models import Chunk, ChunkEdit, Collection, Document, DocumentVersion, Visibility
from ingestion.models.versions import UNFINISHED
from search.models import Pin
from search.pipeline import search
from search.tuning.models import GoldenQuery, Judgement
from tests.samples.builders import make_zip
from tests.support.admin_client import staff
from tests.support.factories import make_collection, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers", "clean_cache")]

QUERIES = (
    "counterweight", "how do I weigh a sack", "hook", "INC-2024-0042", "pinned words", "part",
    "the load of a counterweight",
)  # fmt: skip


def process() -> None:
    """What workers would do, parts of documents included."""
    while pks := list(
        DocumentVersion.objects.filter(state__in=UNFINISHED, not_before=None).values_list(
            "pk", flat=True
        )
    ):
        for pk in pks:
            processing_steps.advance(pk)
    bm25_weights.fold()


def fill(user: User) -> Collection:
    """A collection with all that an export keeps."""
    shelf = make_collection("Scales", visibility=Visibility.GROUPS, groups=["insiders"])
    beam = upload(
        shelf, "# Beam\n\nThe counterweight slides along the beam. See INC-2024-0042.", source="/a"
    )
    upload(shelf, "# Hook\n\nThe hook carries the load: a sack to be weighed.", title="The hook")
    parts = {"one.md": "# One\n\nA part about sacks.", "two.md": "# Two\n\nA part about weights."}
    upload(shelf, make_zip(parts), file_name="parts.zip")
    process()
    chunk = Chunk.objects.get(text__contains="carries the load")
    services.edit_chunk(
        chunk,
        services.Wish(text="The hook bears the load, in edited words.", note="Mended"),
        acting_user=user,
        seen=chunk.content_hash,
    )
    for text, wish in (
        ("A part about weights.", services.Wish(disabled=True)),
        ("A part about sacks.", services.Wish(questions=("the load of a counterweight",))),
    ):
        services.edit_chunk(Chunk.objects.get(text__contains=text), wish, acting_user=user)
    process()
    query = GoldenQuery.objects.create(text="Where is the counterweight?", collections=[shelf.slug])
    Judgement.objects.create(
        query=query, document=beam.document, reference=beam.document.public_id,
        title="Beam", grade=3, judge=user, judge_name=user.username,
    )  # fmt: skip
    Pin.objects.create(query="pinned words", document=beam.document)
    return shelf


def results(user: User) -> list[tuple[str, list[tuple[str, float, str]]]]:
    """For each query the documents, scores and passages, in order."""
    found = []
    for query in QUERIES:
        response = search(query, viewer=user)
        rows = [(hit.document_id, hit.hit.score, hit.text) for hit in response.results]
        found.append((query, rows))
    return found


def exported(user: User, path: Path) -> list[Any]:
    """Fills a library, exports it, and leaves the database as it was: the results it gave."""
    with transaction.atomic():
        shelf = fill(user)
        before = results(user)
        path.write_bytes(b"".join(writing.export(shelf)))
        transaction.set_rollback(True)
    assert not Document.objects.exists()
    return before


def test_an_export_restored_elsewhere_gives_equal_results(
    administrator: User, tmp_path: Path
) -> None:
    path = tmp_path / "scales.zip"
    before = exported(administrator, path)
    assert sum(len(rows) for _, rows in before) > len(QUERIES)

    done = restoring.restore(path)
    process()

    assert results(administrator) == before
    assert done.created == {
        "documents": 5, "edits": 3, "golden-queries": 1, "judgements": 1, "pins": 1,
    }  # fmt: skip
    assert done.collection.visibility == Visibility.GROUPS
    assert [group.name for group in done.collection.groups.all()] == ["insiders"]
    states = ChunkEdit.objects.values_list("state", flat=True)
    assert set(states) == {ChunkEdit.State.APPLIED}
    assert not Chunk.objects.get(text__contains="A part about weights.").searchable
    assert Document.objects.filter(parent__title="parts").count() == 2

    again = restoring.restore(path)
    process()
    assert not again.created
    assert again.existing == done.created
    assert Document.objects.count() == DocumentVersion.objects.count() == 5
    assert results(administrator) == before


def test_a_restore_that_was_killed_goes_on(administrator: User, tmp_path: Path) -> None:
    path = tmp_path / "scales.zip"
    before = exported(administrator, path)
    seen = []

    def kill(kind: str) -> None:
        seen.append(kind)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restoring.restore(path, check=kill)
    assert Document.objects.count() == 3
    process()  # held back until all is there
    assert not Chunk.objects.exists()
    done = restoring.restore(path)
    process()
    assert done.existing["documents"] == 3
    assert results(administrator) == before


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    target = path.with_name("changed.zip")
    target.write_bytes(make_zip(files))
    return target


def other_version(files: dict[str, bytes]) -> None:
    manifest = json.loads(files["manifest.json"])
    files["manifest.json"] = json.dumps({**manifest, "version": 99}).encode()


def no_manifest(files: dict[str, bytes]) -> None:
    files["manifest.json"] = b"[" * 100_000


def other_bytes(files: dict[str, bytes]) -> None:
    for name in files:
        if name.startswith("files/"):
            files[name] += b"!"


def no_files(files: dict[str, bytes]) -> None:
    for name in [name for name in files if name.startswith("files/")]:
        del files[name]


def broken_line(files: dict[str, bytes]) -> None:
    files["documents.jsonl"] = b'{"id": "no-uuid"}\n'


def slipping_name(files: dict[str, bytes]) -> None:
    row = json.loads(files["documents.jsonl"].splitlines()[0])
    row["file"]["sha256"] = "../../etc/passwd"
    files["documents.jsonl"] = json.dumps(row).encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (other_version, "format 99; this release supports format 2"),
        (no_manifest, "manifest cannot be read"),
        (other_bytes, "has changed"),
        (no_files, "is missing"),
        (broken_line, "documents: a row is not valid"),
        (slipping_name, "is missing"),
    ],
)
def test_foreign_archive_is_refused(
    change: Callable[[dict[str, bytes]], None], message: str, administrator: User, tmp_path: Path
) -> None:
    path = tmp_path / "small.zip"
    with transaction.atomic():
        shelf = make_collection()
        upload(shelf, "# Note\n\nText.")
        path.write_bytes(b"".join(writing.export(shelf)))
        transaction.set_rollback(True)
    with pytest.raises(ImportRefused, match=message):
        restoring.restore(rewritten(path, change))
    assert not Document.objects.exists()


def test_documents_keep_their_ids_and_are_in_one_collection(tmp_path: Path) -> None:
    shelf = make_collection()
    upload(shelf, "# Note\n\nText.")
    path = tmp_path / "x.zip"
    path.write_bytes(b"".join(writing.export(shelf)))
    with pytest.raises(ImportRefused, match="already exists"):
        restoring.restore(path, name="Copy")
    assert not Collection.objects.filter(name="Copy").exists(), "an empty one was left"

    empty = make_collection("Copy")
    with pytest.raises(ImportRefused, match="already exists"):
        restoring.restore(path, name="Copy")
    assert Collection.objects.get(name="Copy") == empty, "one that was there stays"


def test_only_editors_may_export_a_collection(
    reader: User, member: User, administrator: User
) -> None:
    shelf = make_collection("Inner", visibility=Visibility.GROUPS, groups=["insiders"])
    assert writing.may_export(administrator, shelf)
    assert not writing.may_export(member, shelf)
    assert not writing.may_export(reader, shelf)
    assert not writing.may_export(AnonymousUser(), shelf)


@pytest.mark.parametrize(
    ("permissions", "expected"),
    [
        (["change_collection"], set()),
        (["change_collection", "view_judgement"], {"How deep is it?"}),
    ],
)
def test_an_export_has_the_golden_queries_that_its_reader_may_see(
    permissions: list[str], expected: set[str]
) -> None:
    shelf = make_collection("Open")
    closed = make_collection("Closed", visibility=Visibility.GROUPS, groups=["insiders"])
    document = upload(shelf, "# Note\n\nText.").document
    for text, slugs in (("How deep is it?", []), ("Secret question", [shelf.slug, closed.slug])):
        query = GoldenQuery.objects.create(text=text, collections=slugs)
        Judgement.objects.create(
            query=query, document=document, reference=document.public_id, grade=3, judge_name="a"
        )

    def texts(pieces: Iterable[bytes]) -> tuple[set[str], set[str]]:
        with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
            names = ("golden-queries.jsonl", "judgements.jsonl")
            rows = [map(json.loads, archive.read(name).splitlines()) for name in names]
        queries, judgements = ({row["text"] for row in each} for each in rows)
        return queries, judgements

    editor = staff("editor", *permissions)
    assert texts(writing.streamed(shelf, editor)) == (expected, expected)  # type: ignore[arg-type]
    everything = {"How deep is it?", "Secret question"}
    assert texts(writing.export(shelf)) == (everything, everything)


def test_export_keeps_at_most_one_block_in_memory() -> None:
    shelf = make_collection()
    upload(shelf, "word " * 700_000, file_name="large.txt")
    pieces = list(writing.export(shelf))
    assert sum(map(len, pieces)) > 3_000_000
    assert max(map(len, pieces)) < 2 * writing.BLOCK_BYTES
