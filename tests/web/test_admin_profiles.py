"""Search profiles in the admin: published ones never change, a sum is 1, no edit is lost."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.utils.html import strip_tags

from common.accounts.models import User
from search.domain import QueryClass, Weights
from search.models import ClassWeights, SearchProfile
from search.tuning import drafts, publications
from search.tuning.models import ProfileChange
from tests.support.admin_client import form_data, said, signed_in, staff

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

LIST = "/admin/search/searchprofile/"
CHANGES = "/admin/tuning/profilechange/"
KEYWORDS_ONLY = {
    "weight-general-vector": "0",
    "weight-general-keyword": "1",
    "weight-general-title": "0",
}
BY_CLASS = {"by_class": "on"}


def page(profile: SearchProfile, what: str = "change") -> str:
    return f"{LIST}{profile.pk}/{what}/"


def weights(profile: SearchProfile, query_class: str = "general") -> Weights:
    return ClassWeights.objects.get(profile=profile, query_class=query_class).as_weights()


def opened(user: User, profile: SearchProfile) -> dict[str, Any]:
    """The form as a browser holds it after opening the page."""
    return form_data(signed_in(user).get(page(profile)), "searchprofile_form")


def save(user: User, profile: SearchProfile, data: dict[str, Any], button: str = "_save") -> Any:
    return signed_in(user).post(page(profile), {**data, button: "1"})


def errors(response: Any) -> str:
    form = response.context["adminform"].form
    return f"{form.non_field_errors()} {form.errors}"


@pytest.fixture
def active(db: None) -> SearchProfile:
    return SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)


@pytest.fixture
def draft(active: SearchProfile, administrator: User) -> SearchProfile:
    return drafts.draft_from(active, acting_user=administrator)


def test_shipped_comparison_profiles_are_listed_on_request(
    active: SearchProfile, administrator: User, desk: Client
) -> None:
    def names(**asked: str) -> set[str]:
        return {row.name for row in desk.get(LIST, asked).context["cl"].result_list}

    shipped = SearchProfile.objects.get(name="indexfoundry")
    assert names() == {active.name}
    listed = desk.get(LIST)
    assert "?shipped=1" in listed.content.decode()
    assert "total" not in strip_tags(re.findall(r"(?s)<h1.*?</h1>", listed.content.decode())[0])
    others = desk.get(LIST, {"shipped": "1"}).content.decode()
    assert "For comparison" in others
    states = re.findall(r'(?s)<td class="field-(?:state_label|published_at).*?</td>', others)
    assert {strip_tags(each.replace("\n", " ")).strip() for each in states} == {
        "For comparison",
        "-",
    }
    for asked in ({"shipped": "1"}, {"q": "indexfoundry"}, {"state__exact": "retired"}):
        assert "indexfoundry" in names(**asked), asked
    drafts.draft_from(shipped, acting_user=administrator)
    assert names() == {active.name, "indexfoundry"}
    assert desk.get(LIST).context["cl"].result_count == 2


class TestImmutability:
    def test_saving_a_published_profile_makes_a_new_draft(
        self, active: SearchProfile, administrator: User
    ) -> None:
        data = opened(administrator, active)
        response = save(administrator, active, {**data, **KEYWORDS_ONLY, "depth": "60"})
        draft = SearchProfile.objects.get(name=active.name, version=active.version + 1)
        assert draft.is_draft
        assert draft.based_on == active
        assert (draft.depth, weights(draft)) == (60, Weights(0, 1, 0))
        assert weights(draft, "lookup") == Weights(0, 1, 0)
        assert response.headers["Location"] == page(draft)
        assert "new draft default v6" in said(response)

        kept = SearchProfile.objects.get(pk=active.pk)
        assert (kept.state, kept.depth) == (SearchProfile.State.ACTIVE, 100)
        assert weights(kept) == Weights(0.67, 0.28, 0.05)

    def test_saving_an_unchanged_profile_makes_no_draft(
        self, active: SearchProfile, administrator: User
    ) -> None:
        response = save(administrator, active, opened(administrator, active))
        assert "No changes to save" in said(response)
        assert SearchProfile.objects.filter(name=active.name).count() == 1
        assert not ProfileChange.objects.exclude(user=None).exists()

    def test_a_draft_is_edited_in_place_and_audited(
        self, draft: SearchProfile, administrator: User
    ) -> None:
        fine = {"weight-general-vector": "0.6733", "weight-general-keyword": "0.2767"}
        data = opened(administrator, draft) | fine | {"reason": "Ranks only.", "fusion": "rrf"}
        save(administrator, draft, data)
        assert weights(draft) == Weights(0.6733, 0.2767, 0.05)
        change = ProfileChange.objects.filter(profile=draft).first()
        assert change is not None
        assert (change.action, change.user) == (ProfileChange.Action.EDITED, administrator)
        assert change.reason == "Ranks only."
        assert change.differences == [
            "fusion: Weighted sum of strengths → Reciprocal rank fusion (ranks only)",
            "meaning: 67% → 67.33%",
            "keywords: 28% → 27.67%",
        ]
        assert SearchProfile.objects.filter(name=draft.name).count() == 2

    def test_published_profiles_cannot_be_deleted_drafts_can(
        self, active: SearchProfile, draft: SearchProfile, desk: Client
    ) -> None:
        assert desk.post(page(active, "delete"), {"post": "yes"}).status_code == 403
        both = {"action": "delete_selected", "_selected_action": [active.pk, draft.pk]}
        desk.post(LIST, {**both, "post": "yes"})
        assert SearchProfile.objects.filter(pk__in=[active.pk, draft.pk]).count() == 2
        desk.post(page(draft, "delete"), {"post": "yes"})
        assert not SearchProfile.objects.filter(pk=draft.pk).exists()


def test_the_note_above_a_form_names_each_wrong_field_with_a_link_to_it(
    draft: SearchProfile, administrator: User
) -> None:
    response = save(administrator, draft, opened(administrator, draft) | {"depth": "9999"})
    (note,) = re.findall(r'class="errornote.+?</ul>', response.content.decode(), re.DOTALL)
    assert re.search(r'<li><a[^>]* href="#id_depth">Depth</a>: .*500', note)
    assert note.count("<li>") == 1


class TestSum:
    @pytest.mark.parametrize("query_class", ["general", "debug"])
    @pytest.mark.parametrize(
        ("figures", "reason"),
        [
            (("0.6", "0.3", "0.2"), "These sum to 1.1: 0.1 too much."),
            (("0.6", "0.3", "0"), "These sum to 0.9: 0.1 is missing."),
            (("0.3333", "0.3333", "0.3333"), "These sum to 0.9999: 0.0001 is missing."),
            (("0", "0", "0"), "These sum to 0: 1 is missing."),
            (("-0.1", "1", "0.1"), "greater than or equal to 0"),
            (("1.2", "0", "0"), "less than or equal to 1"),
            (("0.33333", "0.33333", "0.33334"), "no more than 4 decimal places"),
            (("", "0.9", "0.1"), "This field is required"),
            (("much", "0.9", "0.1"), "Enter a number"),
        ],
    )
    def test_weights_that_do_not_sum_to_one_are_refused_with_the_figures(
        self,
        draft: SearchProfile,
        administrator: User,
        figures: tuple[str, str, str],
        reason: str,
        query_class: str,
    ) -> None:
        before = weights(draft, query_class)
        names = [f"weight-{query_class}-{signal}" for signal in ("vector", "keyword", "title")]
        data = opened(administrator, draft) | dict(zip(names, figures, strict=True)) | BY_CLASS
        response = save(administrator, draft, data)
        assert reason in errors(response)
        assert weights(draft, query_class) == before
        shown = form_data(response, "searchprofile_form")
        assert [shown[name] for name in names] == list(figures)

    def test_one_set_of_weights_is_that_of_every_class(
        self, draft: SearchProfile, administrator: User
    ) -> None:
        wrong = {"weight-debug-vector": "7", "weight-code-title": "much"}  # out of sight
        save(administrator, draft, opened(administrator, draft) | KEYWORDS_ONLY | wrong)
        assert {weights(draft, each) for each in QueryClass} == {Weights(0, 1, 0)}
        assert "by_class" not in opened(administrator, draft)

    def test_classes_get_their_own_weights_by_a_switch_and_keep_them(
        self, draft: SearchProfile, administrator: User
    ) -> None:
        own = {name.replace("general", "code"): share for name, share in KEYWORDS_ONLY.items()}
        save(administrator, draft, opened(administrator, draft) | own | BY_CLASS)
        assert weights(draft, "code") == Weights(0, 1, 0)
        assert weights(draft).vector == 0.67
        again = opened(administrator, draft)
        assert again["by_class"]
        save(administrator, draft, again | {"depth": "60"})
        assert weights(draft, "code") == Weights(0, 1, 0)


class TestPublish:
    def test_publish_page_shows_changes_and_asks_for_a_reason(
        self, active: SearchProfile, desk: Client
    ) -> None:
        other = SearchProfile.objects.get(name="textbook")
        asked = desk.get(page(other, "publish"))
        assert "depth: 100 → 20" in asked.content.decode()
        other.refresh_from_db()
        assert other.state == SearchProfile.State.RETIRED
        desk.post(page(other, "publish"), {"reason": "A fixed mix."})
        other.refresh_from_db()
        assert other.state == SearchProfile.State.ACTIVE
        assert ProfileChange.objects.get(profile=other).reason == "A fixed mix."

    def test_a_reader_sees_the_weights_and_can_change_nothing(
        self, active: SearchProfile, draft: SearchProfile
    ) -> None:
        reader = staff("looker", "view_searchprofile")
        client = signed_in(reader)
        text = client.get(page(active)).content.decode()
        assert "0.67" in text
        assert 'name="weight-' not in text
        assert client.post(page(draft), KEYWORDS_ONLY).status_code == 403
        assert client.post(page(draft, "publish")).status_code == 403
        draft.refresh_from_db()
        assert draft.is_draft


class TestTwoPeople:
    def test_edit_of_a_draft_changed_meanwhile_is_refused(
        self, draft: SearchProfile, administrator: User
    ) -> None:
        anna = staff("anna", "view_searchprofile", "change_searchprofile")
        annas, mine = opened(anna, draft), opened(administrator, draft)
        save(anna, draft, annas | {"depth": "60"})

        response = save(administrator, draft, mine | {"depth": "80"})
        assert "was saved after you opened it" in errors(response)
        draft.refresh_from_db()
        assert draft.depth == 60

        kept = form_data(response, "searchprofile_form")
        assert kept["depth"] == "80"
        save(administrator, draft, kept)
        draft.refresh_from_db()
        assert draft.depth == 80

    def test_edit_of_a_draft_published_meanwhile_becomes_a_new_draft(
        self, draft: SearchProfile, administrator: User
    ) -> None:
        mine = opened(administrator, draft)
        publications.publish(draft, acting_user=None)
        response = save(administrator, draft, mine | {"depth": "80"})
        assert "was published" in errors(response)
        save(administrator, draft, form_data(response, "searchprofile_form"))
        assert SearchProfile.objects.get(name="default", version=draft.version + 1).depth == 80
        draft.refresh_from_db()
        assert draft.depth == 100


class TestNewProfile:
    def test_new_profile_is_a_draft_copied_from_the_active_profile(
        self, active: SearchProfile, administrator: User, desk: Client
    ) -> None:
        data = form_data(desk.get(f"{LIST}add/"), "searchprofile_form")
        assert data["weight-general-keyword"] == "0.28"
        desk.post(f"{LIST}add/", {**data, **KEYWORDS_ONLY, "name": "words", "_save": "1"})
        profile = SearchProfile.objects.get(name="words")
        assert profile.is_draft
        assert weights(profile) == Weights(0, 1, 0)
        assert profile.class_weights.count() == len(QueryClass)
        assert ProfileChange.objects.get(profile=profile).user == administrator

        response = desk.post(f"{LIST}add/", {**data, "name": "default", "_save": "1"})
        assert "A profile “default” already exists" in errors(response)


class TestListAndAudit:
    def test_the_list_shows_shares(self, active: SearchProfile, desk: Client) -> None:
        text = desk.get(LIST).content.decode()
        assert "All questions: Meaning 67%, Keywords 28%, Title 5%" in text
        draft = drafts.draft_from(active, acting_user=None)
        drafts.set_weights(draft, {QueryClass.LOOKUP: Weights(0.3, 0.55, 0.15)})
        text = desk.get(LIST).content.decode()
        assert "Lookup: Meaning 30%, Keywords 55%, Title 15%" in text

    def test_profile_audit_is_read_only(
        self, draft: SearchProfile, administrator: User, desk: Client
    ) -> None:
        drafts.edit(draft, {"depth": 60}, {}, acting_user=administrator, reason="Faster.")
        text = desk.get(CHANGES).content.decode()
        assert "depth: 100 → 60" in text
        assert "Faster." in text
        change = ProfileChange.objects.first()
        assert change is not None
        assert desk.get(f"{CHANGES}add/").status_code == 403
        assert desk.post(f"{CHANGES}{change.pk}/delete/", {"post": "yes"}).status_code == 403
        assert desk.post(f"{CHANGES}{change.pk}/change/", {"reason": "x"}).status_code == 403
