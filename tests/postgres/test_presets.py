"""Every shipped profile installs, answers, and asks the embedder as its seed does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from pytest import approx

from ingestion import spaces
from ingestion.embedding import CachedQueryEmbedder, Embedder, ModelCard, Tokenizer, Vectors
from ingestion.errors import EmbeddingUnavailable
from ingestion.models import IdentifierPattern
from search.domain import Profile, QueryClass, Signal, Weights
from search.models import ClassWeights, SearchProfile
from search.pipeline import Choices, SearchResponse, search
from search.presets.seeds import PRESETS, SEEDS
from search.tuning.install_defaults import install_presets
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "library")]

WORDS = "pump " + "plain " * 99  # a hundred words
DOCUMENTS = {
    "d40.md": "# Gallery\n\nRegion D40: the pumps of D40 are green. Ask for D40 at the door.",
    "d41.md": "# Region D41\n\nThe pumps of this region are blue, and so is its door.",
    "area.md": "# Area D\n\nArea D has forty doors and a region of pumps next to D40 and AB12.",
    "hundred.txt": WORDS,
    "systems.txt": "Systems of systems and a subsystem, of which ours is one system.",
}


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The documents for all tests of this file, in a transaction around theirs."""
    with lasting(django_db_blocker):
        handbook = make_collection("Handbook")
        for name, text in DOCUMENTS.items():
            make_document(handbook, text, file_name=name)
        yield


class Counting:
    """The real embedder, counting the queries it is asked; `failing` it refuses each."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.calls: list[str] = []
        self.failing = False

    @property
    def card(self) -> ModelCard:
        return self.embedder.card

    @property
    def tokenizer(self) -> Tokenizer:
        return self.embedder.tokenizer

    def embed_query(self, text: str, *, timeout: float | None = None) -> Vectors:
        self.calls.append(text)
        if self.failing:
            raise EmbeddingUnavailable("The model is out.")
        return self.embedder.embed_query(text, timeout=timeout)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self.embedder.embed_documents(texts)  # of the snippets: not counted


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> Counting:
    counting = Counting(spaces.embedder())
    cached = CachedQueryEmbedder(counting, cache, ttl=60)  # type: ignore[arg-type]
    monkeypatch.setattr(spaces, "query_embedder", lambda space=None: cached)
    return counting


def ask(text: str, profile: str, **choices: Any) -> SearchResponse:
    return search(text, viewer=None, choices=Choices(profile=profile, **choices))


def raw(response: SearchResponse, signal: Signal) -> dict[str, float | None]:
    """A signal's raw score of each result, by its title."""
    return {
        result.title: next(
            part.raw for part in result.hit.explanation.contributions if part.signal is signal
        )
        for result in response.results
    }


class TestInstalling:
    @pytest.mark.parametrize(
        "profile", [preset.profile for preset in PRESETS], ids=[preset.name for preset in PRESETS]
    )
    def test_installed_row_equals_the_preset(self, profile: Profile) -> None:
        row = SearchProfile.objects.get(name=profile.name, version=profile.version)
        assert row.as_profile() == profile
        assert row.description
        row.full_clean()

    def test_installing_again_changes_nothing(self) -> None:
        before = list(SearchProfile.objects.values()), list(ClassWeights.objects.values())
        install_presets()
        assert (list(SearchProfile.objects.values()), list(ClassWeights.objects.values())) == before

    def test_new_patterns_are_tried_before_those_of_a_release_that_follow_them(self) -> None:
        new = ["Clause", "Paragraph"]
        rows = IdentifierPattern.objects
        shipped = list(rows.values_list("name", flat=True))
        rows.filter(name__in=new).delete()
        for place, name in enumerate(rows.values_list("name", flat=True), start=1):
            rows.filter(name=name).update(position=place * 10)
        install_presets()
        assert list(rows.values_list("name", flat=True)) == shipped

    def test_an_earlier_version_stays_and_the_newer_answers(self) -> None:
        """What was published never changes (ADR 5): a changed preset is a new version."""
        earlier = SearchProfile.objects.create(
            name="textbook", version=1, state=SearchProfile.State.RETIRED, depth=20
        )
        ClassWeights.objects.bulk_create(
            ClassWeights(profile=earlier, query_class=each, vector="0.7", keyword="0.3", title="0")
            for each in QueryClass
        )
        install_presets()
        assert ask("pumps", "textbook").profile.version == 2
        assert not ask("pumps", "textbook@1").profile.own_candidates_only

    def test_an_upgrade_keeps_the_lean_of_profiles_whose_classes_differ(self) -> None:
        other = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        own = SearchProfile.objects.create(name="own", version=1, language_lean=False)
        for query_class, shares in other.as_profile().weights.items():
            changed = Weights(0.5, 0.5, 0) if query_class is QueryClass.CODE else shares
            ClassWeights.objects.create(profile=own, query_class=query_class, **changed.as_dict())
        SearchProfile.objects.update(language_lean=False)
        with connection.cursor() as cursor:
            cursor.execute(import_module("search.migrations.0007_language_lean").KEEP_THE_LEAN)
        # No preset of ours has classes that differ, and the seeds' have other classifiers.
        leaning = SearchProfile.objects.filter(language_lean=True)
        assert [row.name for row in leaning] == ["own"]


