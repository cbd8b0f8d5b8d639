"""What people do to a document while a worker is at it: replace, delete, restore, purge, edit."""

from __future__ import annotations

import io
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import Any

import pytest
from django.db import transaction
from django.db.models import QuerySet

from common.database import released
from common.jobs import Lease
from ingestion import services
from ingestion.documents import processing_steps
from ingestion.documents.extractions import Results
from ingestion.documents.hand_edit_transfer import parsed_text
from ingestion.errors import StateConflict
from ingestion.lexical import bm25_weights
from ingestion.models import Chunk, CorpusStatistics, Document, DocumentVersion, State
from tests.faults.halted_workers import SWAP, hold, waiting_for_locks
from tests.faults.harness import (
    NOTE,
    again,
    assert_nothing_lost_or_doubled,
    finish_here,
    in_state,
    wait_for,
)
from tests.support.factories import make_collection, make_document, upload

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("clean_cache", "empty_queues", "short_leases"),
]

NEWER = NOTE.replace("green", "blue")
Deed = Callable[[Document], object]


def delete(document: Document) -> object:
    return services.delete([document], acting_user=None)


def purge(document: Document) -> object:
    return services.purge([document])


def delete_collection(document: Document) -> object:
    return services.delete_collection(document.collection, acting_user=None)


def replace(document: Document) -> object:
    file = io.BytesIO(NEWER.encode())
    return services.replace(document, file, file_name="newer.md", acting_user=None)


@pytest.mark.parametrize("state", [State.PARSING, State.CHUNKING, State.EMBEDDING])
@pytest.mark.parametrize(
    ("deed", "left"), [(replace, 1), (delete, 0), (purge, 0), (delete_collection, 0)]
)
def test_document_changed_during_processing_loses_the_old_work(
    state: State, deed: Deed, left: int
) -> None:
    """The worker stops quietly, and what it did for nothing is gone."""
    receipt = upload(make_collection(), NOTE)
    version, document = receipt.version, receipt.document
    with ThreadPoolExecutor(2) as pool, hold(version, state):
        worked = pool.submit(released, lambda: processing_steps.advance(version.pk))
        wait_for(in_state(version, state))
        done = pool.submit(released, lambda: deed(document))
        wait_for(lambda: done_or_waiting(done))
    done.result()
    assert worked.result() is False or state != State.PARSING
    finish_here()
    searched = Chunk.objects.filter(searchable=True, document__in=Document.objects.undeleted())
    assert searched.exists() is bool(left)
    assert ("blue" in text_of(searched)) is (deed is replace)
    assert_nothing_lost_or_doubled(documents=left)


def test_document_deleted_and_restored_during_processing_becomes_ready() -> None:
    receipt = upload(make_collection(), NOTE)
    version, document = receipt.version, receipt.document
    with ThreadPoolExecutor(1) as pool, hold(version, State.PARSING):
        worked = pool.submit(released, lambda: processing_steps.advance(version.pk))
        wait_for(in_state(version, State.PARSING))
        delete(document)
        services.restore([document], acting_user=None)
    assert worked.result() is False
    finish_here()
    assert in_state(version, State.READY)()
    assert_nothing_lost_or_doubled(documents=1)


def test_document_purged_before_the_swap_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receipt = upload(make_collection(), NOTE)
    activate = processing_steps.activation.activate

    def purge_first(lease: Lease[DocumentVersion], early: Results) -> bool:
        purge(receipt.document)
        return activate(lease, early)

    monkeypatch.setattr(processing_steps.activation, "activate", purge_first)
    assert processing_steps.advance(receipt.version.pk) is False
    monkeypatch.undo()
    assert Document.objects.count() == Chunk.objects.count() == 0
    assert_nothing_lost_or_doubled(documents=0)


def test_document_purged_after_its_file_was_read_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receipt = upload(make_collection(), NOTE)
    read = processing_steps.open_file

    def purge_then(*args: Any, **options: Any) -> Any:
        parsed = read(*args, **options)
        purge(receipt.document)
        return parsed

    monkeypatch.setattr(processing_steps, "open_file", purge_then)
    assert processing_steps.advance(receipt.version.pk) is False
    assert_nothing_lost_or_doubled(documents=0)


