"""The bin: out of search at once, back as it was, or gone without a trace."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.core.cache import cache
from django.db import connection
from django.test import override_settings
from django.utils import timezone
from redis import Redis

from common.accounts.models import User
from common.jobs import LeaseLost, claim, sweep
from ingestion import services
from ingestion.documents import processing_steps, purging
from ingestion.documents.progress import Watch
from ingestion.errors import StateConflict
from ingestion.lexical import bm25_weights
from ingestion.models import Chunk, Document, DocumentVersion, Purge, State, TermFrequency
from search.models import Pin
from search.tuning.models import GoldenQuery, Judgement
from tests.support.factories import empty_bin, make_collection, make_document, upload
from tests.support.shown_results import titles

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers")]

PUMPS = "# Water pumps\n\nThe bilge pump is greased at noon, whatever the weather may be.\n"
MARKER = "xylobrontide"
MARKED = f"# On {MARKER}\n\nThe {MARKER} is found in dry caves only. Its code is {MARKER}-4711.\n"


def frequencies() -> dict[str, int]:
    bm25_weights.fold()
    return dict(TermFrequency.objects.values_list("lexeme", "chunks"))


def test_search_loses_a_deleted_document_and_its_statistics_at_once() -> None:
    collection = make_collection()
    document = make_document(collection, PUMPS)
    make_document(collection, "# Sails\n\nThe sail is mended in the evening.\n", file_name="s.md")
    assert services.delete([document], acting_user=None) == 1
    assert titles("bilge pump greased") in ([], ["Sails"])
    assert "bilg" not in frequencies()
    assert frequencies()["sail"] == 1
    assert not Document.objects.visible_to(None).filter(pk=document.pk).exists()
    assert services.delete([document], acting_user=None) == 0


def test_restored_document_is_searchable_without_processing(administrator: User) -> None:
    document = make_document(make_collection(), PUMPS)
    before = frequencies()
    services.delete([document], acting_user=administrator)
    assert services.restore([document], acting_user=administrator) == 1
    assert titles("bilge pump greased") == ["Water pumps"]
    assert frequencies() == before
    messages = LogEntry.objects.filter(object_id=document.pk).values_list("change_message")
    assert [text for (text,) in messages] == ["Restored from the bin", "Put in the bin"]
    assert services.restore([document], acting_user=administrator) == 0


def test_work_under_way_stops_and_goes_on_after_a_restore() -> None:
    receipt = upload(make_collection(), PUMPS)
    lease = claim(DocumentVersion, receipt.version.pk)
    assert lease is not None
    services.delete([receipt.document], acting_user=None)
    with pytest.raises(LeaseLost):
        lease.update(progress=0.5)
    with pytest.raises(LeaseLost), lease.writing():
        pytest.fail("Nothing is written for a deleted document")
    assert claim(DocumentVersion, receipt.version.pk) is None
    DocumentVersion.objects.update(created=timezone.now() - timedelta(minutes=5))
    assert sweep(DocumentVersion) == 0
    services.restore([receipt.document], acting_user=None)
    assert processing_steps.advance(receipt.version.pk)
    assert titles("bilge pump") == ["Water pumps"]


def test_document_in_the_bin_is_not_restored_over_a_new_upload_of_its_file() -> None:
    collection = make_collection()
    old = make_document(collection, PUMPS, source="a/pumps.md")
    services.delete([old], acting_user=None)
    receipt = upload(collection, PUMPS, source="a/pumps.md")
    assert (receipt.outcome, receipt.document.pk != old.pk) == ("added", True)
    with pytest.raises(StateConflict, match="uploaded again"):
        services.restore([old], acting_user=None)
    services.purge([receipt.document])
    assert services.restore([old], acting_user=None) == 1
    assert titles("bilge pump") == ["Water pumps"]


def test_refused_restore_names_the_document_with_the_same_source() -> None:
    collection = make_collection()
    old = make_document(collection, PUMPS, source="a/pumps.md")
    services.delete([old], acting_user=None)
    upload(collection, PUMPS + "More.", source="a/pumps.md", file_name="later.md")
    with pytest.raises(StateConflict, match="the same source"):
        services.restore([old], acting_user=None)


def test_deleting_and_restoring_an_archive_includes_its_members() -> None:
    collection = make_collection()
    whole = make_document(collection, "# Letter\n\nSee what is enclosed.\n", file_name="letter.md")
    parts = [
        make_document(collection, f"# Part {n}\n\nEnclosed is number {n}.\n", file_name=f"{n}.md")
        for n in (1, 2)
    ]
    for part in parts:
        Document.objects.filter(pk=part.pk).update(parent=whole, part_path=f"{part.pk}.md")
    services.delete([parts[0]], acting_user=None)
    services.delete([whole], acting_user=None)
    assert titles("enclosed number") == []
    with pytest.raises(StateConflict, match="part of “Letter”"):
        services.restore([parts[1]], acting_user=None)
    services.restore([whole], acting_user=None)
    assert set(titles("enclosed number")) == {"Letter", "Part 2"}
    services.delete([whole], acting_user=None)
    Document.objects.update(deleted_at=timezone.now() - purging.grace())
    services.purge_bin()
    # The whole is condemned once, with its parts.
    assert Purge.objects.count() == 1
    assert set(Document.objects.values_list("deleted_at", flat=True)) == {purging.LONG_AGO}
    empty_bin()
    assert not Document.objects.exists()


@pytest.mark.parametrize("source", ["", "/notes/1.md"])
def test_a_file_for_a_collection_that_was_put_in_the_bin_meanwhile_is_refused(source: str) -> None:
    """The document there of the same source keeps its place, for when the collection comes back."""
    collection = make_collection()
    receive = partial(services.receive, collection, file_name="1.md", source=source)
    receive(io.BytesIO(b"# One"), acting_user=None)
    services.delete_collection(collection, acting_user=None)
    with pytest.raises(StateConflict, match="is in the bin"):
        receive(io.BytesIO(b"# Two"), acting_user=None)
    assert DocumentVersion.objects.count() == 1


def test_bin_is_emptied_after_the_grace_period() -> None:
    collection = make_collection()
    old, young = (make_document(collection, PUMPS + word) for word in ("Old.", "Young."))
    services.delete([old, young], acting_user=None)
    long_ago = timezone.now() - purging.grace() - timedelta(minutes=1)
    Document.objects.filter(pk=old.pk).update(deleted_at=long_ago)
    empty_bin()
    assert list(Document.objects.values_list("pk", flat=True)) == [young.pk]


class TestCollections:
    def test_deleted_collection_is_unreadable_and_its_name_is_free(self) -> None:
        collection = make_collection("Handbook")
        make_document(collection, PUMPS)
        services.delete_collection(collection, acting_user=None)
        assert titles("bilge pump") == []
        assert not Chunk.objects.visible_to(None).exists()
        assert not Document.objects.undeleted().exists()
        other = make_collection("Handbook")
        with pytest.raises(StateConflict, match="Rename"):
            services.restore_collection(collection, acting_user=None)
        other.delete()
        services.restore_collection(collection, acting_user=None)
        assert titles("bilge pump") == ["Water pumps"]

    def test_documents_cannot_be_restored_before_their_collection(self) -> None:
        collection = make_collection()
        receipt = upload(collection, PUMPS)
        services.delete([receipt.document], acting_user=None)
        services.delete_collection(collection, acting_user=None)
        with pytest.raises(StateConflict, match="restore it first"):
            services.restore([receipt.document], acting_user=None)
        assert claim(DocumentVersion, receipt.version.pk) is None


def everywhere() -> Iterator[tuple[str, str]]:
    """Each place and what stands in it: columns of all tables, files, keys and values of Redis."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " JOIN information_schema.tables USING (table_schema, table_name)"
            " WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
        )
        for table, column in cursor.fetchall():
            cursor.execute(f'SELECT "{column}"::text FROM "{table}" WHERE "{column}" IS NOT NULL')
            for (value,) in cursor.fetchall():
                yield f"{table}.{column}", value
    for path in Path(settings.MEDIA_ROOT).rglob("*"):
        if path.is_file():
            yield str(path), path.name + path.read_text(errors="replace")
    redis = Redis.from_url(settings.CACHES["default"]["LOCATION"])
    for key in redis.scan_iter():
        kind = redis.type(key)
        held = {b"string": redis.get, b"hash": redis.hgetall}.get(kind)
        held = held or {b"list": lambda k: redis.lrange(k, 0, -1), b"set": redis.smembers}.get(kind)
        yield repr(key), repr(held(key)) if held else ""