class TestAsking:
    @pytest.mark.parametrize("name", [preset.name for preset in PRESETS])
    def test_each_preset_can_be_requested(self, name: str) -> None:
        response = ask("green pumps at the door", name)
        version = response.profile.version
        assert response.profile.name == name
        assert response.forced == ("profile",)
        assert response.results[0].title == "Gallery"
        again = ask("green pumps at the door", f"{name}@{version}")
        assert [hit.score for hit in again.hits] == [hit.score for hit in response.hits]

    @pytest.mark.parametrize(
        ("name", "text", "query_class", "weights"),
        [
            pytest.param("indexfoundry:adaptive", "about D40", "lookup", (0.3, 0.7), id="S1-19"),
            pytest.param("indexfoundry:adaptive", "Room D40", "general", (0.5, 0.5), id="S1-20"),
            pytest.param("indexfoundry:adaptive", "a D40?", "concept", (0.7, 0.3), id="S1-22"),
            pytest.param("indexfoundry:shipped", "AB12 and D40", "lookup", (0.3, 0.7), id="F1-01"),
            pytest.param("textbook", "Define pumps", "general", (0.7, 0.3), id="S3-09"),
            pytest.param("textbook:adaptive", "Define pumps", "lookup", (0.2, 0.8), id="S3-25"),
            pytest.param("mind", "error in the pumps", "debug", (0.5, 0.5), id="S4-09"),
            pytest.param("physical-ai", "Define pumps", "concept", (0.8, 0.2), id="S5-08"),
            pytest.param("physical-ai", "D40 vs D41", "comparison", (0.7, 0.3), id="S5-10"),
        ],
    )
    def test_preset_uses_its_own_classifier(
        self, name: str, text: str, query_class: str, weights: tuple[float, float]
    ) -> None:
        response = ask(text, name)
        assert response.classification.query_class == query_class
        assert (response.weights.vector, response.weights.keyword) == approx(weights)

    def test_parameters_of_the_caller_override_the_preset(self) -> None:
        """Part 2, design 7."""
        weights = Weights(0.1, 0.2, 0.7)
        forced = ask("AB12 and D40", "indexfoundry:shipped", query_class=QueryClass.CODE)
        assert forced.weights == Weights(0.5, 0.5, 0)
        assert ask("AB12 and D40", "indexfoundry:shipped", weights=weights).weights == weights


