"""Concepts of documents, and the signals concept and WordNet, on the real database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest import approx

from ingestion.documents import deletion, hand_edits, processing_steps
from ingestion.documents.hand_edits import Wish
from ingestion.models import Chunk, Document, DocumentVersion
from kbsite.operations.probes.database import signals
from search import pipeline
from search.domain import QueryClass, Signal, Weights
from search.engine import configuration
from search.models import ClassWeights, SearchProfile
from search.parts.concepts import extraction
from search.parts.concepts.models import Concept, ConceptCount
from search.pipeline import Choices, SearchResponse
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document, upload
from tests.support.fake_chat import Behaviour, FakeChat, Reply, status
from tests.support.wordnet import write_wordnet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

TOWERS = """# Cooling

The cooling tower is greased by hand. A cooling tower is quiet, and the cooling towers are green.
"""


def search(text: str, **weights: float) -> SearchResponse:
    shares = {"vector": 0.0, "keyword": 0.0, "title": 0.0} | weights
    return pipeline.search(text, viewer=None, choices=Choices(weights=Weights(**shares)))


def found(document: Document) -> dict[str, int]:
    return dict(Concept.objects.filter(document=document).values_list("label", "count"))


def names(*phrases: str) -> Behaviour:
    """A model that names these phrases."""
    return replies(json.dumps({"phrases": phrases}))


def replies(text: str) -> Behaviour:
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
    body = json.dumps(whole).encode()
    return lambda request: Reply([body], 200, {"Content-Type": "application/json"})


class TestModel:
    """CONCEPTS_MODEL names the phrases; the document decides which of them are there."""

    @pytest.fixture
    def model(self, settings: Any) -> Iterator[FakeChat]:
        with FakeChat() as server:
            settings.CONCEPTS_MODEL = "phrases"
            settings.CONCEPTS_BASE_URL = server.base_url
            settings.CONCEPTS_TIMEOUT = 5
            yield server

    def test_phrases_of_the_model_must_occur_in_the_text(self, model: FakeChat) -> None:
        model.then(names("green", "cooling towers", "steam turbine", "tower is quiet", "tower"))
        document = make_document(make_collection(), TOWERS)
        rows = Concept.objects.filter(document=document).values_list("label", "count", "weight")
        assert list(rows) == [
            ("green", 1, 1.0),
            ("cooling tower", 3, approx(2 / 3)),
            ("tower", 3, approx(1 / 3)),
        ]
        (asked,) = model.requests
        assert asked["model"] == "phrases"
        assert asked["response_format"]["json_schema"]["strict"] is True
        assert asked["max_completion_tokens"] < 1_000
        sent = json.loads(asked["messages"][1]["content"])
        assert "greased by hand" in " ".join(sent["passages"])
        assert "cooling" not in asked["messages"][0]["content"]

    @pytest.mark.parametrize(
        "behaviour",
        [
            replies("I would rather not."),
            replies('{"phrases": "cooling tower"}'),
            names("steam turbine"),
            status(400),
        ],
        ids=["no JSON", "no list", "nothing of the text", "refused"],
    )
    def test_statistics_replace_an_unusable_reply_of_the_model_with_a_log_entry(
        self, model: FakeChat, behaviour: Behaviour, caplog: pytest.LogCaptureFixture
    ) -> None:
        model.then(behaviour)
        document = make_document(make_collection(), TOWERS)
        assert found(document)["cooling tower"] == 3
        assert "Concepts by statistics instead" in caplog.text

    def test_a_passing_error_is_tried_again(self, model: FakeChat) -> None:
        model.then(status(503, retry_after="0"), names("cooling tower"))
        document = make_document(make_collection(), TOWERS)
        assert found(document) == {"cooling tower": 3}
        assert len(model.requests) == 2

    def test_hand_edit_does_not_ask_the_model(self, model: FakeChat) -> None:
        model.then(names("cooling tower"))
        document = make_document(make_collection(), TOWERS)
        chunk = Chunk.objects.get(document=document)
        wish = Wish(text=TOWERS.replace("tower", "pond"))
        hand_edits.edit_chunk(chunk, wish, acting_user=None)
        assert "cooling pond" in found(document)
        assert len(model.requests) == 1


class TestExtraction:
    def test_a_document_has_the_concepts_of_its_chunks_with_counts(self) -> None:
        document = make_document(make_collection(), TOWERS)
        first = Concept.objects.filter(document=document).first()
        assert first is not None
        assert (first.label, first.count, first.lexemes) == ("cooling tower", 3, ["cool", "tower"])
        assert (first.weight, first.ordinal, first.key) == (1.0, 0, "cool tower")
        version = DocumentVersion.objects.get(pk=document.current_id)
        assert version.concept_count.count == Concept.objects.filter(version=version).count()

    def test_stop_words_of_the_documents_language_are_left_out(self) -> None:
        text = "Der Kühlturm ist grün und der Kühlturm wird von der Leitung geschmiert. "
        german = make_document(make_collection(language="de"), text * 2)
        assert "Kühlturm" in found(german)
        assert not {"der", "ist", "und", "von", "wird"} & {label.lower() for label in found(german)}

    def test_rare_words_of_the_collection_come_first(self) -> None:
        collection = make_collection()
        for number in range(6):
            make_document(collection, f"# Note {number}\n\nThe pump of house {number}.")
        document = make_document(collection, "The pump and the sump, the pump and the sump.")
        labels = list(Concept.objects.filter(document=document).values_list("label", flat=True))
        assert labels == ["sump", "pump"]

    def test_new_version_replaces_the_concepts_at_once(self) -> None:
        collection = make_collection()
        document = make_document(collection, TOWERS, source="cooling")
        receipt = upload(collection, "The harbour and the harbour.", source="cooling")
        assert "cooling tower" in found(document)  # until the new version is searchable
        processing_steps.advance(receipt.version.pk)
        assert found(document) == {"harbour": 2}
        assert set(Concept.objects.values_list("version", flat=True)) == {receipt.version.pk}

    def test_hand_edit_changes_the_concepts(self) -> None:
        document = make_document(make_collection(), TOWERS)
        chunk = Chunk.objects.get(version=document.current_id)
        edit = hand_edits.edit_chunk(chunk, Wish("The harbour and the harbour."), acting_user=None)
        assert found(document) == {"harbour": 2}
        assert edit is not None
        hand_edits.undo(edit, acting_user=None)
        assert found(document)["cooling tower"] == 3


def test_documents_without_extracted_concepts_are_detected() -> None:
    document = make_document(make_collection(), TOWERS)
    assert not extraction.are_missing()
    ConceptCount.objects.all().delete()
    assert extraction.are_missing()
    deletion.delete([document], acting_user=None)
    assert not extraction.are_missing()


class TestConceptSignal:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def library(cls, django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
        with lasting(django_db_blocker):
            collection = make_collection()
            make_document(collection, TOWERS)
            make_document(
                collection, "# Reservoir\n\nThe water tower is high. A water tower is red."
            )
            make_document(collection, "# Cats\n\nCats sleep, and cats eat.")
            yield

    def raw(self, response: SearchResponse) -> dict[str, float]:
        return {
            result.title: result.hit.candidate.raw[Signal.CONCEPT] for result in response.results
        }

    def test_f2_04_a_whole_concept_counts_one_and_a_part_two_thirds(self) -> None:
        """Of `cooling tower` both words are asked; of `water tower` one, at 1 / 1.5."""
        response = search("cooling tower", keyword=0.8, concept=0.2)
        idf = {term.lexeme: term.idf for term in response.terms}
        raw = self.raw(response)
        assert raw["Cooling"] == approx(1.0)
        assert raw["Reservoir"] == approx(idf["tower"] / 1.5 / (idf["cool"] + idf["tower"]))
        hit = response.results[0].hit
        assert hit.explanation.share(Signal.CONCEPT) == approx(0.2)

    def test_words_without_a_concept_lower_the_score(self) -> None:
        response = search("green cats", keyword=0.8, concept=0.2)
        idf = {term.lexeme: term.idf for term in response.terms}
        assert self.raw(response)["Cats"] == approx(idf["cat"] / (idf["cat"] + idf["green"]))

    def test_signal_without_a_weight_does_not_run(self) -> None:
        with CaptureQueriesContext(connection) as captured:
            response = search("cooling tower", keyword=1)
        assert all("ingestion_concept" not in query["sql"] for query in captured)
        assert Signal.CONCEPT not in response.hits[0].candidate.raw

    def test_with_a_weight_a_search_keeps_its_four_queries(self, tmp_path: Path) -> None:
        search("cooling tower", keyword=0.8, concept=0.1, wordnet=0.1)
        with CaptureQueriesContext(connection) as captured:
            search("cooling tower", keyword=0.8, concept=0.1, wordnet=0.1)
        assert len(captured) == 4


class TestStrict:
    """D13: `concept-rag:strict` takes its candidates from the vectors alone."""

    def test_a_title_beyond_the_vectors_depth_is_lost(self) -> None:
        collection = make_collection()
        for number in range(6):
            make_document(
                collection, f"# Note {number}\n\nA zebra of the savannah, number {number}."
            )
        make_document(collection, "# Zanzibar\n\nOil filters, sumps and gaskets.")
        profile = replace(configuration.current().profile("concept-rag:strict"), depth=5)
        union = replace(profile, vector_candidates_only=False)
        asked = "zebra zanzibar"

        def found_by(chosen: Any) -> set[str]:
            choices = Choices(snapshot=chosen)
            hits = pipeline.search(asked, viewer=None, choices=choices, group=False).hits
            return set(
                Document.objects.filter(pk__in=[hit.document_id for hit in hits]).values_list(
                    "title", flat=True
                )
            )

        assert found_by(union) - found_by(profile) >= {"Zanzibar"}
        assert len(found_by(profile)) == 5

    def test_keywords_find_documents_without_a_model(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make_document(make_collection(), "# Zanzibar\n\nOil filters.")
        monkeypatch.setattr("search.engine.find.embed_query", _fails)
        profile = configuration.current().profile("concept-rag:strict")
        response = pipeline.search("filters", viewer=None, choices=Choices(snapshot=profile))
        assert [result.title for result in response.results] == ["Zanzibar"]
        assert response.degraded == (Signal.VECTOR,)


def _fails(*_: object) -> Any:
    from search.engine.embed import QueryVector

    return QueryVector(degraded=(Signal.VECTOR,))


class TestWordNet:
    @pytest.fixture(autouse=True)
    def database(self, settings: Any, tmp_path: Path) -> None:
        settings.WORDNET_DIR = str(write_wordnet(tmp_path / "wordnet"))

    def test_s2_27_finds_what_the_question_says_in_other_words(self) -> None:
        collection = make_collection()
        make_document(collection, "# Garage\n\nMend the automobile on Mondays.")
        make_document(collection, "# Hangar\n\nThe motor vehicle is green.")
        make_document(collection, "# Cats\n\nCats sleep.")
        assert not search("repair a car", keyword=1).results
        response = search("repair a car", keyword=0.8, wordnet=0.2)
        assert [result.title for result in response.results] == ["Garage", "Hangar"]
        first, second = (
            result.hit.explanation.share(Signal.WORDNET) for result in response.results
        )
        assert first == approx(0.2)  # the best of a signal over its maximum
        assert 0 < second < first

    def test_f2_06_broader_terms_count_two_thirds_of_synonyms(self) -> None:
        """Two documents alike but for a synonym (.6) and a broader term (.4) of the word."""
        collection = make_collection()
        make_document(collection, "# One\n\nThe depository stands here.", file_name="one.md")
        make_document(collection, "# Two\n\nThe improve stands here.", file_name="two.md")
        response = search("money bank repair", keyword=0.5, wordnet=0.5)
        raw = {each.title: each.hit.candidate.raw[Signal.WORDNET] for each in response.results}
        assert raw["Two"] == approx(raw["One"] * 0.4 / 0.6, rel=1e-3)

    def test_german_questions_are_not_expanded(self) -> None:
        collection = make_collection(language="de")
        make_document(
            collection, "# Garage\n\nDas automobile wird am Montag von der Werkstatt geholt."
        )
        assert not search("wer hat das car von der", keyword=0.8, wordnet=0.2).results

    def test_missing_wordnet_is_reported_as_degraded(self, settings: Any, tmp_path: Path) -> None:
        settings.WORDNET_DIR = str(tmp_path / "nowhere")
        make_document(make_collection(), "# Garage\n\nMend the car on Mondays.")
        response = search("car", keyword=0.8, wordnet=0.2)
        assert [result.title for result in response.results] == ["Garage"]
        assert response.degraded == (Signal.WORDNET,)

    def test_f2_05_one_unknown_word_gives_wordnet_more(self) -> None:
        make_document(make_collection(), "# Garage\n\nThe automobile, the car and the lift.")
        choices = Choices(profile="concept-rag:catalog")
        response = pipeline.search("car", viewer=None, choices=choices)
        # One word with a concept: .10 * 1.5, and five relatives for it: * 1.25.
        assert response.weights.wordnet == approx(0.1875)
        assert response.notes == ("WordNet counts for 19% of this question's score.",)
        assert response.classification.query_class is QueryClass.GENERAL


class TestSystemCheck:
    @pytest.fixture(autouse=True)
    def weighed(self, settings: Any, tmp_path: Path) -> None:
        """The active profile weighs both; WordNet is not there."""
        settings.WORDNET_DIR = str(tmp_path / "wordnet")
        rows = ClassWeights.objects.filter(profile__state=SearchProfile.State.ACTIVE)
        rows.update(vector="0.5", keyword="0.3", title=0, concept="0.1", wordnet="0.1")

    def found(self) -> list[str]:
        return sorted(problem.check for problem in signals())

    def test_system_check_reports_a_missing_wordnet(self, settings: Any) -> None:
        assert self.found() == ["W012"]
        settings.WORDNET_DIR = str(write_wordnet(Path(settings.WORDNET_DIR).parent / "there"))
        assert self.found() == []
