"""The admin of answers: profiles, trials, publishing, prices, budgets, and the answers given."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from common.accounts.models import User
from ingestion.models import Document, Visibility
from search.answers import answering, profiles, threads
from search.answers.models import (
    Answer,
    AnswerLimits,
    AnswerProfile,
    AnswerProfileChange,
    ModelCall,
    ModelPrice,
)
from search.answers.request import AnswerRequest
from search.errors import NotPermitted
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS

pytestmark = pytest.mark.django_db

FORM = "answerprofile_form"
QUESTION = "How long is a connection timeout?"


def shipped() -> AnswerProfile:
    return AnswerProfile.objects.get(name="default", version=1)


def change(profile: AnswerProfile, page: str = "change") -> str:
    return f"/admin/answers/answerprofile/{profile.pk}/{page}/"


@pytest.fixture
def library(db: None) -> Document:
    return make_document(make_collection(), CONNECTIONS)


@pytest.fixture
def client(administrator: User) -> Client:
    return signed_in(administrator)


class TestProfiles:
    def test_an_edit_of_a_published_version_is_a_new_draft(self, client: Client) -> None:
        form = form_data(client.get(change(shipped())), FORM)
        response = client.post(
            change(shipped()), {**form, "max_passages": "7", "reason": "Shorter."}, follow=True
        )
        draft = AnswerProfile.objects.get(name="default", version=2)

        assert "new draft default v2" in response.content.decode()
        assert (draft.state, draft.max_passages, draft.based_on) == ("draft", 7, shipped())
        assert shipped().max_passages == 8
        (entry,) = AnswerProfileChange.objects.filter(profile=draft)
        assert entry.changes == ["max passages: 8 → 7"]
        assert (entry.reason, entry.user.username) == ("Shorter.", "administrator")  # type: ignore[union-attr]

    def test_a_draft_is_edited_in_place_and_published_and_rolled_back(
        self, client: Client, administrator: User
    ) -> None:
        draft = profiles.edit(shipped(), {"quotes": 2}, acting_user=administrator).profile
        form = form_data(client.get(change(draft)), FORM)
        client.post(change(draft), {**form, "quotes": "1"})
        draft.refresh_from_db()
        assert (draft.version, draft.quotes) == (2, 1)
        assert "quotes: 3 → 1" in client.get(change(draft, "activate")).content.decode()

        client.post(change(draft, "activate"), {"reason": "Tried."})
        assert answering.active_parameters().quotes == 1
        assert shipped().state == AnswerProfile.State.RETIRED

        client.post(change(shipped(), "activate"), {"reason": "Too short."})
        assert answering.active_parameters().quotes == 3
        history = client.get(change(draft, "history"), follow=True).content.decode()
        assert "Too short." in history
        actions = AnswerProfileChange.objects.order_by("pk").values_list("action", "reason")
        assert list(actions) == [
            ("created", ""), ("edited", ""), ("published", "Tried."), ("rolled_back", "Too short."),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("values", "problem"),
        [
            ({"system_prompt": "Use $fence and $context."}, "Unknown variable: $context"),
            ({"system_prompt": "Answer briefly."}, "$fence"),
            ({"system_prompt": "For $ 5: $fence"}, "must begin a variable"),
            ({"min_passages": "9"}, "fewest passages"),
            ({"temperature": "3"}, "less than or equal to 2"),
        ],
    )
    def test_invalid_values_are_refused_with_the_reason(
        self, client: Client, values: dict[str, str], problem: str
    ) -> None:
        form = form_data(client.get(change(shipped())), FORM)
        response = client.post(change(shipped()), {**form, **values})

        assert response.status_code == 200
        assert problem in response.content.decode().replace("&#x27;", "'")
        assert AnswerProfile.objects.count() == 1

    def test_new_profile_starts_as_a_copy_of_the_active_profile(self, client: Client) -> None:
        form = form_data(client.get("/admin/answers/answerprofile/add/"), FORM)
        assert form["context_tokens"] == "5000"
        client.post("/admin/answers/answerprofile/add/", {**form, "name": "brief"})
        assert AnswerProfile.objects.get(name="brief").state == "draft"
        again = client.post("/admin/answers/answerprofile/add/", {**form, "name": "brief"})
        assert "already exists. Open it and save your changes" in again.content.decode()

    def test_published_versions_are_not_deleted(self, client: Client) -> None:
        assert client.post(change(shipped(), "delete"), {"post": "yes"}).status_code == 403
        assert AnswerProfile.objects.count() == 1

    def test_services_ask_for_the_permission(self) -> None:
        editor = staff("editor", "change_answerprofile", "view_answerprofile")
        draft = profiles.edit(shipped(), {"quotes": 2}, acting_user=editor).profile
        with pytest.raises(NotPermitted):
            profiles.activate(draft, acting_user=editor)
        assert signed_in(editor).get(change(draft, "activate")).status_code == 403


class TestTrying:
    def test_shows_two_answers_side_by_side_and_saves_nothing(
        self, client: Client, library: Document
    ) -> None:
        form = form_data(client.get(change(shipped())), FORM)
        posted = {
            **form, "quotes": "1", "row": str(shipped().pk), "question": QUESTION,
            "with": str(shipped().pk),
        }  # fmt: skip
        page = client.post("/admin/answers/answerprofile/try/", posted).content.decode()

        assert "As in the form" in page
        assert ">default v1<" in page
        assert "1 sentence, checked" in page
        assert "five seconds" in page
        assert Answer.objects.count() == 0
        assert AnswerProfile.objects.count() == 1

    def test_trying_a_profile_needs_the_right_to_edit(self) -> None:
        viewer = signed_in(staff("viewer", "view_answerprofile"))
        assert viewer.post("/admin/answers/answerprofile/try/", {}).status_code == 403


class TestRecords:
    def test_text_of_an_answer_is_shown_to_readers_of_its_sources_only(
        self, administrator: User, desk: Client
    ) -> None:
        cabin = make_collection("Cabin", visibility=Visibility.GROUPS, groups=("insiders",))
        make_document(cabin, CONNECTIONS)
        answering.answer(AnswerRequest(QUESTION, viewer=administrator))
        outsider = signed_in(staff("looker", "view_answer"))
        address = "/admin/answers/answer/"
        row = Answer.objects.get()

        for page in (address, f"{address}{row.pk}/change/"):
            shown = outsider.get(page).content.decode()
            assert "sources that you may not read" in shown
            assert "timeout" not in shown
            assert QUESTION in desk.get(page).content.decode()

    def test_an_answer_is_shown_in_words_and_named_by_its_time(
        self, administrator: User, client: Client
    ) -> None:
        make_document(make_collection("Cabin"), CONNECTIONS)
        answering.answer(AnswerRequest(QUESTION, viewer=administrator))
        row = Answer.objects.get()
        page = client.get(f"/admin/answers/answer/{row.pk}/change/").content.decode()
        assert "Answered" in page
        assert "(&#x27;done&#x27;" not in page
        assert f"{row.confidence:.0%}" in page
        assert f"{timezone.localtime(row.at):%Y-%m-%d %H:%M} |" in page  # the title
        assert str(row.public_id) not in page

    def test_a_question_without_a_source_is_read_by_its_asker_and_superusers(
        self, administrator: User
    ) -> None:
        asker = staff("asker", "view_answer")
        answering.answer(AnswerRequest("falconet rendezvous", viewer=asker))
        assert Answer.objects.get().source_count == 0
        address = "/admin/answers/answer/"
        outsider = signed_in(staff("looker", "view_answer"))

        assert "falconet" not in outsider.get(address).content.decode()
        for person in (asker, administrator):
            assert "falconet" in signed_in(person).get(address).content.decode()

    def test_threads_are_private_for_administrators_too(
        self, client: Client, library: Document
    ) -> None:
        owner = User.objects.create_user("owner", password="pw-owner")
        thread = threads.start(owner, QUESTION)
        answering.answer(AnswerRequest(QUESTION, viewer=owner, thread=thread))
        row = Answer.objects.get()

        for page in ("/admin/answers/answer/", f"/admin/answers/answer/{row.pk}/change/"):
            assert "timeout" not in client.get(page).content.decode()

    def test_the_budgets_page_shows_what_was_spent(self, client: Client) -> None:
        ModelPrice.objects.create(
            model="small", input_per_million=Decimal(1), output_per_million=Decimal(2)
        )
        ModelCall.objects.create(
            model="small", purpose="answer", prompt_tokens=1000, completion_tokens=500,
            cost=Decimal("0.002"),
        )  # fmt: skip
        page = client.get("/admin/answers/answerlimits/", follow=True).content.decode()
        assert "0.0020 USD for 1,500 tokens in 1 calls" in page
        form = form_data(client.get("/admin/answers/answerlimits/1/change/"), "answerlimits_form")
        response = client.post(
            "/admin/answers/answerlimits/1/change/", {**form, "site_monthly": "10"}
        )
        assert "changed successfully" in said(response)
        assert AnswerLimits.objects.get().site_monthly == 10
