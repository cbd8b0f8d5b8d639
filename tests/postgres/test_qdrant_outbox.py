"""What changes in Postgres reaches Qdrant, late or not; what fails on the way loses nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.utils import timezone

from common.accounts.models import User
from ingestion.documents import bulk_changes, deletion, hand_edits, purging
from ingestion.documents.hand_edits import Wish
from ingestion.models import Chunk, Collection, Document
from search.domain import Signal
from search.parts.qdrant import engines, points, rebuilding, syncing
from search.parts.qdrant.models import PointChange, PointCollection
from search.parts.qdrant.points import EngineError
from search.pipeline import search
from tests.support.engines import KINDS, LOCAL, Failing, build, opened, use
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, *map(pytest.mark.filterwarnings, LOCAL)]

BEAM = "# Beam\n\nThe long arm of a steelyard carries the sliding poise."
STATE = PointCollection.State


@pytest.fixture(params=KINDS)
def engine(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    with opened(request.param, tmp_path / "engine") as engine:
        use(monkeypatch, engine)
        yield engine


@pytest.fixture
def edge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with opened("edge", tmp_path / "engine") as engine:
        use(monkeypatch, engine)
        yield engine


@pytest.fixture
def shelf() -> Collection:
    return make_collection()


def held(engine: Any) -> set[int]:
    """The ids of all points in use."""
    name = PointCollection.objects.get(state=STATE.ACTIVE).name
    return {each.id for each in engine.page(name, 0, 1000)}


def wanted() -> set[int]:
    return set(Chunk.objects.filter(searchable=True).values_list("pk", flat=True))


def found(question: str, viewer: Any = None) -> list[str]:
    return [result.title for result in search(question, viewer=viewer, group=False).results]


def test_the_points_follow_uploads_edits_moves_and_deletions(
    engine: Any, shelf: Collection, administrator: User
) -> None:
    make_document(shelf, BEAM)
    build()
    assert held(engine) == wanted()
    document = make_document(shelf, "# Poise\n\nA weight that slides along.", file_name="p.md")
    assert held(engine) != wanted()
    assert syncing.lag()[0] > 0
    syncing.sync()
    assert held(engine) == wanted()
    assert "Poise" in found("weight that slides")

    chunk = Chunk.objects.get(document=document)
    hand_edits.edit_chunk(chunk, Wish(text="A counterbalance."), acting_user=administrator)
    syncing.sync()
    assert "Poise" in found("counterbalance")
    hand_edits.edit_chunk(Chunk.objects.get(pk=chunk.pk), Wish(disabled=True), acting_user=None)
    syncing.sync()
    assert chunk.pk not in held(engine)
    hand_edits.edit_chunk(Chunk.objects.get(pk=chunk.pk), Wish(), acting_user=administrator)

    hidden = make_collection("Hidden", visibility="signed_in")
    bulk_changes.move([document], hidden, acting_user=administrator)
    syncing.sync()
    assert "Poise" not in found("weight that slides")
    assert "Poise" in found("weight that slides", administrator)
    deletion.delete([document], acting_user=administrator)
    syncing.sync()
    assert held(engine) == wanted()
    deletion.restore(Document.objects.filter(pk=document.pk), acting_user=administrator)
    purging.purge(Document.objects.filter(pk=document.pk))
    assert syncing.sync() > 0
    assert held(engine) == wanted()
    assert rebuilding.check(PointCollection.objects.get()) == 0


def test_a_stale_point_is_never_shown(edge: Any, shelf: Collection, member: User) -> None:
    make_document(shelf, BEAM)
    build()
    assert found("sliding poise") == ["Beam"]
    Collection.objects.filter(pk=shelf.pk).update(visibility="signed_in")
    assert found("sliding poise") == []
    assert found("sliding poise", member) == ["Beam"]
    deletion.delete(Document.objects.all(), acting_user=None)
    assert held(edge)
    assert found("sliding poise", member) == []


def test_a_site_without_an_engine_keeps_no_rows(shelf: Collection) -> None:
    make_document(shelf, BEAM)
    assert not PointChange.objects.exists()


class TestTheEngineFails:
    @pytest.fixture(autouse=True)
    def _shelf(self, edge: Any, shelf: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        make_document(shelf, BEAM)
        build()
        self.edge, self.shelf = edge, shelf
        use(monkeypatch, Failing())  # type: ignore[arg-type]

    def test_keywords_are_found_and_the_response_says_so(self) -> None:
        response = search("sliding poise", viewer=None)
        assert [result.title for result in response.results] == ["Beam"]
        assert Signal.VECTOR in response.degraded

    def test_failed_engine_is_not_asked_for_a_moment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        search("sliding poise", viewer=None)
        monkeypatch.setattr(engines, "_engine", lambda url, process: self.edge)
        assert Signal.VECTOR in search("sliding poise", viewer=None).degraded
        monkeypatch.setattr(engines, "breaker", type(engines.breaker)(engines.PAUSE))
        assert not search("sliding poise", viewer=None).degraded

    def test_outbox_waits_for_a_failed_engine_and_catches_up(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_document(self.shelf, "# Poise\n\nA weight.", file_name="p.md")
        assert syncing.sync() == 0
        row = PointChange.objects.order_by("-attempts").first()
        assert row is not None
        assert (row.attempts, row.error) == (1, "nobody answers")
        use(monkeypatch, self.edge)
        PointChange.objects.update(not_before=timezone.now() - timedelta(seconds=1))
        assert syncing.sync() > 0
        assert held(self.edge) == wanted()
        assert syncing.lag() == (0, 0)


def test_comparison_repairs_differences_without_an_event(engine: Any, shelf: Collection) -> None:
    make_document(shelf, BEAM)
    make_document(shelf, "# Poise\n\nA weight.", file_name="p.md")
    row = build()
    missing, changed = Chunk.objects.order_by("pk")[:2]
    engine.keep_only(row.name, missing.version_id, ())
    (page,) = points.of_version(changed.version_id, row.spaces)
    moved = [type(page[0])(each.id, 999, each.version, 7, each.terms, each.dense) for each in page]
    stale = type(page[0])(10**6, shelf.pk, 10**6, 7, page[0].terms, page[0].dense)
    engine.upsert(row.name, [*moved, stale])
    assert rebuilding.check(row) == 3
    syncing.sync()
    assert rebuilding.check(row) == 0
    assert held(engine) == wanted()


def test_pages_of_a_comparison_leave_no_gap(
    edge: Any, shelf: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(7):
        make_document(shelf, f"# N{number}\n\nText {number}.", file_name=f"{number}.md")
    row = build()
    gone = Chunk.objects.order_by("pk")[2]
    edge.keep_only(row.name, gone.version_id, ())
    for size in (1, 2, 3, 100):
        monkeypatch.setattr(rebuilding, "PAGE", size)
        assert rebuilding.check(row) == 1


class TestRebuilding:
    @pytest.fixture(autouse=True)
    def _built(self, edge: Any, shelf: Collection) -> None:
        make_document(shelf, BEAM)
        self.first, self.shelf, self.edge = build(), shelf, edge

    def state_of(self, row: PointCollection) -> str:
        return str(PointCollection.objects.values_list("state", flat=True).get(pk=row.pk))

    def test_both_engine_collections_are_written_until_the_old_one_is_removed(self) -> None:
        second = rebuilding.begin()
        make_document(self.shelf, "# Poise\n\nA weight.", file_name="p.md")
        with pytest.raises(rebuilding.NotReady, match="being filled"):
            rebuilding.switch(second)
        rebuilding.advance(second.pk)
        second.refresh_from_db()
        rebuilding.switch(second)
        assert self.state_of(self.first) == STATE.PREVIOUS
        assert {each.id for each in self.edge.page(self.first.name, 0, 99)} == wanted()
        assert held(self.edge) == wanted()
        call_command("qdrant", "back")
        assert self.state_of(self.first) == STATE.ACTIVE
        assert self.state_of(second) == STATE.PREVIOUS
        assert rebuilding.tidy() == 0
        PointCollection.objects.filter(pk=second.pk).update(
            left_at=timezone.now() - timedelta(days=2)
        )
        assert rebuilding.tidy() == 1
        rebuilding.advance(second.pk)
        assert not PointCollection.objects.filter(pk=second.pk).exists()
        with pytest.raises(EngineError):
            self.edge.count(second.name)

    def test_collection_that_the_engine_lost_is_given_up(self) -> None:
        self.edge.drop(self.first.name)
        second = build()
        make_document(self.shelf, "# Poise\n\nA weight.", file_name="p.md")
        assert syncing.sync()
        assert not PointChange.objects.exists()
        assert self.state_of(self.first) == STATE.DROPPING
        assert self.state_of(second) == STATE.ACTIVE
        assert held(self.edge) == wanted()

    def test_the_command_switches_to_what_was_filled_and_back(self) -> None:
        call_command("qdrant", "rebuild", "--here")
        second = PointCollection.objects.get(state=STATE.READY)
        call_command("qdrant", "switch")
        assert (self.state_of(self.first), self.state_of(second)) == (STATE.PREVIOUS, STATE.ACTIVE)
        with pytest.raises(CommandError, match="No collection is filled"):
            call_command("qdrant", "switch")
        call_command("qdrant", "back")
        assert (self.state_of(self.first), self.state_of(second)) == (STATE.ACTIVE, STATE.PREVIOUS)


@pytest.mark.django_db(transaction=True)
def test_simultaneous_workers_take_different_rows(
    edge: Any, shelf: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second worker passes on its rows while the first is held up in the engine."""
    make_document(shelf, BEAM)
    build()
    PointChange.objects.bulk_create([PointChange(version=-1 - each) for each in range(3)])
    monkeypatch.setattr(syncing, "AT_ONCE", 1)
    held_up, go_on = threading.Event(), threading.Event()
    keep_only = edge.keep_only

    def slow(name: str, version: int, ids: Any) -> None:
        if version == -1:
            held_up.set()
            assert go_on.wait(60)
        keep_only(name, version, ids)

    monkeypatch.setattr(edge, "keep_only", slow)

    def work() -> int:
        try:
            return syncing.sync()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(work)
        assert held_up.wait(60)
        assert syncing.sync() == 2
        assert list(PointChange.objects.values_list("version", flat=True)) == [-1]
        go_on.set()
        assert first.result() == 1
    assert not PointChange.objects.exists()
