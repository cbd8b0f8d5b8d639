"""Embedding spaces: the steps from one model to the next, each on its own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.utils import timezone

from common.accounts.models import User
from common.jobs import claim
from ingestion import services, spaces
from ingestion.documents import processing_steps
from ingestion.documents.hand_edits import Wish
from ingestion.errors import EmbeddingRejected, SpaceError
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    Collection,
    Document,
    DocumentVersion,
    EmbeddingSpace,
)
from ingestion.models import State as VersionState
from ingestion.models.statistics import recount
from ingestion.spaces import backfill, changes, index
from ingestion.spaces.index import IndexState, build_index, index_of
from ingestion.spaces.report import overview, report_on
from ingestion.spaces.vectors import store, texts_of
from search.engine import configuration, similarity_background
from search.models import SpaceBackground
from search.pipeline import search
from search.ranking.cosine_scale import MINILM, CosineScale
from tests.support.factories import make_collection, make_document, upload
from tests.support.fake_openai import FakeOpenAI, status, vector_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("clean_cache")]

State = EmbeddingSpace.State


@pytest.fixture
def server(settings: Any) -> Iterator[FakeOpenAI]:
    """The server of the new model, of 8 dimensions, which the settings name."""
    with FakeOpenAI(api_key="new-key") as fake:
        settings.EMBEDDING_ADDRESSES = [fake.base_url]
        settings.EMBEDDING_KEY_VARIABLES = ["NEW_KEY", "UNSET_KEY"]
        yield fake


@pytest.fixture
def collection() -> Collection:
    return make_collection()


@pytest.fixture
def first(collection: Collection) -> EmbeddingSpace:
    """The space of the packaged model, with two passages in it as a worker leaves them."""
    document = Document.objects.create(collection=collection, title="Notes")
    version = DocumentVersion.objects.create(
        document=document, number=1, title="Notes", size=1, sha256="0", state=VersionState.READY
    )
    document.current = document.latest = version
    document.save()
    chunks = [
        Chunk.objects.create(
            collection=collection, document=document, version=version, ordinal=number, start=0,
            end=9, text=f"Text {number}.", kind="text", tokens=4, content_hash=f"hash {number}",
            searchable=True,
        )
        for number in range(2)
    ]  # fmt: skip
    space = spaces.writing_space()
    texts = texts_of(chunks, spaces.embedder(space))
    store(space, [each.pk for each in chunks], spaces.embedder(space).embed_documents(texts))
    return space


@pytest.fixture
def second(first: EmbeddingSpace, server: FakeOpenAI, monkeypatch: Any) -> EmbeddingSpace:
    """A space of another model, created and not started."""
    monkeypatch.setenv("NEW_KEY", "new-key")
    return changes.create("openai", options(server), acting_user=None)


def options(server: FakeOpenAI, **more: Any) -> dict[str, Any]:
    return {"model": "new", "base_url": server.base_url, "api_key_env": "NEW_KEY", **more}


def fill(space: EmbeddingSpace) -> EmbeddingSpace:
    changes.start(space, acting_user=None)
    assert backfill.advance(space.pk)
    space.refresh_from_db()
    return space


def held(space: EmbeddingSpace) -> int:
    return ChunkEmbedding.objects.filter(space=space).count()


def test_the_first_space_keeps_the_model_of_the_settings(first: EmbeddingSpace) -> None:
    assert first.config == {"kind": "local"}
    assert first.state == State.ACTIVE
    assert index_of(first).state is IndexState.READY
    assert overview([first]) == []


def test_settings_that_name_another_model_change_nothing(
    first: EmbeddingSpace, collection: Collection, settings: Any
) -> None:
    settings.EMBEDDER = "openai"
    settings.EMBEDDER_OPTIONS = settings.EMBEDDER_OPTIONS | {"openai": {"api_key": "k"}}
    document = make_document(collection, "# Another\n\nText.", file_name="another.md")
    assert document.current is not None
    assert held(first) == 3
    (words,) = overview([first])
    assert "text-embedding-3-small" in words
    assert "backfill" in words


def test_a_model_that_is_not_the_one_that_filled_the_space_is_refused(
    first: EmbeddingSpace,
) -> None:
    first.fingerprint = "another"
    with pytest.raises(EmbeddingRejected, match="its files or its address changed"):
        spaces.query_embedder(first)


class TestCreating:
    def test_new_space_is_tried_and_stores_no_key(
        self, second: EmbeddingSpace, server: FakeOpenAI
    ) -> None:
        assert (second.state, second.dimensions, second.paused) == (State.BUILDING, 8, True)
        assert "new-key" not in str(second.config)
        assert server.requests[-1].authorization == "Bearer new-key"

    def test_second_space_of_a_model_is_refused(
        self, second: EmbeddingSpace, server: FakeOpenAI
    ) -> None:
        with pytest.raises(SpaceError, match=f"number {second.pk}, building"):
            changes.create("openai", options(server), acting_user=None)

    def test_the_key_of_the_settings_goes_to_no_other_address(
        self, first: EmbeddingSpace, settings: Any
    ) -> None:
        settings.EMBEDDER_OPTIONS = settings.EMBEDDER_OPTIONS | {"openai": {"api_key": "secret"}}
        with FakeOpenAI(api_key="none") as server:
            settings.EMBEDDING_ADDRESSES = [server.base_url]
            given = {"model": "new", "base_url": server.base_url}
            changes.create("openai", given, acting_user=None)
            assert {request.authorization for request in server.requests} == {"Bearer none"}


class TestFilling:
    def test_filling_builds_the_index_and_is_reported(self, second: EmbeddingSpace) -> None:
        assert report_on(second).state_words == "Not started"
        assert index_of(second).state is IndexState.NONE
        fill(second)
        report = report_on(second)
        assert report.is_ready
        assert report.missing == 0
        assert held(second) == 2
        assert report.index.state is IndexState.READY

    def test_filling_waits_in_an_outage_and_stops_at_a_refusal(
        self, second: EmbeddingSpace, server: FakeOpenAI, collection: Collection
    ) -> None:
        server.then(status(429, retry_after="200"))
        changes.start(second, acting_user=None)
        assert not backfill.advance(second.pk)
        second.refresh_from_db()
        assert not second.paused
        assert second.not_before is not None
        assert second.not_before > timezone.now() + timedelta(seconds=180)
        assert not backfill.sweep_spaces()
        # The document does not wait for the new model.
        assert make_document(collection, "# More\n\nText.", file_name="m.md").current is not None

        server.then(status(401))
        changes.start(second, acting_user=None)
        backfill.advance(second.pk)
        second.refresh_from_db()
        assert second.paused
        assert "NEW_KEY" in second.error
        assert not backfill.sweep_spaces()
        fill(second)
        assert held(second) == 3
        assert second.error == ""

    def test_sweep_continues_filling_after_a_lost_message(
        self, second: EmbeddingSpace, collection: Collection
    ) -> None:
        fill(second)
        assert backfill.sweep_spaces() == 0
        make_document(collection, "# More\n\nText.", file_name="m.md")
        EmbeddingSpace.objects.update(enqueued_at=None)
        assert backfill.sweep_spaces() == 1
        assert backfill.advance(second.pk)
        assert held(second) == 3
        assert backfill.sweep_spaces() == 0

    def test_document_that_becomes_ready_during_filling_is_filled_too(
        self, second: EmbeddingSpace, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        early = upload(collection, "# Early\n\nText.", file_name="e.md").version
        activate = processing_steps.activation.activate

        def late(lease: Any, phrases: Any) -> bool:
            monkeypatch.setattr(processing_steps.activation, "activate", activate)
            make_document(collection, "# Later\n\nText.", file_name="l.md")
            fill(second)
            assert held(second) == 3
            return activate(lease, phrases)

        monkeypatch.setattr(processing_steps.activation, "activate", late)
        assert processing_steps.advance(early.pk)
        assert backfill.advance(second.pk)
        assert held(second) == 4

    def test_only_one_process_fills_a_space(self, second: EmbeddingSpace) -> None:
        changes.start(second, acting_user=None)
        lease = claim(EmbeddingSpace, second.pk)
        assert lease is not None
        with lease:
            assert report_on(EmbeddingSpace.objects.get(pk=second.pk)).is_worked_on
            assert backfill.advance(second.pk)
            assert held(second) == 0
        assert not report_on(EmbeddingSpace.objects.get(pk=second.pk)).is_worked_on
        assert backfill.advance(second.pk)
        assert held(second) == 2

    def test_a_hand_edited_chunk_gets_new_vectors_everywhere(self, second: EmbeddingSpace) -> None:
        fill(second)
        chunk = Chunk.objects.order_by("pk")[0]
        before = {row.space_id: list(row.vector) for row in chunk.embeddings.all()}
        services.edit_chunk(chunk, Wish(text="Something else entirely."), acting_user=None)
        assert backfill.advance(second.pk)
        after = {row.space_id: list(row.vector) for row in chunk.embeddings.all()}
        assert before.keys() == after.keys()
        assert all(before[pk] != after[pk] for pk in before)

    def test_text_changed_during_embedding_gets_the_vector_of_the_new_text(
        self, second: EmbeddingSpace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def change_first(*given: Any) -> int:
            Chunk.objects.filter(content_hash=given[3][0]).update(text="New", content_hash="new")
            monkeypatch.setattr(backfill, "store", store)
            return store(*given)

        monkeypatch.setattr(backfill, "store", change_first)
        fill(second)
        (changed,) = Chunk.objects.filter(content_hash="new").select_related("version__document")
        model = spaces.embedder(second)
        wanted = model.embed_documents(texts_of([changed], model))[0]
        vector = changed.embeddings.get(space=second).vector
        assert list(vector) == pytest.approx(list(wanted), abs=1e-3)

    def test_space_being_dropped_takes_no_vectors(self, second: EmbeddingSpace) -> None:
        EmbeddingSpace.objects.filter(pk=second.pk).update(state=State.DROPPING)
        assert store(second, [Chunk.objects.order_by("pk")[0].pk], np.ones((1, 8), "f4")) == 0


class TestActivating:
    def test_incomplete_space_is_not_activated(self, second: EmbeddingSpace) -> None:
        with pytest.raises(SpaceError, match=r"2 passages have no vector.*index is not ready"):
            changes.activate(second, acting_user=None)
        fill(second)
        execute(f"DROP INDEX {second.index_name}")
        with pytest.raises(SpaceError, match="index is not ready"):
            changes.activate(second, acting_user=None)

    def test_similarity_background_is_measured_in_each_space(
        self, first: EmbeddingSpace, second: EmbeddingSpace, django_assert_num_queries: Any
    ) -> None:
        recount()
        assert similarity_background.refresh() == 1  # not of a space without its vectors
        fill(second)
        assert similarity_background.refresh() == 1
        with django_assert_num_queries(3):  # two counts, and no space that is due
            assert similarity_background.refresh() == 0
        vectors = ChunkEmbedding.objects.filter(space=second).values_list("vector", flat=True)
        passages = np.array(list(vectors))
        best = [
            float((passages @ vector_of(probe, 8)).max()) for probe in similarity_background.PROBES
        ]
        measured, scale = similarity_background.read(second)
        assert measured is not None
        assert measured.level == pytest.approx(float(np.median(best)), abs=2e-3)
        probes = np.stack([vector_of(probe, 8) for probe in similarity_background.PROBES])
        unrelated = (probes @ probes.T)[~np.eye(len(probes), dtype=bool)]
        assert scale == CosineScale.of(unrelated) != MINILM
        now = configuration.current()
        assert (now.background, now.cosine_scale) == similarity_background.read(first)
        assert (now.cosine_scale, now.background != measured) == (MINILM, True)

        SpaceBackground.objects.update(passages=1)
        assert similarity_background.refresh() == 2  # the library has doubled since
        SpaceBackground.objects.update(measured_at=timezone.now() - timedelta(days=2))
        assert similarity_background.refresh() == 2
        SpaceBackground.objects.update(slope=None)  # by a version that measured no scale
        assert similarity_background.read(second)[1] == MINILM
        assert similarity_background.refresh() == 2

    def test_failing_model_keeps_the_similarity_background(
        self, second: EmbeddingSpace, server: FakeOpenAI
    ) -> None:
        recount()
        fill(second)
        server.api_key = "changed"
        assert similarity_background.refresh() == 1
        assert similarity_background.read(second) == (None, MINILM)

    def test_every_model_has_a_confidence(
        self, first: EmbeddingSpace, collection: Collection, server: FakeOpenAI, monkeypatch: Any
    ) -> None:
        """S4-15: with a provider's model, too, a question about something else is marked."""
        make_document(collection, "The valve of the pump opens at four bar.", file_name="a.txt")
        make_document(collection, "The belt of the lathe is changed yearly.", file_name="b.txt")
        monkeypatch.setenv("NEW_KEY", "new-key")
        wide = options(server, dimensions=256)
        space = fill(changes.create("openai", wide, acting_user=None))
        recount()
        similarity_background.refresh()
        changes.activate(space, acting_user=None)
        assert configuration.current().background == similarity_background.read(space)[0]
        known, other = (
            search(text, viewer=User(is_superuser=True))
            for text in ("when does the valve of the pump open", "the capital of Mongolia")
        )
        assert (known.low_confidence, other.low_confidence) == (False, True)
        assert other.fits_nothing

    def test_activation_can_be_rolled_back(
        self, first: EmbeddingSpace, second: EmbeddingSpace
    ) -> None:
        fill(second)
        changes.activate(second, acting_user=None)
        assert states() == {first.pk: State.PREVIOUS, second.pk: State.ACTIVE}
        changes.roll_back(acting_user=None)
        assert states() == {first.pk: State.ACTIVE, second.pk: State.PREVIOUS}

    def test_a_version_embedded_for_the_old_space_is_embedded_again(
        self, second: EmbeddingSpace, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The switch comes between the last vector and the moment the document becomes ready."""
        fill(second)
        version = upload(collection, "# Late\n\nText.", file_name="late.md").version
        activate = processing_steps.activation.activate

        def switch_first(lease: Any, phrases: Any) -> bool:
            if spaces.writing_space().pk != second.pk:
                changes.activate(second, acting_user=None)
                assert not activate(lease, phrases)
                return False
            return activate(lease, phrases)

        monkeypatch.setattr(processing_steps.activation, "activate", switch_first)
        assert processing_steps.advance(version.pk)
        assert Document.objects.get(latest=version).current_id == version.pk
        assert not spaces.unembedded(second).exists()

    def test_space_before_the_previous_is_paused_and_can_be_resumed(
        self, first: EmbeddingSpace, second: EmbeddingSpace, server: FakeOpenAI
    ) -> None:
        fill(second)
        changes.activate(second, acting_user=None)
        third = changes.create("openai", options(server, model="third"), acting_user=None)
        changes.activate(fill(third), acting_user=None)
        assert states() == {
            first.pk: State.BUILDING, second.pk: State.PREVIOUS, third.pk: State.ACTIVE,
        }  # fmt: skip
        make_document(Collection.objects.get(), "# More\n\nText.", file_name="m.md")
        first.refresh_from_db()
        assert (first.paused, held(first)) == (True, 2)
        fill(first)
        changes.activate(first, acting_user=None)
        assert states()[first.pk] == State.ACTIVE

    def test_incomplete_space_activated_in_an_emergency_is_filled_afterwards(
        self, first: EmbeddingSpace, second: EmbeddingSpace, collection: Collection
    ) -> None:
        fill(second)
        changes.activate(second, acting_user=None)
        make_document(collection, "# More\n\nText.", file_name="m.md")
        with pytest.raises(SpaceError, match="1 passage has no vector"):
            changes.roll_back(acting_user=None)
        changes.roll_back(acting_user=None, incomplete=True)
        assert held(first) == 2
        EmbeddingSpace.objects.update(enqueued_at=None)
        assert backfill.sweep_spaces() >= 1
        assert backfill.advance(first.pk)
        assert held(first) == 3


def states() -> dict[int, str]:
    return dict(EmbeddingSpace.objects.values_list("pk", "state"))


class TestDropping:
    def test_active_space_cannot_be_dropped(self, first: EmbeddingSpace) -> None:
        with pytest.raises(SpaceError, match="Activate another one first"):
            changes.drop(first, acting_user=None)

    def test_dropped_space_loses_its_vectors_and_index(
        self, first: EmbeddingSpace, second: EmbeddingSpace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(backfill, "DROP_BATCH", 1)
        fill(second)
        changes.drop(second, acting_user=None)
        with pytest.raises(SpaceError, match="being removed"):
            changes.start(second, acting_user=None)
        EmbeddingSpace.objects.update(enqueued_at=None)
        assert backfill.sweep_spaces() == 1
        assert backfill.advance(second.pk)
        assert states() == {first.pk: State.ACTIVE}
        assert held(first) == ChunkEmbedding.objects.count() == 2
        assert index_of(second).state is IndexState.NONE

    def test_dropping_waits_for_running_searches(
        self, first: EmbeddingSpace, second: EmbeddingSpace
    ) -> None:
        fill(second)
        changes.activate(second, acting_user=None)
        changes.drop(first, acting_user=None)
        assert not backfill.advance(first.pk)
        assert held(first) == 2
        EmbeddingSpace.objects.update(left_at=timezone.now() - timedelta(minutes=1))
        assert backfill.advance(first.pk)
        assert held(first) == 0


def test_index_of_a_dead_build_is_rebuilt(second: EmbeddingSpace) -> None:
    fill(second)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass",
            [second.index_name],
        )
    assert index_of(second).state is IndexState.INVALID
    assert backfill.sweep_spaces() == 1
    assert backfill.advance(second.pk)
    assert index_of(second).state is IndexState.READY
    build_index(second)  # a second time does nothing


class TestOutdatedIndexes:
    """A version with other options builds them anew, while searches use the old ones."""

    @pytest.fixture
    def outdated(self, first: EmbeddingSpace) -> EmbeddingSpace:
        execute(f"ALTER INDEX {first.index_name} SET (ef_construction = 64)")
        EmbeddingSpace.objects.update(filled_at=timezone.now(), enqueued_at=None)
        return first

    def test_worker_rebuilds_an_outdated_index(self, outdated: EmbeddingSpace) -> None:
        assert index_of(outdated).state is IndexState.OUTDATED
        assert report_on(outdated).is_settled
        before = oid_of(outdated)
        assert backfill.sweep_spaces() == 1
        assert backfill.advance(outdated.pk)
        assert index_of(outdated).state is IndexState.READY
        assert oid_of(outdated) != before
        assert indexes_named(outdated) == [outdated.index_name]
        assert backfill.sweep_spaces() == 0

    def test_remains_of_a_killed_build_are_removed(self, outdated: EmbeddingSpace) -> None:
        """Before the names were exchanged, and after it."""
        execute(f"CREATE INDEX {outdated.index_name}_other ON ingestion_chunkembedding (space_id)")
        build_index(outdated)
        assert indexes_named(outdated) == [outdated.index_name]
        execute(f"CREATE INDEX {outdated.index_name}_other ON ingestion_chunkembedding (space_id)")
        assert index_of(outdated).state is IndexState.OUTDATED
        built = oid_of(outdated)
        build_index(outdated)
        assert indexes_named(outdated) == [outdated.index_name]
        assert oid_of(outdated) == built

    def test_failed_build_keeps_the_old_index(
        self, outdated: EmbeddingSpace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = oid_of(outdated)
        monkeypatch.setattr(index, "HNSW_OPTIONS", {"m": 16, "ef_construction": 5000})
        with pytest.raises(DatabaseError, match="out of bounds"):
            build_index(outdated)
        assert index_of(outdated).state is IndexState.OUTDATED
        assert oid_of(outdated) == before


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def oid_of(space: EmbeddingSpace) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::regclass::oid", [space.index_name])
        return int(cursor.fetchone()[0])


def indexes_named(space: EmbeddingSpace) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE %s", [f"{space.index_name}%"]
        )
        return [name for (name,) in cursor.fetchall()]


def test_command_creates_fills_activates_and_drops_a_space(
    first: EmbeddingSpace, server: FakeOpenAI, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setenv("NEW_KEY", "new-key")

    def run(*arguments: str) -> str:
        call_command("embedding_space", *arguments)
        return str(capsys.readouterr().out)

    made = run(
        "create", "openai", "--model", "new", "--base-url", server.base_url,
        "--api-key-env", "NEW_KEY", "--name", "New",
    )  # fmt: skip
    assert "Not started" in made
    number = str(EmbeddingSpace.objects.get(name="New").pk)
    assert "Ready to be activated" in run("backfill", number, "--here")
    assert "Ready to be activated" in run("status", "New")
    assert "Paused at 100%" in run("pause", "New")
    assert "Active, filled" in run("activate", "New")
    assert "The settings name" in run("status")
    assert "Active, filled" in run("rollback")
    assert "The workers delete it" in run("drop", "New", "--yes")
    with pytest.raises(CommandError, match="“Old” is not one embedding space"):
        run("activate", "Old")