def test_hand_edit_made_during_reprocessing_is_kept() -> None:
    document = make_document(make_collection(), NOTE)
    newer = again(document)
    with ThreadPoolExecutor(1) as pool, hold(newer, State.PARSING):
        worked = pool.submit(released, lambda: processing_steps.advance(newer.pk))
        wait_for(in_state(newer, State.PARSING))
        assert edit(document, "violet")
    assert worked.result() is False
    finish_here()
    searched = Chunk.objects.filter(searchable=True)
    assert set(searched.values_list("version", flat=True)) == {newer.pk}
    assert "violet" in text_of(searched)
    assert_nothing_lost_or_doubled(documents=1)


def test_simultaneous_hand_edit_and_swap_keep_the_edit() -> None:
    """Whichever comes first, an edit that was taken is on the passage that search reads."""
    document = make_document(make_collection(), NOTE)
    taken = "green"
    for colour in ("violet", "orange", "purple"):
        newer = again(document)
        with ThreadPoolExecutor(2) as pool, hold(newer, SWAP):
            worked = pool.submit(released, partial(processing_steps.advance, newer.pk))
            wait_for(waiting_for_locks)
            edited = pool.submit(released, partial(edit, document, colour))
            wait_for(partial(done_or_waiting, edited))
        worked.result()
        taken = colour if edited.result() else taken
        finish_here()
        assert taken in text_of(Chunk.objects.filter(searchable=True))
    assert_nothing_lost_or_doubled(documents=1)


@pytest.mark.parametrize("whole", [True, False], ids=["collection", "document"])
def test_restore_is_refused_if_its_place_is_taken_at_the_same_moment(whole: bool) -> None:
    """Each looks whether the place is free, and then takes it: the database lets one of them."""
    document = upload(make_collection(name="Beams"), NOTE).document
    if whole:
        services.delete_collection(document.collection, acting_user=None)
    else:
        services.delete([document], acting_user=None)
    taken, may_end = Event(), Event()

    def take_its_place() -> None:
        with transaction.atomic():
            if whole:
                make_collection(name="Beams")
            else:
                upload(document.collection, NOTE)
            taken.set()
            may_end.wait(30)

    with ThreadPoolExecutor(2) as pool:
        taking = pool.submit(released, take_its_place)
        assert taken.wait(30)
        came_back = pool.submit(released, partial(restore, document, whole))
        try:
            wait_for(lambda: came_back.done() or waiting_for_locks() > 0)
        finally:
            may_end.set()
        taking.result()
        with pytest.raises(StateConflict, match="just took its place"):
            came_back.result()


def restore(document: Document, whole: bool) -> None:
    if whole:
        services.restore_collection(document.collection, acting_user=None)
    else:
        services.restore([document], acting_user=None)


def edit(document: Document, colour: str) -> bool:
    """Whether the first passage could be given a sentence with this colour."""
    chunk = Chunk.objects.filter(document=document, searchable=True).order_by("ordinal")[0]
    wish = services.Wish(text=f"{parsed_text(chunk)} Now it is {colour}.")
    try:
        return services.edit_chunk(chunk, wish, acting_user=None) is not None
    except StateConflict:
        return False


def test_reweighing_yields_to_a_transaction_that_locks_passages() -> None:
    """Postgres would end one of the two, and it may be the person's."""
    chunks = make_document(make_collection(), NOTE).chunks.order_by("pk")
    first, *_, last = chunks
    CorpusStatistics.objects.update(weighed_length=1_000)
    chunks.update(terms=None)
    holding, go = Event(), Event()

    def save_both() -> None:
        with transaction.atomic():
            last.save(update_fields=["text"])
            holding.set()
            go.wait()
            first.save(update_fields=["text"])

    with ThreadPoolExecutor(2) as pool:
        saved = pool.submit(released, save_both)
        holding.wait()
        worked = pool.submit(released, bm25_weights.fold)
        wait_for(lambda: waiting_for_locks() == 1)
        go.set()
        saved.result()
        worked.result()
    assert not Chunk.objects.filter(terms=None).exists()
    assert_nothing_lost_or_doubled(documents=1)


def done_or_waiting(deed: Future[object]) -> bool:
    """Where the worker stands still within a transaction, its end is waited for."""
    return deed.done() or waiting_for_locks() > 1


def text_of(chunks: QuerySet[Chunk]) -> str:
    return " ".join(chunks.values_list("text", flat=True))
