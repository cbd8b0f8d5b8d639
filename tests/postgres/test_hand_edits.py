"""Hand edits: found at once by the new text, carried to the next version, undone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from common.accounts.models import User
from common.jobs import LeaseLost, claim
from ingestion import services, spaces
from ingestion.documents import processing_steps
from ingestion.errors import EmbeddingUnavailable, RefusedEdit, StateConflict
from ingestion.lexical import bm25_weights
from ingestion.models import (
    Chunk,
    ChunkEdit,
    ChunkEmbedding,
    Collection,
    CorpusStatistics,
    Document,
    DocumentVersion,
    State,
    TermFrequency,
)
from ingestion.models.versions import MAX_QUESTION_CHARS
from ingestion.services import Wish
from search.models import Pin
from search.pipeline import SearchResponse, search
from search.query.parse import MAX_QUERY_CHARS
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers")]

WINCH = "The winch is oiled every spring before the first boat goes out, whoever is on watch. " * 4
NORTH = "The north quay is closed when the wind is over forty knots, and the lamps are lit. " * 4
LADDER = "The ladder at the slip has eleven rungs. The lowest one is under water at flood. " * 4

FISH = list(
    enumerate(
        ["cod", "haddock", "ling", "plaice", "sole", "halibut", "skate", "herring", "sprat"], 1
    )
)


def manual(winch: str = WINCH, *, preface: str = "") -> str:
    sections = {"Winch": winch, "Quay": NORTH, "Ladder": LADDER}
    parts = [f"## {name}\n\n{text}" for name, text in sections.items()]
    return "\n\n".join(["# Harbour", *([preface] if preface else []), *parts])


@pytest.fixture(scope="class")
def harbour_manual(django_db_setup: None, django_db_blocker: Any) -> Iterator[Document]:
    with lasting(django_db_blocker):
        collection = make_collection(chunk_tokens=100, overlap_tokens=0)
        yield make_document(collection, manual(), source="harbour.md")


@pytest.fixture
def document(harbour_manual: Document, db: None) -> Document:
    related = Document.objects.select_related("current", "latest", "collection")
    return related.get(pk=harbour_manual.pk)


def chunk_with(word: str) -> Chunk:
    found = Chunk.objects.filter(text__contains=word, version__document__current__isnull=False)
    return found.filter(version__state=State.READY).select_related("version").get()


def next_version(document: Document, text: str) -> Document:
    return make_document(document.collection, text, source="harbour.md")


def texts(question: str) -> list[str]:
    return [result.text for result in search(question, viewer=None, group=False).results]


def statistics() -> tuple[dict[str, int], list[tuple[int, int]]]:
    bm25_weights.fold()
    frequencies = dict(TermFrequency.objects.values_list("lexeme", "chunks"))
    return frequencies, list(CorpusStatistics.objects.values_list("chunks", "total_length"))


def edit(chunk: Chunk, **wish: Any) -> ChunkEdit:
    made = services.edit_chunk(chunk, Wish(**wish), acting_user=None)
    assert made is not None
    return made


class TestText:
    def test_edited_text_updates_vector_words_and_identifiers(self, document: Document) -> None:
        chunk = chunk_with("winch")
        before = ChunkEmbedding.objects.get(chunk=chunk).vector
        text = chunk.text.replace("oiled", "greased with OM-4711")
        made = edit(chunk, text=text)
        fresh = Chunk.objects.get(pk=chunk.pk)
        assert (fresh.text, fresh.original, fresh.edit) == (text, chunk.text, made)
        assert (fresh.start, fresh.end) == (chunk.start, chunk.end)
        assert fresh.content_hash != chunk.content_hash
        assert fresh.signature != chunk.signature
        assert fresh.tokens == spaces.embedder().tokenizer.count(text)
        assert ChunkEmbedding.objects.get(chunk=chunk).vector != before
        assert texts("OM4711") == [text]
        frequencies, _ = statistics()
        assert frequencies["greas"] == 1
        assert "oil" not in frequencies

    def test_undo_restores_text_vector_and_statistics(self, document: Document) -> None:
        before = statistics()
        chunk = chunk_with("winch")
        vector = ChunkEmbedding.objects.get(chunk=chunk).vector
        columns = Chunk.objects.filter(pk=chunk.pk).values()
        held = columns.get()
        made = edit(chunk, text="Ask the harbour master about it.")
        services.undo(made, acting_user=None)
        after = columns.get()
        weights = [row.pop("terms") for row in (held, after)]  # they drift with the average length
        assert set(weights[0].indices()) == set(weights[1].indices())
        assert after == held
        assert ChunkEmbedding.objects.get(chunk=chunk).vector == vector
        assert statistics() == before
        assert not ChunkEdit.objects.exists()

    def test_text_beyond_the_models_window_is_refused(self, document: Document) -> None:
        with pytest.raises(RefusedEdit, match="the embedding model reads at most"):
            edit(chunk_with("winch"), text="word " * 400)
        with pytest.raises(RefusedEdit, match="disable it"):
            edit(chunk_with("winch"), text="  \n ")

    def test_an_embedder_that_is_away_changes_nothing(
        self, document: Document, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away(*args: Any) -> Any:
            raise EmbeddingUnavailable("The model is away.")

        before = statistics()
        chunk = chunk_with("winch")
        with monkeypatch.context() as patch:
            patch.setattr(type(spaces.embedder()), "embed_documents", away)
            with pytest.raises(EmbeddingUnavailable):
                edit(chunk, text="Another text.")
            assert edit(chunk, note="No model is needed for this.").kinds == ("note",)
        assert Chunk.objects.get(pk=chunk.pk).text == chunk.text
        assert statistics() == before

    def test_edit_of_a_passage_edited_meanwhile_is_refused(self, document: Document) -> None:
        chunk = chunk_with("winch")
        edit(chunk, text="First come.")
        with pytest.raises(StateConflict, match="meanwhile"):
            edit(chunk, text="First served.")

    def test_the_passage_of_an_older_version_cannot_be_edited(self, document: Document) -> None:
        chunk = chunk_with("winch")
        next_version(document, manual(preface="Fourth edition."))
        with pytest.raises(StateConflict):
            edit(chunk, note="Too late.")


class TestOtherWishes:
    def test_disabled_passage_is_neither_found_nor_counted(self, document: Document) -> None:
        frequencies, _ = statistics()
        made = edit(chunk_with("winch"), disabled=True)
        assert not any("winch" in text for text in texts("winch oiled"))
        now, _ = statistics()
        assert frequencies["winch"] == 1
        assert "winch" not in now
        services.delete([document], acting_user=None)
        services.restore([document], acting_user=None)
        assert statistics()[0] == now
        services.undo(made, acting_user=None)
        assert statistics()[0] == frequencies

    def test_a_pinned_passage_is_first_for_its_questions_alone(self, document: Document) -> None:
        edit(chunk_with("ladder"), questions=(" What do I do in  a STORM? ", "Gale"))
        other = make_document(document.collection, "# Storm\n\nWhat to do in a storm: nothing.\n")
        first = search("what do i do in a storm?", viewer=None).results[0]
        assert "ladder" in first.text
        assert "pinned" in first.hit.explanation.tier.reason
        assert search("what do i do in a storm", viewer=None).results[0].title == "Storm"
        Pin.objects.create(query="gale", document=other)
        Pin.objects.create(query="gale", document=document)
        gale = search("gale", viewer=None).results
        assert "ladder" in gale[0].text
        assert [result.title for result in gale] == ["Harbour", "Storm"]

    def test_a_pasted_question_is_pinned_too(self, document: Document) -> None:
        """S5-01: as long as a question may be."""
        pasted = "We looked into what happens when the wind turns to the north. " * 64
        assert MAX_QUESTION_CHARS == MAX_QUERY_CHARS > len(pasted.strip()) > 3_900
        edit(chunk_with("ladder"), questions=(pasted,))
        first = search(pasted, viewer=None).results[0]
        assert "ladder" in first.text
        assert "pinned" in first.hit.explanation.tier.reason
        with pytest.raises(RefusedEdit, match="4000"):
            edit(chunk_with("ladder"), questions=("x" * (MAX_QUESTION_CHARS + 1),))

    def test_a_note_is_for_staff(self, document: Document, administrator: User) -> None:
        edit(chunk_with("winch"), note="Out of date since May")

        def note(response: SearchResponse) -> str:
            return response.results[0].note

        assert note(search("winch oiled", viewer=administrator)) == "Out of date since May"
        assert note(search("winch oiled", viewer=None)) == ""

    def test_each_change_is_audited(self, document: Document, administrator: User) -> None:
        chunk = chunk_with("winch")
        wish = Wish(note="Look", disabled=True)
        made = services.edit_chunk(chunk, wish, acting_user=administrator)
        assert made is not None
        services.undo(made, acting_user=administrator)
        rows = LogEntry.objects.filter(object_id=document.pk).order_by("pk")
        place = chunk.ordinal + 1
        assert [row.change_message for row in rows] == [
            f"Edited passage {place} (disabled, note)",
            f"Restored passage {place}",
        ]


class TestNextVersion:
    def test_an_edit_is_applied_to_the_same_text(self, document: Document) -> None:
        chunk = chunk_with("ladder")
        text = chunk.text.replace("slip", "mole")
        edit(chunk, text=text, note="By hand", questions=("boats",))
        next_version(document, manual(preface="Fourth edition, with a preface. " * 20))
        fresh = chunk_with("ladder")
        assert (fresh.text, fresh.original) == (text, chunk.text)
        assert fresh.edit is not None
        assert fresh.edit.state == ChunkEdit.State.APPLIED
        assert fresh.edit.ordinal == fresh.ordinal > chunk.ordinal
        assert text in texts("ladder at the mole")
        assert texts("boats")[0] == text
        assert "slip" not in statistics()[0]
        services.undo(fresh.edit, acting_user=None)
        assert "slip" in statistics()[0]

    def test_disabled_passage_stays_disabled_under_other_chunk_sizes(
        self, document: Document
    ) -> None:
        edit(chunk_with("winch"), disabled=True)
        Collection.objects.update(overlap_tokens=10)
        services.reprocess([document], acting_user=None)
        document.refresh_from_db()
        processing_steps.advance(document.latest_id)
        assert not chunk_with("winch").searchable
        assert not any("winch" in text for text in texts("winch"))

    @pytest.mark.parametrize(("first", "then"), [(40, 200), (200, 40)], ids=["larger", "smaller"])
    def test_a_text_is_merged_into_passages_of_another_size(self, first: int, then: int) -> None:
        log = " ".join(f"On day {n} the {fish} was seen off the point." for n, fish in FISH)
        collection = make_collection("Log", chunk_tokens=first, overlap_tokens=0)
        document = make_document(collection, f"# Log\n\n{log}\n", source="harbour.md")
        chunk = chunk_with("halibut")
        edit(chunk, text=chunk.text.replace("halibut", "turbot"))
        before = document.chunks.count()
        Collection.objects.update(chunk_tokens=then)
        services.reprocess([document], acting_user=None)
        document.refresh_from_db()
        processing_steps.advance(document.latest_id)
        assert (document.chunks.count() < before) == (then > first)
        assert not document.chunks.filter(text__contains="halibut").exists()
        assert document.chunks.get(text__contains="turbot").original

    def test_edit_that_no_longer_fits_is_listed(self, document: Document) -> None:
        chunk = chunk_with("winch")
        made = edit(chunk, text=chunk.text.replace("every spring", "every autumn"), note="Why")
        next_version(document, manual("Nobody oils anything here any longer. " * 6))
        made.refresh_from_db()
        assert made.state == ChunkEdit.State.HOMELESS
        assert "No passage is similar enough" in made.reason
        assert not Chunk.objects.exclude(original="").exists()
        services.undo(made, acting_user=None)
        assert not ChunkEdit.objects.exists()

    def test_unplaced_edit_is_applied_when_its_text_returns(self, document: Document) -> None:
        chunk = chunk_with("winch")
        made = edit(chunk, text=chunk.text.replace("every spring", "every autumn"))
        next_version(document, manual("Nobody oils anything here any longer. " * 6))
        services.make_current(document.versions.get(number=1), acting_user=None)
        document.refresh_from_db()
        processing_steps.advance(document.latest_id)
        made.refresh_from_db()
        assert made.state == ChunkEdit.State.APPLIED
        assert "every autumn" in chunk_with("winch").text

    def test_failed_version_keeps_the_edit(self, document: Document) -> None:
        chunk = chunk_with("winch")
        made = edit(chunk, text="Ask the harbour master.")
        next_version(document, "\n \n")
        assert Document.objects.get().latest.state == State.FAILED  # type: ignore[union-attr]
        made.refresh_from_db()
        assert (made.state, made.original) == (ChunkEdit.State.APPLIED, chunk.text)
        services.undo(made, acting_user=None)
        assert chunk_with("winch").text == chunk.text

    def test_version_in_progress_restarts_with_the_edit(self, document: Document) -> None:
        services.reprocess([document], acting_user=None)
        document.refresh_from_db()
        lease = claim(DocumentVersion, document.latest_id or 0)
        assert lease is not None
        lease.update(state=State.EMBEDDING)
        edit(chunk_with("winch"), text="Ask the harbour master.")
        with pytest.raises(LeaseLost):
            lease.update(progress=0.5)
        assert processing_steps.advance(document.latest_id or 0)
        assert chunk_with("harbour master").version_id == document.latest_id
