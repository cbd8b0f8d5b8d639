"""People take turns in the queue of uploads."""

from __future__ import annotations

from datetime import timedelta
from unittest.mock import Mock

import pytest
from django.core.cache import cache
from django.utils import timezone

from common.accounts.models import User
from common.circuit_breaker import CircuitOpen
from common.jobs import claim
from ingestion.documents import activation, turns
from ingestion.documents.processing_steps import advance_in_turn
from ingestion.models import ChunkEmbedding, DocumentVersion, State
from tests.support.factories import make_collection, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


@pytest.fixture
def queue() -> dict[str, DocumentVersion]:
    """Three files of one person, the first of many passages, then a note of another."""
    collection = make_collection()
    people = [User.objects.create(username=name) for name in ("ann", "bob")]
    long = "\n\n".join(f"# Valve {number}\n\nTurn valve {number}." * 9 for number in range(9))
    files = {"first": long, "second": "Two.", "third": "Three."}
    versions = {
        name: upload(collection, text, file_name=f"{name}.md", user=people[0]).version
        for name, text in files.items()
    }
    versions["note"] = upload(collection, "A note.", user=people[1]).version
    began = timezone.now() - timedelta(minutes=1)
    for number, version in enumerate(versions.values()):
        sent = began + timedelta(seconds=number)
        DocumentVersion.objects.filter(pk=version.pk).update(enqueued_at=sent)
    return versions


def finished(queue: dict[str, DocumentVersion]) -> list[str]:
    rows = DocumentVersion.objects.filter(state=State.READY).order_by("finished")
    names = {version.pk: name for name, version in queue.items()}
    return [names[row.pk] for row in rows]


def test_note_comes_after_one_file_of_another_person(queue: dict[str, DocumentVersion]) -> None:
    for version in queue.values():
        assert advance_in_turn(version.pk)
    assert finished(queue) == ["first", "note", "second", "third"]
    assert not advance_in_turn(queue["third"].pk)


def test_without_the_cache_the_oldest_comes_first(
    queue: dict[str, DocumentVersion], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "get_many", Mock(side_effect=CircuitOpen("It hangs.")))
    assert advance_in_turn(queue["first"].pk)
    assert turns.in_turn(queue["first"].pk)[0] == queue["second"].pk


def test_version_claimed_meanwhile_is_passed_over(queue: dict[str, DocumentVersion]) -> None:
    assert claim(DocumentVersion, queue["first"].pk)
    assert advance_in_turn(queue["first"].pk)
    assert finished(queue) == ["second"]


def test_version_that_waits_for_a_retry_or_has_no_message_is_nobodys_turn(
    queue: dict[str, DocumentVersion],
) -> None:
    rows = DocumentVersion.objects
    rows.filter(pk=queue["first"].pk).update(not_before=timezone.now() + timedelta(hours=1))
    rows.filter(pk=queue["note"].pk).update(enqueued_at=None)
    assert turns.in_turn(queue["third"].pk) == [queue["second"].pk, queue["third"].pk]
    assert turns.in_turn(queue["note"].pk)[0] != queue["third"].pk


def test_long_document_lets_another_persons_pass_and_goes_on(
    queue: dict[str, DocumentVersion],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "TURN_SECONDS", 0)
    monkeypatch.setattr(activation, "BATCH", 2)
    first = queue["first"]
    assert not advance_in_turn(first.pk)
    first.refresh_from_db()
    assert (first.state, first.attempts, first.is_leased) == (State.EMBEDDING, 0, False)
    done = ChunkEmbedding.objects.filter(chunk__version=first)
    assert 0 < done.count() < first.chunk_count

    DocumentVersion.objects.filter(pk=first.pk).update(enqueued_at=timezone.now())
    assert advance_in_turn(first.pk)
    assert finished(queue) == ["note"]
    assert advance_in_turn(first.pk)
    assert finished(queue) == ["note", "first"]
    assert done.count() == first.chunk_count
