"""The ledger and the versions: trying again changes nothing, an older file can come back."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from ingestion import services, spaces
from ingestion.documents import processing_steps
from ingestion.embedding import Embedder
from ingestion.errors import StateConflict
from ingestion.models import (
    ChunkEmbedding,
    Collection,
    Document,
    DocumentVersion,
    Lane,
    SourceKind,
    State,
)
from tests.support.factories import make_collection, make_document, upload
from tests.support.shown_results import titles

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers")]

WHALES = "# Whales\n\nThe narwhal has one long tooth and dives a mile deep in winter.\n"
SEALS = "# Seals\n\nThe walrus has two teeth and sleeps on the ice in summer.\n"


def versioned(collection: Collection, *texts: str) -> Document:
    """A document that has been each of the texts in turn."""
    for text in texts:
        document = make_document(collection, text, source="/notes/sea.md")
    return document


class TestLedger:
    def test_the_same_file_from_the_same_source_changes_nothing(self) -> None:
        collection = make_collection()
        document = make_document(collection, WHALES, source="/notes/sea.md")
        receipt = upload(collection, WHALES, source="/notes/sea.md")
        assert (receipt.outcome, receipt.document) == ("unchanged", document)
        assert receipt.duplicate
        assert DocumentVersion.objects.count() == 1

    def test_duplicate_upload_names_the_existing_document(self) -> None:
        collection = make_collection()
        document = make_document(collection, WHALES, source="/notes/sea.md")
        receipt = upload(collection, WHALES, source="/notes/copy.md", file_name="copy.md")
        assert (receipt.outcome, receipt.document) == ("duplicate", document)
        assert upload(collection, WHALES).outcome == "duplicate"
        assert Document.objects.count() == 1

    def test_source_kind_and_lane_are_stored(self) -> None:
        receipt = services.receive(
            make_collection(),
            io.BytesIO(WHALES.encode()),
            file_name="sea.md",
            source="https://example.org/sea.md",
            source_kind=SourceKind.URL,
            lane=Lane.BULK,
            acting_user=None,
        )
        assert receipt.document.source_kind == SourceKind.URL
        assert receipt.version.lane == Lane.BULK
        assert upload(make_collection("B"), WHALES).version.lane == Lane.INTERACTIVE

    def test_processing_again_waits_behind_uploads(self) -> None:
        document = make_document(make_collection(), WHALES)
        services.reprocess([document], acting_user=None)
        assert document.versions.get(number=2).lane == Lane.BULK

    def test_documents_that_are_deleted_meanwhile_are_left_out(self) -> None:
        collection = make_collection()
        documents = [make_document(collection, text) for text in (WHALES, SEALS)]
        services.delete(documents[:1], acting_user=None)
        assert services.reprocess(documents, acting_user=None) == 1
        assert [each.versions.count() for each in documents] == [1, 2]


class TestMakingCurrent:
    def test_making_an_older_file_current_adds_a_version(self) -> None:
        document = versioned(make_collection(), WHALES, SEALS)
        older = document.versions.get(number=1)
        fresh = services.make_current(older, acting_user=None)
        assert (fresh.number, fresh.restored_from, fresh.sha256) == (3, older, older.sha256)
        assert titles("walrus") == ["Seals"]
        processing_steps.advance(fresh.pk)
        assert titles("narwhal tooth") == ["Whales"]
        states = dict(document.versions.values_list("number", "state"))
        assert states == {1: State.SUPERSEDED, 2: State.SUPERSEDED, 3: State.READY}

    def test_bytes_that_another_document_holds_are_refused(self) -> None:
        collection = make_collection()
        document = versioned(collection, WHALES, SEALS)
        make_document(collection, WHALES, title="The other")
        with pytest.raises(StateConflict, match="The other"):
            services.make_current(document.versions.get(number=1), acting_user=None)

    def test_version_of_a_deleted_document_cannot_be_made_current(self) -> None:
        document = versioned(make_collection(), WHALES, SEALS)
        services.delete([document], acting_user=None)
        with pytest.raises(Document.DoesNotExist):
            services.make_current(document.versions.get(number=1), acting_user=None)


class TestKeeping:
    def test_old_versions_lose_file_and_text_and_keep_their_row(
        self, settings: Any, django_capture_on_commit_callbacks: Any
    ) -> None:
        settings.VERSIONS_KEPT = 2
        collection = make_collection()
        first = upload(collection, WHALES, source="/notes/sea.md")
        with django_capture_on_commit_callbacks():
            processing_steps.advance(first.version.pk)
        path = Path(first.version.file.path)
        for text in (SEALS, SEALS + "It is heavy."):
            receipt = upload(collection, text, source="/notes/sea.md")
            assert path.exists()
            with django_capture_on_commit_callbacks(execute=True):
                processing_steps.advance(receipt.version.pk)
        versions = receipt.document.versions.order_by("number")
        assert [bool(version.file) for version in versions] == [False, True, True]
        assert [bool(version.text) for version in versions] == [False, True, True]
        assert not path.exists()
        with pytest.raises(StateConflict, match="no longer stored"):
            services.make_current(versions[0], acting_user=None)

    def test_reprocessing_does_not_use_up_kept_versions(
        self, settings: Any, django_capture_on_commit_callbacks: Any
    ) -> None:
        settings.VERSIONS_KEPT = 2
        document = versioned(make_collection(), WHALES, SEALS)
        for _ in range(3):
            services.reprocess([document], acting_user=None)
            document.refresh_from_db()
            with django_capture_on_commit_callbacks(execute=True):
                processing_steps.advance(document.latest_id)
        assert all(version.file for version in document.versions.all())


class TestVectors:
    @pytest.fixture
    def embedded(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The texts that the model is asked for, in place of nothing: it still answers."""
        model = spaces.embedder()
        asked: list[str] = []
        real = type(model).embed_batches

        def noting(self: Embedder, texts: Any) -> Any:
            asked.extend(texts)
            return real(self, texts)

        monkeypatch.setattr(type(model), "embed_batches", noting)
        return asked

    def test_unchanged_passages_keep_their_vectors(self, embedded: list[str]) -> None:
        sections = [f"## Whale {n}\n\n{f'The whale number {n} sings. ' * 30}\n" for n in range(4)]
        document = versioned(make_collection(), "# Whales\n\n" + "\n".join(sections))
        before = {c.content_hash: c.pk for c in document.chunks.all()}
        assert len(embedded) == len(before) > 3
        vectors = dict(ChunkEmbedding.objects.values_list("chunk__content_hash", "vector"))
        embedded.clear()

        sections[2] = "## Whale 2\n\nThis one is silent.\n"
        document = versioned(document.collection, "# Whales\n\n" + "\n".join(sections))
        fresh = [c for c in document.chunks.all() if c.content_hash not in before]
        assert len(embedded) == len(fresh) < document.chunks.count()
        now = dict(ChunkEmbedding.objects.values_list("chunk__content_hash", "vector"))
        assert len(now) == document.chunks.count()
        assert all(now[digest] == vectors[digest] for digest in set(now) & set(vectors))

    def test_a_new_title_is_embedded_anew(self, embedded: list[str]) -> None:
        document = make_document(make_collection(), WHALES)
        embedded.clear()
        services.describe(document, acting_user=None, title="Narwhals")
        document.refresh_from_db()
        processing_steps.advance(document.latest_id)
        assert embedded
        assert embedded[0].startswith("Narwhals")
