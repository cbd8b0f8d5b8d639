"""Documents moved between collections, and their tags and metadata changed in bulk."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.db.models import Sum

from common.accounts.models import User
from ingestion import services
from ingestion.errors import InvalidMetadata
from ingestion.lexical import bm25_weights
from ingestion.metadata import edited
from ingestion.models import (
    Chunk,
    Collection,
    CorpusStatistics,
    Document,
    DocumentVersion,
    State,
    TermFrequency,
    WatchedFile,
    WatchedFolder,
)
from ingestion.models.collections import validate_icon
from search import pipeline
from search.retrieval import Filters
from tests.support.factories import make_collection, make_document, upload

PUMPS = "# Pump maintenance\n\nThe bilge pump is greased every week, or it seizes.\n"


def found(collection: Collection, viewer: User | None = None) -> list[str]:
    """The titles that a search for the pump finds within the collection."""
    filters = Filters(collections=(collection.slug,))
    response = pipeline.search("bilge pump", viewer=viewer, filters=filters)
    return [result.title for result in response.results]


def counts(collection: Collection) -> tuple[int, int, int]:
    """The collection's chunks and their length, and how many hold the word pump."""
    bm25_weights.fold()
    rows = CorpusStatistics.objects.filter(collection=collection)
    sums = rows.aggregate(chunks=Sum("chunks"), length=Sum("total_length"))
    pumps = TermFrequency.objects.filter(collection=collection, lexeme="pump")
    return sums["chunks"] or 0, sums["length"] or 0, sum(pumps.values_list("chunks", flat=True))


@pytest.mark.django_db
@pytest.mark.usefixtures("clean_cache")
class TestMoving:
    @pytest.fixture
    def old(self) -> Collection:
        return make_collection("Old")

    @pytest.fixture
    def new(self) -> Collection:
        return make_collection("New", visibility="groups", groups=["insiders"])

    @pytest.fixture
    def document(self, old: Collection) -> Document:
        return make_document(old, PUMPS)

    def test_moved_document_is_found_in_the_new_collection_only(
        self, old: Collection, new: Collection, document: Document, administrator: User
    ) -> None:
        before = counts(old)
        assert before[2] == 1

        done = services.move([document], new, acting_user=administrator)

        assert (done.count, done.refused) == (1, ())
        assert (found(old, administrator), found(new, administrator)) == ([], ["Pump maintenance"])
        assert (counts(old), counts(new)) == ((0, 0, 0), before)
        assert set(Chunk.objects.values_list("collection", "searchable")) == {(new.pk, True)}

    def test_documents_that_cannot_be_moved_stay_and_the_reason_is_given(
        self, old: Collection, new: Collection, administrator: User
    ) -> None:
        same = make_document(old, PUMPS)
        make_document(new, PUMPS)
        sourced = make_document(old, "# One\n\nA text.\n", source="https://a.example/")
        make_document(new, "# Two\n\nAnother.\n", source="https://a.example/")
        waiting = upload(old, "# Waiting\n").document
        watched = make_document(old, "# Watched\n\nA watched text.\n")
        folder = WatchedFolder.objects.create(collection=old, path="/srv/x")
        WatchedFile.objects.create(folder=folder, path="w.md", size=1, mtime_ns=1, document=watched)

        done = services.move([same, sourced, waiting, watched], new, acting_user=administrator)

        assert done.count == 0
        reasons = "\n".join(done.refused)
        for reason in ("same file", "same source", "being processed", "watched folder"):
            assert reason in reasons
        assert Document.objects.filter(collection=old).count() == 4

    def test_failed_document_moves_and_is_retried_in_the_new_collection(
        self, old: Collection, new: Collection, administrator: User
    ) -> None:
        from ingestion.documents import processing_steps

        document = upload(old, PUMPS).document
        DocumentVersion.objects.update(state=State.FAILED)
        services.move([document], new, acting_user=administrator)
        services.retry([Document.objects.get()], acting_user=administrator)
        processing_steps.advance(Document.objects.get(pk=document.pk).latest_id or 0)

        assert found(new, administrator) == ["Pump maintenance"]
        assert set(Chunk.objects.values_list("collection", flat=True)) == {new.pk}

    def test_moving_into_a_deleted_collection_is_refused(
        self, new: Collection, document: Document, administrator: User
    ) -> None:
        services.delete_collection(new, acting_user=administrator)
        done = services.move([document], new, acting_user=administrator)
        assert "in the bin" in done.refused[0]


@pytest.mark.parametrize("icon", ["book", "📚", "🛠️", "👩‍🔧", "👍🏽", "🇩🇪"])
def test_icon_names_and_emoji_are_valid_icons(icon: str) -> None:
    validate_icon(icon)


@pytest.mark.parametrize("icon", ["nothing", "a", "<b>", "📚x", " ", "Büro"])
def test_other_texts_are_no_icons(icon: str) -> None:
    with pytest.raises(ValidationError, match="is not an icon"):
        validate_icon(icon)


def test_changing_tags_keeps_the_other_keys() -> None:
    metadata = {"tags": "one", "year": 2024, "due": "x"}
    changed = edited(metadata, add_tags=["two ", "one"], give={"year": 2025}, drop=["due"])
    assert changed == {"tags": ["one", "two"], "year": 2025}
    assert edited(changed, remove_tags=["one", "two"]) == {"year": 2025}
    with pytest.raises(InvalidMetadata):
        edited({}, give={"Bad Key": 1})