def places_of(word: str) -> set[str]:
    return {place for place, value in everywhere() if word in value.casefold()}


@pytest.mark.usefixtures("clean_cache")
@pytest.mark.parametrize("graced", [True, False], ids=["through the bin", "at once"])
def test_purged_document_leaves_no_row_and_no_file(
    administrator: User, graced: bool, django_capture_on_commit_callbacks: Any
) -> None:
    collection = make_collection()
    file = io.BytesIO(MARKED.encode())
    receipt = services.receive(
        collection, file, file_name=f"{MARKER}.md", source=f"/data/{MARKER}.md",
        acting_user=administrator,
    )  # fmt: skip
    processing_steps.advance(receipt.version.pk)
    document = receipt.document
    chunk = Chunk.objects.get()
    wish = services.Wish(f"{chunk.text} So says {MARKER}.", note=MARKER, questions=(f"a {MARKER}",))
    services.edit_chunk(chunk, wish, acting_user=administrator)
    bm25_weights.fold()
    query = GoldenQuery.objects.create(text="dry caves")
    document.refresh_from_db()
    Judgement.objects.create(
        query=query, document=document, reference=document.public_id, title=document.title,
        grade=3, judge_name="x",
    )  # fmt: skip
    Pin.objects.create(query="caves", document=document)
    assert titles(f"{MARKER} caves")
    assert len(places_of(MARKER)) > 10

    with django_capture_on_commit_callbacks(execute=True):
        if graced:
            services.delete([document], acting_user=administrator)
            assert len(places_of(MARKER)) > 10
            with override_settings(DELETION_GRACE_DAYS=0):
                empty_bin()
        else:
            services.purge([document])
            bm25_weights.fold()
    assert places_of(MARKER) == set()
    judgement = Judgement.objects.get()
    assert (judgement.reference, judgement.document) == (document.public_id, None)
    assert cache.get("anything") is None
    assert LogEntry.objects.filter(object_id=document.pk, action_flag=1).count() == 1


def test_purging_keeps_a_file_that_another_document_uses(
    django_capture_on_commit_callbacks: Any,
) -> None:
    first = make_document(make_collection("One"), PUMPS)
    second = make_document(make_collection("Two"), PUMPS)
    assert first.latest is not None
    assert second.latest is not None
    path = Path(first.latest.file.path)
    with django_capture_on_commit_callbacks(execute=True):
        services.purge([first])
    assert path.exists()
    with django_capture_on_commit_callbacks(execute=True):
        services.purge([second])
    assert not path.exists()
    assert second.latest.state == State.READY


def test_watching_an_upload_ends_when_its_document_is_deleted() -> None:
    receipt = upload(make_collection(), PUMPS)
    watch = Watch([receipt.version.pk])
    assert not watch.look().is_finished
    services.delete([receipt.document], acting_user=None)
    assert watch.look().is_finished
