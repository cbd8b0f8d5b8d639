"""The admin of answers: settings, trials, prices, budgets, and the answers given."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from common.accounts.models import User
from ingestion.models import Document, Visibility
from search.answers import answering, threads
from search.answers.models import Answer, AnswerLimits, ModelCall, ModelPrice
from search.answers.request import AnswerRequest
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS

pytestmark = pytest.mark.django_db

FORM, PAGE = "answersettings_form", "/admin/answers/answersettings/1/change/"
QUESTION = "How long is a connection timeout?"


@pytest.fixture
def library(db: None) -> Document:
    return make_document(make_collection(), CONNECTIONS)


@pytest.fixture
def client(administrator: User) -> Client:
    return signed_in(administrator)


class TestSettings:
    def test_a_change_is_used_at_once_and_the_history_has_both_values(self, client: Client) -> None:
        form = form_data(client.get("/admin/answers/answersettings/", follow=True), FORM)
        assert (form["context_tokens"], form["quotes"]) == ("5000", "3")
        prompt = form["system_prompt"].replace("\n", "\r\n")  # as browsers send it
        changes = {"system_prompt": prompt, "max_passages": "7", "quotes": "1"}
        response = client.post(PAGE, {**form, **changes})

        assert "changed successfully" in said(response)
        assert answering.active_parameters().quotes == 1
        entry = LogEntry.objects.get()
        assert entry.get_change_message() == "Max passages: 8 → 7; Quotes: 3 → 1"
        history = client.get("/admin/answers/answersettings/1/history/").content.decode()
        assert "Quotes: 3 → 1" in history

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
        before = answering.active_parameters()
        response = client.post(PAGE, {**form_data(client.get(PAGE), FORM), **values})

        assert response.status_code == 200
        assert problem in response.content.decode().replace("&#x27;", "'")
        assert answering.active_parameters() == before

    def test_viewers_of_the_settings_neither_change_nor_try_them(self) -> None:
        viewer = signed_in(staff("viewer", "view_answersettings"))
        assert viewer.get(PAGE).status_code == 200
        for address in (PAGE, "/admin/answers/answersettings/try/"):
            assert viewer.post(address, {}).status_code == 403

    def test_a_trial_shows_two_answers_side_by_side_and_saves_nothing(
        self, client: Client, library: Document
    ) -> None:
        form = form_data(client.get(PAGE), FORM)
        posted = {**form, "quotes": "1", "row": "1", "question": QUESTION}
        page = client.post("/admin/answers/answersettings/try/", posted).content.decode()

        assert "As in the form" in page
        assert "As saved" in page
        assert "1 sentence, checked" in page
        assert "five seconds" in page
        assert Answer.objects.count() == 0
        assert answering.active_parameters().quotes == 3


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