class TestTheEmbedder:
    """Preset test 4."""

    def test_s1_29_bypassed_query_is_not_embedded(self, embedder: Counting) -> None:
        response = ask("D40", "indexfoundry")
        assert embedder.calls == []
        assert response.degraded == ()
        assert response.weights == Weights(0, 1, 0)
        # S1-43: D40 stands in it, so the keyword score is 1; and it alone is the score.
        assert raw(response, Signal.KEYWORD)["Gallery"] == 1.0
        assert response.results[0].hit.score == 1.0

    @pytest.mark.parametrize("text", ["d40", "AB12", "What is D40?", "PII-2024-0042"])
    def test_s1_28_other_queries_are_embedded_once(self, embedder: Counting, text: str) -> None:
        ask(text, "indexfoundry")
        assert embedder.calls == [text]

    @pytest.mark.parametrize("name", ["textbook", "mind", "physical-ai", "concept-rag"])
    def test_the_seeds_embed_identifiers_where_we_do_not(
        self, embedder: Counting, name: str
    ) -> None:
        ask("PII-2024-0042", "default")
        assert embedder.calls == []
        ask("PII-2024-0042", name)
        assert embedder.calls == ["PII-2024-0042"]

    @pytest.mark.parametrize(
        "choices",
        [{"weights": Weights(0.7, 0.3, 0)}, {"query_class": QueryClass.CONCEPT}],
        ids=["weights", "class"],
    )
    def test_class_given_by_the_caller_precedes_the_bypass(
        self, embedder: Counting, choices: dict[str, Any]
    ) -> None:
        response = ask("D40", "indexfoundry", **choices)
        assert embedder.calls == ["D40"]
        assert response.weights == Weights(0.7, 0.3, 0)

    @pytest.mark.parametrize("name", [preset.name for preset in SEEDS])
    def test_s1_33_keywords_answer_without_the_embedder(
        self, embedder: Counting, name: str
    ) -> None:
        embedder.failing = True
        response = ask("green pumps at the door", name)
        weighs_meaning = response.weights.vector > 0
        # WordNet need not be installed where the tests run.
        failed = tuple(each for each in response.degraded if each is not Signal.WORDNET)
        assert failed == ((Signal.VECTOR,) if weighs_meaning else ())
        assert response.results[0].title == "Gallery"
        assert set(raw(response, Signal.VECTOR).values()) == {None}


class TestScorers:
    def test_f2_01_bm25_without_document_frequencies(self) -> None:
        """Golden bm25_term: once among a hundred words is 1 x 2.5 / (1 + 1.5) = 1."""
        response = ask("Pump?", "concept-rag")
        assert raw(response, Signal.KEYWORD)["hundred"] == approx(1.0, abs=1e-6)

    def test_f2_01_counts_the_words_that_contain_a_term(self) -> None:
        """12 words, 4 of them with "system"; "of" and "is" are too short to count."""
        response = ask("system of is", "concept-rag")
        norm = 1.5 * (0.25 + 0.75 * 12 / 100)
        assert raw(response, Signal.KEYWORD)["systems"] == approx(4 * 2.5 / (4 + norm))

    def test_s2_13_a_term_gives_two_and_a_half_at_most(self) -> None:
        collection = make_collection("Repeating")
        make_document(collection, "gyre " * 150, file_name="gyre.txt")
        found = raw(ask("gyre", "concept-rag"), Signal.KEYWORD)["gyre"]
        assert found is not None
        assert 2.4 < found < 2.5

    def test_s1_43_the_share_of_the_querys_words(self) -> None:
        found = raw(ask("blue pumps of nowhere", "indexfoundry"), Signal.KEYWORD)
        assert found["Region D41"] == approx(2 / 3)

    def test_s2_11_ten_for_a_title_once(self) -> None:
        titles = raw(ask("region D41", "concept-rag"), Signal.TITLE)
        assert (titles["Region D41"], titles["Gallery"]) == (10, 0)


class TestBoosts:
    def scores(self, text: str, name: str) -> dict[str, float]:
        return {each.title: each.hit.score for each in ask(text, name).results}

    def test_s1_24_each_anchor_multiplies_by_one_and_a_half(self) -> None:
        text = "pumps of D40 and AB12"
        plain, boosted = self.scores(text, "indexfoundry"), self.scores(text, "indexfoundry:anchor")
        factors = {title: boosted[title] / plain[title] for title in boosted}
        assert factors == approx(
            {"Area D": 2.25, "Gallery": 1.5, "Region D41": 1, "hundred": 1, "systems": 1}
        )

    def test_f1_01_a_term_for_each_anchor_more_before_a_mark(self) -> None:
        """ "Region D40:" is a label; "next to D40 and AB12." names one, and one before a mark."""
        response = ask("pumps of D40 and AB12", "indexfoundry:shipped")
        added = {
            each.title: each.hit.score
            - sum(part.value for part in each.hit.explanation.contributions)
            for each in response.results
        }
        named = {"Gallery": 0.4, "Area D": 0.15 + 0.4}
        assert set(named) < set(added)
        for title, value in added.items():
            assert value == approx(named.get(title, 0.0), abs=1e-9)
