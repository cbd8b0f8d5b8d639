"""Recency, synonyms, boosts and pins on the real database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone
from pytest import approx

from common.accounts.models import User
from ingestion.models import Document, DocumentVersion
from search import pipeline
from search.domain import Signal, Weights
from search.models import Pin, Synonym
from search.pipeline import Choices, SearchResponse
from search.tuning import publications
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.golden_library import draft_with

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


def search(text: str, *, viewer: object = None, **weights: float) -> SearchResponse:
    shares = {"vector": 0.0, "keyword": 0.0, "title": 0.0} | weights
    chosen = Choices(weights=Weights(**shares)) if weights else None
    return pipeline.search(text, viewer=viewer, choices=chosen)  # type: ignore[arg-type]


def titles(response: SearchResponse) -> list[str]:
    return [result.title for result in response.results]


def contribution(response: SearchResponse, title: str, signal: Signal) -> float:
    hit = next(result.hit for result in response.results if result.title == title)
    return hit.explanation.share(signal)


def profile_with(administrator: User, **fields: object) -> None:
    """The active profile with other settings."""
    draft = draft_with(user=administrator, **fields)
    draft.full_clean()
    publications.publish(draft, acting_user=administrator)


class TestRecency:
    def test_recency_halves_with_each_half_life(self) -> None:
        collection = make_collection()
        for name, days in (("New", 0), ("Old", 365)):
            document = make_document(collection, f"# {name}\n\nPump bearings, {name}.")
            DocumentVersion.objects.filter(pk=document.current_id).update(
                created=timezone.now() - timedelta(days=days)
            )
        response = search("pump bearings", keyword=0.9, recency=0.1)
        assert titles(response) == ["New", "Old"]
        assert contribution(response, "New", Signal.RECENCY) == approx(0.1, abs=1e-4)
        assert contribution(response, "Old", Signal.RECENCY) == approx(0.05, abs=1e-4)


class TestSynonyms:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def library(cls, django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
        with lasting(django_db_blocker):
            collection = make_collection()
            make_document(collection, "# Arms\n\nForward kinematics gives the pose of the hand.")
            make_document(collection, "# Rules\n\nEvery FK is declared by its table.")
            make_document(collection, "# Cats\n\nCats sleep.")
            Synonym.objects.create(terms=["FK", "forward kinematics"])
            yield

    def test_s3_07_finds_what_the_query_says_in_other_words(self) -> None:
        assert titles(search("FK", keyword=1)) == ["Rules"]
        response = search("FK", keyword=0.8, synonym=0.2)
        assert titles(response) == ["Rules", "Arms"]
        assert contribution(response, "Arms", Signal.SYNONYM) == approx(0.2)

    def test_disabled_synonym_is_ignored(self) -> None:
        Synonym.objects.get().delete()
        assert titles(search("FK", keyword=0.8, synonym=0.2)) == ["Rules"]

    def test_synonym_does_not_find_a_hidden_document(self) -> None:
        hidden = make_collection("Secrets", visibility="private")
        make_document(hidden, "# Secret\n\nForward kinematics of the secret arm.")
        assert titles(search("FK", keyword=0.8, synonym=0.2)) == ["Rules", "Arms"]


class TestBoosts:
    def test_s1_24_an_anchor_in_the_text_multiplies_the_score(self, administrator: User) -> None:
        collection = make_collection()
        make_document(collection, "# Near\n\nThe pump room of building Qx40, repaired.")
        make_document(collection, "# Far\n\nThe pump room of building qx40, repaired.")
        profile_with(administrator, feedback=0)
        before = {r.title: r.hit.score for r in search("pump room Qx40").results}
        boost = {"name": "codes", "amount": 1.5, "anchor": r"[A-Z]x\d+"}
        profile_with(administrator, boosts=[boost])
        after = {r.title: r.hit.score for r in search("pump room Qx40").results}
        assert after["Near"] == approx(1.5 * before["Near"])
        assert after["Far"] == approx(before["Far"])

    def test_boost_applies_only_to_chunks_of_its_kind(self, administrator: User) -> None:
        collection = make_collection()
        make_document(collection, "# Code\n\n```\nrun_pump(bearing)\n```\n", file_name="code.md")
        make_document(collection, "# Prose\n\nRun the pump on its bearing.", file_name="prose.md")
        profile_with(administrator, feedback=0)
        before = {r.title: r.hit.score for r in search("pump bearing").results}
        boost = {"name": "code", "amount": 0.15, "multiply": False, "kinds": ["code"]}
        profile_with(administrator, boosts=[boost])
        after = {r.title: r.hit.score for r in search("pump bearing").results}
        assert after["Code"] == approx(before["Code"] + 0.15)
        assert after["Prose"] == approx(before["Prose"])

    def test_boost_applies_only_to_short_sections_of_longer_documents(
        self, administrator: User
    ) -> None:
        explained = f"## Repair\n\n{'The pump is opened, cleaned and closed again. ' * 20}"
        pointing = "## Tests\n\nHow to test a pump is in the manual of tests."
        collection = make_collection()
        make_document(collection, f"# Pumps\n\n{explained}\n\n{pointing}", file_name="pumps.md")
        make_document(collection, "# Pump\n\nThe pump is whole.", file_name="whole.md")
        make_document(collection, "The pump of running text. " * 50, file_name="text.txt")
        profile_with(administrator, feedback=0, boosts=[])

        def scores() -> dict[tuple[str, int], float]:
            found = pipeline.search("pump", viewer=None, group=False).results
            return {(each.title, each.chunk): each.hit.score for each in found}

        before = scores()
        profile_with(administrator, boosts=[{"name": "short", "amount": 0.5, "shorter_than": 400}])
        changed = {key for key, score in scores().items() if score != approx(before[key])}
        assert {title for title, _ in changed} == {"Pumps"}
        (short,) = changed
        assert scores()[short] == approx(before[short] / 2)

    def test_an_anchor_may_be_written_in_any_script(self, administrator: User) -> None:
        make_document(make_collection(), "# Near\n\nThe क्षि (C++) room, repaired.")
        boost = {"name": "quoted", "amount": 2, "anchor": '"([^"]+)"'}
        profile_with(administrator, feedback=0)
        text = 'room "क्षि (C++)"'
        before = search(text).results[0].hit.score
        profile_with(administrator, boosts=[boost])
        assert search(text).results[0].hit.score == approx(2 * before)

    def test_a_pattern_that_postgres_cannot_read_is_refused(self, administrator: User) -> None:
        boost = {"name": "codes", "amount": 2, "pattern": "(?P<code>x+)"}
        with pytest.raises(ValidationError, match="Postgres does not support the pattern"):
            profile_with(administrator, boosts=[boost])


class TestPins:
    @pytest.fixture(scope="class")
    @classmethod
    def rules(cls, django_db_setup: None, django_db_blocker: Any) -> Iterator[Document]:
        with lasting(django_db_blocker):
            collection = make_collection()
            make_document(collection, "# Leave\n\nAnnual leave, annual leave, annual leave.")
            yield make_document(collection, "# Rules\n\nHolidays are asked for in writing.")

    def test_a_pinned_document_comes_first_for_just_this_question(self, rules: Document) -> None:
        assert titles(search("annual leave"))[0] == "Leave"
        Pin.objects.create(query="Annual  leave", document=rules)
        response = search("annual LEAVE")
        assert titles(response)[0] == "Rules"
        assert response.results[0].hit.explanation.tier.reason == "it is pinned to this question"
        assert titles(search("annual leave days"))[0] == "Leave"

    def test_pinned_document_is_hidden_from_those_who_may_not_read_it(
        self, rules: Document
    ) -> None:
        hidden = make_document(
            make_collection("Secrets", visibility="private"), "# Secret\n\nHolidays of the board."
        )
        Pin.objects.create(query="annual leave", document=hidden)
        assert "Secret" not in titles(search("annual leave"))

    def test_filters_hold_for_pins_too(self, rules: Document) -> None:
        Pin.objects.create(query="annual leave -writing", document=rules)
        assert "Rules" not in titles(search("annual leave -writing"))
