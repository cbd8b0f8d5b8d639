"""S2-21, S4-30, D20: a collection or a document type names its own profile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from common.accounts.models import User
from ingestion.documents import deletion
from ingestion.models import Collection
from search.domain import QueryClass, RunningExperiment, Weights
from search.engine import configuration
from search.models import ScopeProfile, SearchProfile
from search.pipeline import Choices, SearchResponse, search
from search.retrieval import Filters
from search.tuning import activation as activation
from search.tuning import drafts, publications
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.golden_library import active_profile

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "shelves")]

PDF, MARKDOWN = "application/pdf", "text/markdown"
OWN, OTHER = "textbook:60/40", "mind"


@pytest.fixture(scope="module")
def shelves(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The collections, for every test of the module."""
    with lasting(django_db_blocker):
        for name in ("Recipes", "Manuals", "Letters"):
            make_document(make_collection(name), f"# {name}\n\nThe pump of the {name.lower()}.")
        secret = make_collection("Secret", visibility="groups", groups=["insiders"])
        make_document(secret, "# Plan\n\nThe pump of the plan.")
        yield


def names_own(name: str, profile: str = OWN) -> ScopeProfile:
    collection = Collection.objects.get(name=name)
    return ScopeProfile.objects.create(collection=collection, profile=profile)


def asked(
    *slugs: str, text: str = "pump", viewer: Any = None, choices: Choices | None = None, **more: Any
) -> SearchResponse:
    filters = Filters(collections=slugs, **more)
    return search(text, viewer=viewer, filters=filters, choices=choices)


def told(response: SearchResponse) -> str:
    return " ".join(response.notes)


class TestOneCollection:
    def test_collection_is_ranked_by_its_own_profile_with_a_note(self) -> None:
        names_own("Recipes")
        found = asked("recipes")
        assert found.profile.name == OWN
        assert found.weights == found.profile.weights[found.classification.query_class]
        assert f"Ranked by the profile of Recipes: {OWN} v1." in found.notes
        assert found.forced == ()

    def test_collection_operator_selects_its_profile_too(self) -> None:
        names_own("Recipes")
        assert asked(text="pump collection:recipes").profile.name == OWN
        assert asked(text='pump collection:"Recipes"').profile.name == OWN
        assert asked(text="pump collection:RECIPES").profile.name == OWN

    def test_filter_and_operator_must_name_the_same_collection(self) -> None:
        names_own("Recipes")
        assert asked("recipes", "manuals", text="pump collection:recipes").profile.name == OWN
        assert asked("manuals", text="pump collection:recipes").profile.name == "default"
        narrowed = asked("recipes", "manuals", text="pump -collection:manuals")
        assert narrowed.profile.name == OWN

    def test_a_change_acts_on_the_next_search(self) -> None:
        assert asked("recipes").profile.name == "default"
        row = names_own("Recipes")
        assert asked("recipes").profile.name == OWN
        row.profile = OTHER
        row.save()
        assert asked("recipes").profile.name == OTHER
        row.delete()
        assert asked("recipes").profile.name == "default"

    def test_restored_collection_takes_its_scope_profile_back(self, administrator: User) -> None:
        names_own("Recipes")
        recipes = Collection.objects.get(name="Recipes")
        deletion.delete_collection(recipes, acting_user=administrator)
        other = make_collection("Recipes")
        assert other.slug == "recipes"
        assert asked("recipes").profile.name == "default"
        deletion.delete_collection(other, acting_user=administrator)
        deletion.restore_collection(recipes, acting_user=administrator)
        assert asked("recipes").profile.name == OWN


class TestVersions:
    def test_active_version_of_the_profile_is_used(self) -> None:
        names_own("Recipes", "default")
        draft = drafts.draft_from(active_profile(), acting_user=None)
        assert asked("recipes").profile.version == 5
        publications.publish(draft, acting_user=None)
        assert asked("recipes").profile.version == draft.version
        activation.roll_back(acting_user=None)
        assert asked("recipes").profile.version == 5

    def test_publishing_a_site_profile_keeps_the_scope_profile(self) -> None:
        names_own("Recipes", "default")
        other = SearchProfile.objects.get(name=OTHER)
        publications.publish(other, acting_user=None)
        assert asked("recipes").profile.name == "default"
        assert asked("manuals").profile.name == OTHER

    def test_missing_profile_falls_back_with_a_note(self) -> None:
        names_own("Recipes", "no-such")
        found = asked("recipes")
        assert found.profile.name == "default"
        assert "The profile of Recipes, “no-such”, is not published" in told(found)
        assert "no-such" not in told(asked())

    def test_a_draft_is_not_published(self) -> None:
        draft = drafts.draft_from(active_profile(), acting_user=None)
        SearchProfile.objects.filter(pk=draft.pk).update(name="recipes", version=1)
        names_own("Recipes", "recipes")
        assert asked("recipes").profile.name == "default"


