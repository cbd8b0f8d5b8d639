"""Answers over the API: asked, streamed, read back, rated; and threads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient
from rest_framework.throttling import SimpleRateThrottle

from common.accounts.models import User
from ingestion.models import Document, Visibility
from search.analytics.gap_queue import summaries
from search.analytics.models import GapSign, Sign
from search.answers import feedback
from search.answers.models import Answer, AnswerFeedback, AnswerSource, Thread
from search.tuning.models import Judgement
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

ADDRESS = "/api/v1/answers/"
QUESTION = "How long is a connection timeout?"
NOTHING = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[Document]:
    with lasting(django_db_blocker):
        yield make_document(make_collection(), CONNECTIONS, file_name="connections.md")


@pytest.fixture
def client(reader: User, library: Document) -> APIClient:
    client = APIClient()
    client.force_authenticate(reader)
    return client


def ask(client: APIClient, question: str = QUESTION, **fields: Any) -> dict[str, Any]:
    response = client.post(ADDRESS, {"q": question, **fields})
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def events(response: Any) -> list[tuple[str, Any]]:
    assert response["Content-Type"] == "text/event-stream"
    text = b"".join(response.streaming_content).decode()
    frames = [dict(line.split(": ", 1) for line in each.split("\n")) for each in _frames(text)]
    assert [each["id"] for each in frames] == [str(n) for n in range(1, len(frames) + 1)]
    return [(each["event"], json.loads(each["data"])) for each in frames]


def _frames(text: str) -> list[str]:
    return [each for each in text.strip().split("\n\n") if not each.startswith(":")]


def hide(document: Document) -> None:
    type(document.collection).objects.filter(pk=document.collection_id).update(
        visibility=Visibility.GROUPS
    )


class TestAsking:
    def test_an_answer_has_its_sources_sentences_and_steps(self, client: APIClient) -> None:
        """S5-24, S5-25."""
        answer = ask(client)

        assert answer["state"] == "done"
        assert "timeout" in answer["text"]
        numbers = [source["number"] for source in answer["sources"]]
        for sentence in answer["sentences"]:
            assert sentence["verdict"] == "supported"
            assert {each["source"] for each in sentence["citations"]} <= set(numbers)
        source = answer["sources"][0]
        assert source["url"].startswith("http://testserver/documents/")
        assert (source["collection"], source["collection_slug"]) == ("Handbook", "handbook")
        assert "text" in source
        assert "search" in {step["name"] for step in answer["steps"]}

    def test_texts_can_be_left_out_and_what_nothing_answers_is_refused(
        self, client: APIClient
    ) -> None:
        assert "text" not in ask(client, texts=False)["sources"][0]

        answer = ask(client, "Who won the chess olympiad in 1972?", collection=["handbook"])

        assert answer["state"] == "refused"
        assert answer["sentences"] == []

    @pytest.mark.parametrize(
        ("fields", "field"),
        [
            ({"q": QUESTION, "mode": "slow"}, "mode"),
            ({"q": QUESTION, "stram": True}, "stram"),
            ({"q": QUESTION, "thread": "x"}, "thread"),
            ({"q": QUESTION, "searched_for": "x" * 5000}, "searched_for"),
            ({"q": QUESTION, "weights": "vector:2"}, "weights"),
            ({"q": "a\x00b"}, "q"),
            ({}, "query"),
            ({"query": " \n"}, "query"),
        ],
        ids=["mode", "unknown", "thread", "too long", "weights", "NUL", "nothing asked", "blank"],
    )  # fmt: skip
    def test_a_wrong_parameter_is_named(
        self, client: APIClient, fields: dict[str, Any], field: str
    ) -> None:
        response = client.post(ADDRESS, fields)

        assert response.status_code == 400
        assert field in response.json()["details"]

    @pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
    def test_an_error_before_the_answer_is_json_even_to_a_stream(
        self, client: APIClient, accept: str
    ) -> None:
        response = client.post(
            ADDRESS, {"q": "x" * 5000, "stream": True}, headers={"accept": accept}
        )

        assert response.status_code == 400
        assert response["Content-Type"] == "application/problem+json"
        assert response.json()["code"] == "query_too_long"

    def test_questions_have_a_limit_of_their_own(
        self, api: APIClient, library: Document, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "answers_anonymous", "1/min")
        ask(api)

        refused = api.post(ADDRESS, {"q": QUESTION})

        assert (refused.status_code, refused.json()["code"]) == (429, "throttled")
        assert api.get(ADDRESS).status_code == 200


class TestStreaming:
    @pytest.mark.parametrize(
        ("accept", "streams"),
        [
            ("text/event-stream, application/json;q=0.9", True),
            ("text/event-stream, */*;q=0.1", True),
            ("application/json, text/event-stream;q=0.9", False),
            ("text/event-stream, application/json", False),  # as dear: the other needs no reader
            ("*/*", False),
            ("application/json; charset=utf-8", False),
            ("text/event-stream;charset=utf-8, application/json;q=0.9", True),
        ],
    )
    def test_the_type_that_accept_prefers_is_sent(
        self, client: APIClient, accept: str, streams: bool
    ) -> None:
        response = client.post(ADDRESS, {"query": QUESTION}, headers={"accept": accept})
        assert (response["Content-Type"] == "text/event-stream") == streams
        if streams:
            assert events(response)[-1][0] == "done"

    def test_a_type_that_no_answer_has_is_refused(self, client: APIClient) -> None:
        refused = client.post(ADDRESS, {"query": QUESTION}, headers={"accept": "text/html"})
        assert (refused.status_code, refused.json()["code"]) == (406, "not_acceptable")

    @pytest.mark.parametrize("by_header", [True, False])
    def test_the_events_add_up_to_the_answer(self, client: APIClient, by_header: bool) -> None:
        """S5-26."""
        headers = {"accept": "text/event-stream"} if by_header else {}
        asked = {"q": QUESTION} if by_header else {"q": QUESTION, "stream": True}
        response = client.post(ADDRESS, asked, headers=headers)
        told = events(response)

        names = [name for name, _ in told]
        assert {"step", "sources", "token", "citation", "check"} <= set(names)
        assert names[-1] == "done"
        assert names.index("sources") < names.index("token")
        final = told[-1][1]
        (first, *_) = dict(told)["sources"]["sources"]
        for source in (first, final["sources"][0]):
            assert source["url"].startswith("http://testserver/documents/")
        assert "".join(data["text"] for name, data in told if name == "token") == final["text"]
        checked = [data for name, data in told if name == "check"]
        assert [data.pop("index") for data in checked] == list(range(len(final["sentences"])))
        assert checked == final["sentences"]
        assert client.get(f"{ADDRESS}{final['id']}/").json()["text"] == final["text"]


class TestReading:
    def test_an_own_answer_is_read_back_whole(self, client: APIClient) -> None:
        answer = ask(client)

        stored = client.get(f"{ADDRESS}{answer['id']}/").json()

        assert stored.pop("feedback") is None
        assert stored.pop("at")
        for name in ("text", "sentences", "state", "question", "searched_for", "confidence"):
            assert stored[name] == answer[name], name
        for name in ("url", "collection", "collection_slug"):
            assert [s[name] for s in stored["sources"]] == [s[name] for s in answer["sources"]]

    def test_answer_is_readable_by_its_asker_only(
        self, client: APIClient, administrator: User, api: APIClient
    ) -> None:
        answer = ask(client)

        missing = api.get(f"{ADDRESS}{NOTHING}/")
        for other in (None, administrator):
            api.force_authenticate(other)
            response = api.get(f"{ADDRESS}{answer['id']}/")
            assert (response.status_code, response.json()) == (404, missing.json())
            assert api.get(ADDRESS).json()["total"] == 0

    def test_answer_is_withheld_if_a_source_became_unreadable(
        self, client: APIClient, library: Document
    ) -> None:
        answer = ask(client)
        hide(library)

        shown = client.get(f"{ADDRESS}{answer['id']}/")
        (listed,) = client.get(ADDRESS).json()["results"]

        assert shown.json()["withheld"] is True
        assert shown.json()["question"] == QUESTION
        assert shown.json()["text"] == listed["text"] == ""
        assert listed["withheld"] is True
        for trace in ("five seconds", "connections.md", library.title):
            assert trace not in shown.content.decode()
        assert rate(client, answer, helpful=True).status_code == 404

    def test_do_not_track_stores_answers_in_threads_only(self, client: APIClient) -> None:
        headers = {"dnt": "1"}
        thread = client.post(THREADS, {"title": "Timeouts"}).json()["id"]

        client.post(ADDRESS, {"q": QUESTION}, headers=headers)
        assert not Answer.objects.exists()
        client.post(ADDRESS, {"q": QUESTION, "thread": thread}, headers=headers)
        assert Answer.objects.count() == 1


def rate(client: APIClient, answer: dict[str, Any], **fields: Any) -> Any:
    return client.post(f"{ADDRESS}{answer['id']}/feedback/", fields)


class TestFeedback:
    def test_last_feedback_of_a_reader_counts(self, client: APIClient, reader: User) -> None:
        answer = ask(client)

        assert rate(client, answer, helpful=True).status_code == 201
        told = rate(client, answer, helpful=False, reason="outdated", source=1, note="Of 2019.")

        assert told.status_code == 201
        (row,) = AnswerFeedback.objects.all()
        assert (row.user, row.helpful, row.reason, row.source) == (reader, False, "outdated", 1)
        shown = client.get(f"{ADDRESS}{answer['id']}/").json()["feedback"]
        assert (shown["reason"], shown["note"]) == ("outdated", "Of 2019.")
        since = timezone.now() - timedelta(days=1)
        assert feedback.helpfulness(since) == {"helpful": 0, "total": 1}

        assert client.delete(f"{ADDRESS}{answer['id']}/feedback/").status_code == 204
        assert feedback.helpfulness(since) == {"helpful": 0, "total": 0}

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"helpful": False, "reason": "boring"},
            {"helpful": False, "reason": "wrong", "source": 1},
            {"helpful": False, "reason": "source", "source": 10**9},
            {"helpful": False, "stars": 5},
        ],
        ids=lambda fields: str(fields)[:40],
    )
    def test_invalid_feedback_is_refused(self, client: APIClient, fields: dict[str, Any]) -> None:
        response = rate(client, ask(client), **fields)

        assert response.status_code == 400
        assert response.json()["message"]

    def test_feedback_needs_a_readable_answer(
        self, client: APIClient, api: APIClient, member: User
    ) -> None:
        answer = ask(client)
        api.force_authenticate(member)

        assert rate(api, answer, helpful=True).status_code == 404
        assert api.delete(f"{ADDRESS}{answer['id']}/feedback/").status_code == 404

    def test_a_complaint_becomes_a_gap_for_those_who_may_read_its_sources(
        self, client: APIClient, administrator: User, member: User, library: Document
    ) -> None:
        rate(client, ask(client), helpful=False, reason="source", source=1)
        rate(client, ask(client, "What is pool_timeout?"), helpful=True)

        assert feedback.gather() == 0  # not settled
        assert feedback.gather(now=timezone.now() + timedelta(hours=1)) == 1
        assert feedback.gather(now=timezone.now() + timedelta(hours=1)) == 0

        (sign,) = GapSign.objects.all()
        assert (sign.kind, sign.sources) == (Sign.ANSWER, [library.collection_id])
        (gap,) = summaries(administrator)
        assert (gap.query, dict(gap.counts)) == (QUESTION, {Sign.ANSWER: 1})
        hide(library)
        assert summaries(member) == []

    def test_complaint_about_a_deleted_source_hides_its_question(self, client: APIClient) -> None:
        rate(client, ask(client), helpful=False)
        AnswerSource.objects.all()[0].delete()

        assert feedback.gather(now=timezone.now() + timedelta(hours=1)) == 1

        assert not GapSign.objects.exists()

    def test_a_helpful_answer_can_become_a_golden_query(
        self, client: APIClient, administrator: User, member: User, library: Document
    ) -> None:
        answer = ask(client)
        assert not feedback.suggested(administrator).exists()
        rate(client, answer, helpful=True)

        (row,) = feedback.suggested(administrator)
        query = feedback.make_golden(row, acting_user=administrator)

        assert query.text == QUESTION
        (judgement,) = Judgement.objects.filter(query=query)
        assert (judgement.document, judgement.grade) == (library, 2)
        hide(library)
        assert not feedback.suggested(member).exists()


THREADS = "/api/v1/threads/"


class TestThreads:
    def start(self, client: APIClient, title: str = "Timeouts") -> dict[str, Any]:
        response = client.post(THREADS, {"title": title})
        assert response.status_code == 201, response.content
        assert response["Location"] == f"http://testserver{THREADS}{response.json()['id']}/"
        thread: dict[str, Any] = response.json()
        return thread

    def test_a_thread_holds_its_answers(self, client: APIClient) -> None:
        thread = self.start(client)
        answer = ask(client, thread=thread["id"])
        other = ask(client, "What is pool_timeout?")

        shown = client.get(f"{THREADS}{thread['id']}/").json()

        assert answer["thread"] == thread["id"]
        assert other["thread"] is None
        assert [each["id"] for each in shown["answers"]] == [answer["id"]]
        assert shown["own"] is True

    def test_thread_is_renamed_exported_and_deleted(self, client: APIClient) -> None:
        thread = self.start(client)
        address = f"{THREADS}{thread['id']}/"
        ask(client, thread=thread["id"])

        assert client.patch(address, {"title": "Waiting"}).json()["title"] == "Waiting"
        exported = client.get(f"{address}export/")
        assert exported["Content-Type"].startswith("text/markdown")
        assert "# Waiting" in exported.content.decode()
        assert "http://testserver/documents/" in exported.content.decode()
        assert client.get(THREADS).json()["total"] == 1
        assert client.delete(address).status_code == 204
        assert client.get(address).status_code == 404
        assert not Thread.objects.exists()

    def test_thread_is_private_unless_shared(
        self, client: APIClient, administrator: User, api: APIClient
    ) -> None:
        thread = self.start(client)
        answer = ask(client, thread=thread["id"])
        address = f"{THREADS}{thread['id']}/"
        assert api.get(address).status_code == api.get(THREADS).status_code == 401
        api.force_authenticate(administrator)

        assert api.get(address).status_code == 404
        assert api.get(f"{address}export/").status_code == 404
        assert api.post(ADDRESS, {"q": QUESTION, "thread": thread["id"]}).status_code == 404
        client.patch(address, {"shared": True})

        assert api.get(address).json()["own"] is False
        assert api.get(f"{ADDRESS}{answer['id']}/").status_code == 200
        assert api.get(f"{address}export/").status_code == 200
        assert api.get(THREADS).json()["total"] == 0
        assert api.patch(address, {"title": "Mine"}).status_code == 404
        assert api.delete(address).status_code == 404
        assert api.post(ADDRESS, {"q": QUESTION, "thread": thread["id"]}).status_code == 404
