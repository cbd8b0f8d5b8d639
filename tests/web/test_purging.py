"""Purges: in batches, out of search from the first one on, continued after a worker's death."""

from __future__ import annotations

import pytest
from django.db.models import QuerySet

from common.accounts.models import User
from ingestion import services
from ingestion.documents import purging
from ingestion.errors import StateConflict
from ingestion.lexical import terms
from ingestion.models import Chunk, Collection, Document, Purge
from search.pipeline import search
from tests.faults.harness import assert_statistics_equal_a_recount
from tests.support.admin_client import signed_in
from tests.support.factories import make_collection, make_document
from tests.support.long_documents import make_long_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers")]

LEDGER = "# Ledger\n\nThe harbour master enters every ship by name and tonnage."
TIDES = "# Tides\n\nHigh water comes twice a day."
PASSAGES = 2_500
BIN = "/admin/ingestion/deleteddocument/"


class Died(BaseException):
    """The end of a worker."""


@pytest.fixture
def archive() -> Collection:
    """A collection of a long and a short document."""
    collection = make_collection("Archive")
    make_document(collection, "# Crew\n\nThe crew of the harbour office.", file_name="crew.md")
    make_long_document(collection, LEDGER, PASSAGES)
    return collection


def titles(question: str) -> list[str]:
    return [result.title for result in search(question, viewer=None).results]


def assert_counted() -> None:
    terms.fold()
    assert_statistics_equal_a_recount()


def test_a_long_document_goes_in_batches_and_a_death_costs_one(archive: Collection) -> None:
    make_document(make_collection("Log"), TIDES, file_name="tides.md")
    ledger = Document.objects.get(title="Ledger")
    assert titles("harbour master ship tonnage")[:1] == ["Ledger"]
    seen: list[tuple[list[str], list[str]]] = []

    def look(passages: int) -> None:
        assert passages <= purging.AT_ONCE
        seen.append((titles("harbour master ship tonnage"), titles("high water")))
        if len(seen) == 2:
            raise Died

    with pytest.raises(Died):
        purging.purge([ledger], acting_user=None, erased=look)
    assert all("Ledger" not in found and water[:1] == ["Tides"] for found, water in seen)
    assert Chunk.objects.filter(document=ledger).count() == PASSAGES - purging.AT_ONCE
    assert_counted()
    with pytest.raises(StateConflict, match="being deleted permanently"):
        services.restore([ledger], acting_user=None)

    assert services.purge_bin() == (1, 0)
    assert set(Document.objects.values_list("title", flat=True)) == {"Crew", "Tides"}
    assert not Chunk.objects.filter(document=ledger).exists()
    assert_counted()


def test_a_collection_goes_in_slices_that_the_bin_shows(
    archive: Collection, administrator: User
) -> None:
    services.delete_collection(archive, acting_user=administrator)
    services.purge_collection_later(archive, acting_user=administrator)
    assert titles("harbour") == []
    purge = Purge.objects.get()
    slices, shown = 0, []
    while not purging.advance(purge.pk, seconds=0):
        slices += 1
        page = " ".join(signed_in(administrator).get(BIN).content.decode().split())
        shown.append(next((n for n in (1, 1001, 2001, 2501) if f"({n} of 2501" in page), None))
    assert shown == [1, 1001, 2001, 2501]
    assert not Purge.objects.exists()
    assert not Collection.objects.exists()
    assert not Chunk.objects.exists()
    assert_counted()


def test_a_collection_restored_meanwhile_keeps_what_is_left(archive: Collection) -> None:
    services.delete_collection(archive, acting_user=None)
    services.purge_collection_later(archive, acting_user=None)
    purging.advance(Purge.objects.get().pk, seconds=0)
    purging.advance(Purge.objects.get().pk, seconds=0)
    assert Chunk.objects.count() == PASSAGES - purging.AT_ONCE

    services.restore_collection(archive, acting_user=None)
    assert titles("harbour") == []
    assert_counted()
    (half,) = Purge.objects.all()
    assert half.collection is None
    while not purging.advance(half.pk, seconds=0):
        pass
    assert not Document.objects.exists()
    assert Collection.objects.get() == archive


def test_a_collection_restored_before_its_long_document_keeps_it(
    archive: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker has the list of documents, and is about to take the long one out of search."""
    services.purge([Document.objects.get(title="Crew")], acting_user=None)
    services.delete_collection(archive, acting_user=None)
    services.purge_collection_later(archive, acting_user=None)
    inside = purging._inside

    def restored_meanwhile(collection: Collection | None) -> QuerySet[Document]:
        services.restore_collection(archive, acting_user=None)
        return inside(collection)

    with monkeypatch.context() as patched:
        patched.setattr(purging, "_inside", restored_meanwhile)
        assert not purging.advance(Purge.objects.get().pk)
    assert not Purge.objects.exists()
    assert Document.objects.get().deleted_at is None
    assert titles("harbour master ship tonnage") == ["Ledger"]
    assert Chunk.objects.count() == PASSAGES
    assert_counted()


def test_many_passages_of_the_bin_are_left_to_a_worker(
    archive: Collection, administrator: User
) -> None:
    services.delete(Document.objects.all(), acting_user=administrator)
    chosen = [str(pk) for pk in Document.objects.values_list("pk", flat=True)]
    client = signed_in(administrator)
    answer = client.post(
        BIN, {"action": "purge_selected", "_selected_action": chosen}, follow=True
    ).content.decode()
    assert "2 documents are being deleted permanently" in answer
    assert "0% erased" in answer
    assert Document.objects.count() == 2
    assert services.purge_bin() == (2, 0)
    assert "erased" not in client.get(BIN).content.decode()


def test_a_purge_that_crashes_its_worker_says_so_and_is_tried_again(archive: Collection) -> None:
    services.delete_collection(archive, acting_user=None)
    services.purge_collection_later(archive, acting_user=None)
    Purge.objects.update(attempts=9)
    assert not purging.advance(Purge.objects.get().pk)
    assert "stopped unexpectedly" in Purge.objects.get().error
    assert services.purge_bin() == (2, 1)