class TestSeveral:
    def test_several_collections_use_the_site_profile_with_a_note(self) -> None:
        names_own("Recipes")
        for found in (asked("recipes", "manuals"), asked()):
            assert found.profile.name == "default"
            assert "have profiles of their own: Recipes." in told(found)

    def test_collections_without_own_profile_give_no_note(self) -> None:
        names_own("Recipes")
        assert asked("manuals", "letters").notes == ()
        ScopeProfile.objects.update(profile="default")
        configuration.bump()
        assert asked("recipes", "manuals").notes == ()
        assert asked().notes == ()


class TestTypes:
    def test_search_of_one_type_uses_the_profile_of_the_type(self) -> None:
        ScopeProfile.objects.create(media_type=MARKDOWN, profile=OWN)
        assert asked(media_types=(MARKDOWN,)).profile.name == OWN
        assert asked(text="pump type:md").profile.name == OWN
        assert asked(media_types=(MARKDOWN, PDF)).profile.name == "default"
        assert "Markdown" in told(asked(media_types=(MARKDOWN, PDF)))
        assert asked(media_types=(MARKDOWN, PDF), text="pump -type:pdf").profile.name == OWN

    def test_profile_of_the_collection_precedes_that_of_the_type(self) -> None:
        ScopeProfile.objects.create(media_type=MARKDOWN, profile=OWN)
        names_own("Recipes", OTHER)
        assert asked("recipes", media_types=(MARKDOWN,)).profile.name == OTHER
        assert asked("manuals", media_types=(MARKDOWN,)).profile.name == OWN


class TestForced:
    def test_profile_named_by_the_caller_wins(self) -> None:
        names_own("Recipes")
        found = asked("recipes", choices=Choices(profile=OTHER))
        assert (found.profile.name, found.notes) == (OTHER, ())
        snapshot = SearchProfile.objects.get(name=OTHER).as_profile()
        assert asked("recipes", choices=Choices(snapshot=snapshot)).profile.name == OTHER

    def test_class_and_weights_win_over_those_of_the_profile(self) -> None:
        names_own("Recipes")
        weights = Weights(vector=0, keyword=1, title=0)
        found = asked("recipes", choices=Choices(query_class=QueryClass.CODE, weights=weights))
        assert (found.profile.name, found.weights) == (OWN, weights)
        assert found.classification.query_class is QueryClass.CODE


class TestExperiments:
    def test_experiments_include_only_searches_ranked_by_the_site_profile(self) -> None:
        names_own("Recipes")
        arm = SearchProfile.objects.get(name=OTHER).as_profile()
        running = RunningExperiment(1, "salt", 1.0, arm, arm)
        configured = replace(configuration.current(), experiment=running)

        def found(*slugs: str) -> SearchResponse:
            return search(
                "pump",
                viewer=None,
                filters=Filters(collections=slugs),
                visitor="visitor",
                configuration=configured,
            )

        assert (found("manuals").profile.name, found("manuals").trial is None) == (OTHER, False)
        assert (found("recipes").profile.name, found("recipes").trial) == (OWN, None)


class TestWhoMayKnow:
    def test_unreadable_collection_behaves_like_an_unknown_one(
        self, reader: User, django_assert_num_queries: Any
    ) -> None:
        names_own("Secret")
        for viewer in (None, reader):
            found = asked("secret", viewer=viewer)
            assert found.profile.name == "default"
            assert found.notes == asked("no-such", viewer=viewer).notes
            assert "Secret" not in told(asked("secret", "recipes", viewer=viewer))
            assert "Secret" not in told(asked(viewer=viewer))

    def test_members_and_superusers_get_the_profile_of_their_collection(
        self, member: User, administrator: User, django_assert_num_queries: Any
    ) -> None:
        names_own("Secret")
        asked(viewer=member)
        with django_assert_num_queries(5):  # whether the reader may know of it
            assert asked("secret", viewer=member).profile.name == OWN
        assert "Secret" in told(asked("secret", "recipes", viewer=member))
        assert asked("secret", viewer=administrator).profile.name == OWN
        assert "Secret" in told(asked(viewer=administrator))

    def test_closing_a_collection_is_noticed(self, reader: User) -> None:
        names_own("Recipes")
        assert asked("recipes").profile.name == OWN
        recipes = Collection.objects.get(name="Recipes")
        recipes.visibility = "signed_in"
        recipes.save()
        assert asked("recipes").profile.name == "default"
        assert asked("recipes", viewer=reader).profile.name == OWN
