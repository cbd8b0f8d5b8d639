"""The pages of answers: the box, the whole answer, who may read it, the stream, feedback."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.throttling import SimpleRateThrottle

from common.accounts.models import User
from ingestion.models import Chunk, Collection, Document, DocumentVersion, Visibility
from search.answers import recording
from search.answers.models import Answer, AnswerFeedback, AnswerSettings, Thread
from tests.support.factories import make_document
from tests.support.fake_chat import FakeChat, status

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("library", "clean_cache")]

QUESTION = "How long is a connection timeout?"
QUOTE = 'class="answer quoting"'
BUTTON = 'form="search" name="ask" value="1" class="quiet">Answer this</button>'


def ask(client: Client, question: str = QUESTION, **fields: Any) -> str:
    """The page of the whole answer, as a browser without scripts gets it."""
    response = client.post("/answers/", {"q": question, **fields}, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def events(response: Any) -> list[tuple[str, dict[str, Any]]]:
    content = b"".join(response.streaming_content).decode()
    pairs = re.findall(r"event: (\w+)\ndata: (.*)\n", content)
    return [(name, json.loads(data)) for name, data in pairs]


def stream(client: Client, question: str = QUESTION, **fields: Any) -> dict[str, Any]:
    """The last event of an answer's stream, `done`."""
    response = client.post("/answers/stream/", {"q": question, **fields})
    assert response.status_code == 200, response.content
    name, done = events(response)[-1]
    assert name == "done"
    return done


def hide(library: SimpleNamespace) -> None:
    """Close the collection of the answers' sources to everybody outside the group insiders."""
    collection = library.connections.collection
    Collection.objects.filter(pk=collection.pk).update(visibility=Visibility.GROUPS)
    collection.groups.add(Group.objects.get_or_create(name="insiders")[0])


# --- the box of the search page ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "headers", "is_automatic"),
    [
        (QUESTION, {}, True),
        (QUESTION, {"Sec-Fetch-Site": "same-origin"}, True),
        (QUESTION, {"Sec-Fetch-Site": "none"}, True),
        # Links elsewhere do not spend this site's budget.
        (QUESTION, {"Sec-Fetch-Site": "cross-site"}, False),
        ("connection pool", {}, False),
        ("D40", {}, False),
    ],
)
def test_questions_are_answered_and_lookups_get_a_button(
    client: Client, question: str, headers: dict[str, str], is_automatic: bool
) -> None:
    html = client.get("/", {"q": question}, headers=headers).content.decode()
    assert (QUOTE in html) is is_automatic
    assert (BUTTON in html) is not is_automatic
    assert Answer.objects.count() == is_automatic


def test_the_button_brings_the_piece_of_a_lookup(client: Client, settings: Any) -> None:
    settings.ANSWERS_AUTOMATIC = "no"
    for question in ("connection pool", QUESTION):
        assert BUTTON in client.get("/", {"q": question}).content.decode()
        html = client.get("/", {"q": question, "ask": "1"}).content.decode()
        assert QUOTE in html
        assert "ask=1" not in html  # neither the next page nor a filter asks again


def test_a_question_is_answered_once_it_is_submitted(client: Client) -> None:
    """Not while its words are typed."""
    typed = {"HX-Request": "true"}
    assert BUTTON in client.get("/", {"q": QUESTION}, headers=typed).content.decode()
    submitted = {**typed, "X-Submitted": "1"}
    assert QUOTE in client.get("/", {"q": QUESTION}, headers=submitted).content.decode()
    assert Answer.objects.count() == 1


def test_the_piece_stands_in_the_first_result_of_its_section(client: Client) -> None:
    """Issue 40: once, under the result's own heading, with one row."""
    html = client.get("/", {"q": QUESTION}).content.decode()
    first = html[html.index('class="results"') :].split("</li>\n")[0]
    assert html.count(QUOTE) == first.count(QUOTE) == 1
    assert html.count("Helpful?") == first.count("Helpful?") == 1
    assert "five seconds" in first.split('class="answer-text"')[1].split("</div>")[0]
    assert "<h3>" not in first  # the result's heading names the section
    assert 'class="snippet"' not in first
    assert 'class="thumbs"' not in first


def test_a_piece_of_another_section_stands_above_the_results(
    client: Client, library: SimpleNamespace
) -> None:
    """Its section's name is a link to it. By date another document's result may come first."""
    newer = "# Minutes\n\n## Agenda\n\n- Connection\n- Timeout\n- Connection timeout\n"
    make_document(library.connections.collection, newer, file_name="minutes.md")
    html = client.get("/", {"q": QUESTION, "sort": "date"}).content.decode()
    above, results = html.split('class="results"')
    assert QUOTE in above
    assert QUOTE not in results
    assert re.search(r'<h3><a href="/documents/[0-9a-f-]{36}/\?chunk=\d+#chunk-\d+">', above)
    assert 'class="sources"' not in above


def test_the_answer_is_stored_once_its_page_is_sent(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Feedback needs the row; readers do not wait for it, nor for an error of the database."""
    steps: list[int | str] = []
    finish, get_response = recording.finish, client.handler.get_response

    def failing(*given: Any) -> None:
        steps.append(Answer.objects.count())
        finish(*given)
        steps.append(Answer.objects.count())
        raise DatabaseError("The server closed the connection.")

    def noted(request: Any) -> Any:
        response = get_response(request)
        steps.append("made")
        return response

    monkeypatch.setattr(recording, "finish", failing)
    monkeypatch.setattr(client.handler, "get_response", noted)
    assert QUOTE in client.get("/", {"q": QUESTION}).content.decode()
    assert steps == ["made", 0, 1]


def test_the_page_searches_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The piece is chosen from the results that the page shows."""

    def fails(text: str, **choices: Any) -> None:
        pytest.fail(f"{text} is searched for once more.")

    monkeypatch.setattr("search.answers.making.searching.pipeline", SimpleNamespace(search=fails))
    assert QUOTE in client.get("/", {"q": QUESTION}).content.decode()


def test_a_page_has_its_results_without_an_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "answers_anonymous", "1/min")
    assert QUOTE in client.get("/", {"q": QUESTION}).content.decode()
    html = client.get("/", {"q": QUESTION}).content.decode()
    assert QUOTE not in html
    assert 'class="results"' in html


def test_nothing_is_offered_where_nothing_seems_to_fit(client: Client) -> None:
    html = client.get("/", {"q": "Where do zorblaxes hibernate?"}).content.decode()
    assert "Probably nothing here" in html
    assert "Answer this" not in html
    assert QUOTE not in html


def test_the_number_of_documents_is_said_though_nothing_seems_to_fit(client: Client) -> None:
    html = client.get("/", {"q": "how many documents are there"}).content.decode()
    assert re.search(r"<p>\d+ documents</p>", html)
    assert "Probably nothing here" not in html


def test_readers_see_no_confidence_and_staff_how_it_was_made(
    client: Client, administrator: User
) -> None:
    html = client.get("/", {"q": QUESTION}).content.decode()
    assert re.search(r'class="label">(Answer|Closest passage)</p>', html)
    for gone in ("Confidence", "How this was made", "Copy as Markdown", "Ask next", "Mode"):
        assert gone not in html
    client.force_login(administrator)
    assert re.search(r"Confidence \d+%", client.get("/", {"q": QUESTION}).content.decode())


def test_answer_box_carries_the_filters(client: Client, settings: Any) -> None:
    settings.ANSWERS_GENERATED = True
    html = client.get("/", {"q": "D40", "collection": "handbook"}).content.decode()
    form = html[html.index('<form class="to-answer"') :].split("</form>")[0]
    assert '<input type="hidden" name="collection" value="handbook">' in form


def test_answer_box_is_missing_without_results_and_on_further_pages(client: Client) -> None:
    for asked in (
        {"q": ""},
        {"q": QUESTION, "type": "text/csv"},
        {"q": "barometer", "page": "2", "group": "no"},
    ):
        html = client.get("/", asked).content.decode()
        assert 'class="to-answer"' not in html
        assert QUOTE not in html


# --- the whole answer --------------------------------------------------------------------------


def test_without_scripts_the_page_has_the_whole_answer(client: Client) -> None:
    """S5-19, S5-25."""
    html = ask(client)
    assert "five seconds" in html
    assert re.search(r'<h3><a href="/documents/[0-9a-f-]{36}/\?chunk=\d+#chunk-\d+"', html)


def test_without_scripts_a_citation_leads_to_its_source(client: Client, chat: FakeChat) -> None:
    html = ask(client, mode="instant")
    target = re.search(r'<a class="cite" href="#(answer-\w{8}-source-\d)"', html)
    assert target
    assert f'id="{target[1]}"' in html
    assert '<mark class="quoted"' in html


@pytest.fixture
def chat(settings: Any) -> Iterator[FakeChat]:
    with FakeChat() as server:
        settings.ANSWERS_GENERATED = True
        settings.ANSWER_BASE_URL = server.base_url
        settings.ANSWER_API_KEY = "key"
        settings.ANSWER_MODEL = "fake-chat"
        yield server


def test_a_reload_asks_the_model_once(client: Client, chat: FakeChat) -> None:
    """A reload, and the way back from a document, cost nothing."""
    asked = {"q": QUESTION, "mode": "instant"}
    typed = {"Sec-Fetch-Site": "none"}
    first = client.get("/answers/", asked, headers=typed).headers["Location"]
    assert "written by fake-chat" in client.get(first).content.decode()
    assert client.get("/answers/", asked, headers=typed).headers["Location"] == first
    assert f"/answers/{stream(client, mode='instant')['id']}/" == first
    assert len(chat.requests) == Answer.objects.count() == 1
    assert f"/answers/{stream(client, mode='instant', again='1')['id']}/" != first
    assert len(chat.requests) == 2
    AnswerSettings.objects.update(changed=timezone.now())
    stream(client, mode="instant")
    assert len(chat.requests) == 3


def test_page_quotes_at_once_and_generates_on_request(client: Client, chat: FakeChat) -> None:
    html = client.get("/", {"q": QUESTION}).content.decode()
    assert QUOTE in html
    assert "Write an answer</button>" in html.split('class="results"')[0]
    assert chat.requests == []
    assert "written by fake-chat" in stream(client)["html"]


def test_a_model_that_is_away_is_named(client: Client, chat: FakeChat) -> None:
    chat.then(*[status(500)] * 5)
    html = stream(client, mode="instant")["html"]
    assert "server failed" in html
    assert "quoted from the sources instead" in html
    assert "five seconds" in html or "timeout" in html


@pytest.mark.parametrize("name", ["model", "budget"])
def test_a_text_of_a_model_is_not_called_quotations(
    client: Client, chat: FakeChat, name: str
) -> None:
    """A text that was cut is a model's, and its notes say so."""
    stream(client, mode="instant")
    Answer.objects.update(degraded=[name, "vector"], notes=["The answer was cut. Ask again."])
    html = client.get(f"/answers/{Answer.objects.get().public_id}/").content.decode()
    assert "written by fake-chat" in html
    assert "The answer was cut. Ask again." in html
    assert "Meaning-based matching is unavailable" in html
    assert "model is unavailable" not in html
    assert "is spent" not in html


def test_degraded_search_does_not_generate_the_answer_again(client: Client, chat: FakeChat) -> None:
    first = stream(client, mode="instant")["id"]
    Answer.objects.update(degraded=["vector"])
    assert stream(client, mode="instant")["id"] == first
    Answer.objects.update(degraded=["vector", "model"])
    assert stream(client, mode="instant")["id"] != first


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Purpose": "prefetch;prerender"},
        {"Purpose": "prefetch"},
        {"User-Agent": "Examplebot/1.0"},
    ],
)
def test_links_prefetches_and_robots_generate_no_answer(
    client: Client, headers: dict[str, str]
) -> None:
    html = client.get("/answers/", {"q": QUESTION}, headers=headers).content.decode()
    assert "Answer this</button>" in html
    assert QUOTE not in client.get("/", {"q": QUESTION}, headers=headers).content.decode()
    client.head("/answers/", {"q": QUESTION})
    assert Answer.objects.count() == 0


@pytest.mark.parametrize("address", ["/answers/", "/answers/stream/"])
def test_requests_from_elsewhere_are_refused(client: Client, address: str) -> None:
    for site in ("cross-site", "same-site", "none"):
        response = client.post(address, {"q": QUESTION}, headers={"Sec-Fetch-Site": site})
        assert response.status_code == 403
    assert Answer.objects.count() == 0


@pytest.mark.parametrize(
    ("headers", "is_own"),
    [
        ({}, True),
        ({"Origin": "http://testserver"}, True),
        ({"Referer": "http://testserver/?q=x"}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "null", "Referer": "http://testserver/"}, False),
        ({"Referer": "http://testserver.evil.example/"}, False),
        ({"Referer": "http://testserver@evil.example/"}, False),
        ({"Referer": "http://[evil"}, False),
    ],
)
def test_origin_is_checked_by_headers_over_plain_http(
    client: Client, headers: dict[str, str], is_own: bool
) -> None:
    """There browsers send no Sec-Fetch-Site."""
    response = client.post("/answers/", {"q": QUESTION}, headers=headers)
    assert response.status_code == (302 if is_own else 403)


@pytest.mark.parametrize(
    ("headers", "may_write"),
    [
        ({}, False),
        ({"Referer": "http://evil.example/"}, False),
        ({"Referer": "http://testserver/?q=x"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "cross-site", "Referer": "http://testserver/"}, False),
    ],
)
def test_model_answers_only_requests_from_own_pages(
    client: Client, chat: FakeChat, settings: Any, headers: dict[str, str], may_write: bool
) -> None:
    settings.ANSWERS_AUTOMATIC = "model"
    asked = {"q": QUESTION, "mode": "instant"}
    assert ("data-auto" in client.get("/", asked, headers=headers).content.decode()) is may_write
    client.get("/answers/", asked, headers=headers)
    assert bool(chat.requests) is may_write


@pytest.mark.parametrize("address", ["/answers/", "/answers/stream/"])
def test_a_signed_in_user_needs_a_token(reader: User, address: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(reader)
    assert client.post(address, {"q": QUESTION}).status_code == 403
    html = client.get("/", {"q": QUESTION}).content.decode()
    token = re.search(
        r'class="opinion".*?name="csrfmiddlewaretoken" value="(\w+)"', html, re.DOTALL
    )
    assert token
    response = client.post(address, {"q": QUESTION, "csrfmiddlewaretoken": token[1]})
    assert response.status_code in (200, 302)
    if response.streaming:
        assert "done" in dict(events(response))


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"q": ""}, 400),
        ({"q": "x" * 5000}, 400),
        ({"q": QUESTION, "thread": str(uuid.uuid4())}, 404),
        ({"q": QUESTION, "follows": str(uuid.uuid4())}, 404),
        ({"q": "\x00" + QUESTION, "after": "yesterday"}, 400),
    ],
)
def test_bad_questions_are_refused_in_words(
    client: Client, fields: dict[str, str], status: int
) -> None:
    response = client.post("/answers/stream/", fields)
    assert response.status_code == status
    if status == 400:
        assert response.headers["Content-Type"].startswith("text/plain")
        assert response.content
    whole = client.post("/answers/", fields)
    assert whole.status_code in (200, status)


def test_too_many_questions_are_throttled(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "answers_anonymous", "1/min")
    stream(client)
    refused = client.post("/answers/stream/", {"q": QUESTION})
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert "Ask again in" in refused.content.decode()
    assert client.post("/answers/", {"q": QUESTION}).status_code == 429


def test_a_refusal_is_one_line(
    client: Client, member: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    from search.answers import answering
    from search.answers.domain import AnswerParameters

    monkeypatch.setattr(
        answering, "active_parameters", lambda: AnswerParameters(refuse_below=1.0, refusal="No.")
    )
    searched = client.get("/", {"q": QUESTION}).content.decode()
    assert '<article class="answer refused' not in searched  # the results may still answer
    assert "Answer this" not in searched
    for html in (ask(client), client.get("/", {"q": QUESTION, "ask": "1"}).content.decode()):
        answer = html.split('<article class="answer refused', 1)[1].split("</article>")[0]
        assert "No answer" in answer
        assert "<p>No.</p>" in answer
        for gone in ("Open in the document", "nearest", "Helpful?", "<details", "<button type"):
            assert gone not in answer.replace('<button type="button" class="quiet unfold"', "")
    client.force_login(member)
    signed_in = client.get("/", {"q": QUESTION, "ask": "1"}).content.decode()
    assert "No answer" in signed_in
    assert "follow-up" not in signed_in


# --- who may read it ---------------------------------------------------------------------------


def test_answer_is_readable_by_its_asker_only(
    client: Client, reader: User, administrator: User, member: User
) -> None:
    client.force_login(reader)
    address = client.post("/answers/", {"q": QUESTION}).headers["Location"]
    assert client.get(address).status_code == 200
    for other in (administrator, member, None):
        stranger = Client()
        if other is not None:
            stranger.force_login(other)
        assert stranger.get(address).status_code == 404
        assert stranger.post(f"{address}feedback/", {"helpful": "1"}).status_code == 404


def test_a_visitors_answer_belongs_to_their_browser(client: Client) -> None:
    address = client.post("/answers/", {"q": QUESTION}).headers["Location"]
    assert client.get(address).status_code == 200
    assert client.get(address, headers={"User-Agent": "Another"}).status_code == 404


def test_an_answer_is_withheld_once_a_source_is_unreadable(
    client: Client, reader: User, library: SimpleNamespace
) -> None:
    client.force_login(reader)
    address = client.post("/answers/", {"q": QUESTION}).headers["Location"]
    hide(library)
    html = client.get(address).content.decode()
    assert "This answer is withheld." in html
    assert "five seconds" not in html
    assert "keepalives" not in html
    for fields in ({"helpful": "1"}, {"helpful": "0", "quietly": "1"}):
        assert client.post(f"{address}feedback/", fields).status_code == 404
    # Nor does the same question bring it back.
    assert "five seconds" not in stream(client)["html"]


def disable(library: SimpleNamespace) -> None:
    """What disabling passages by hand does to them."""
    chunks = Chunk.objects.filter(document=library.connections)
    chunks.update(searchable=False)


def test_an_answer_is_withheld_once_a_passage_is_disabled(
    client: Client, reader: User, library: SimpleNamespace
) -> None:
    client.force_login(reader)
    address = f"/threads/{follow(client).public_id}/"
    assert "five seconds" in client.get(address).content.decode()
    disable(library)
    for path in ("", "export/"):
        assert "five seconds" not in client.get(address + path).content.decode()


def test_answer_from_a_replaced_version_is_shown_but_not_reused(
    client: Client, chat: FakeChat, library: SimpleNamespace
) -> None:
    first = client.post("/answers/", {"q": QUESTION, "mode": "instant"}).headers["Location"]
    assert stream(client, mode="instant")["id"] in first
    disable(library)
    document = library.connections
    version = DocumentVersion.objects.get(pk=document.current_id)
    version.pk, version.number = None, version.number + 1
    version.save()
    Document.objects.filter(pk=document.pk).update(current=version)
    assert "written by fake-chat" in client.get(first).content.decode()
    assert stream(client, mode="instant")["id"] not in first


# --- the stream --------------------------------------------------------------------------------


def test_the_stream_ends_with_the_html_of_the_page(client: Client) -> None:
    response = client.post("/answers/stream/", {"q": QUESTION})
    assert response.headers["Content-Type"] == "text/event-stream"
    assert "no-transform" in response.headers["Cache-Control"]
    assert response.headers["X-Accel-Buffering"] == "no"
    seen = events(response)
    names = [name for name, _ in seen]
    assert names[-1] == "done"
    assert {"step", "sources", "token"} <= set(names)
    # The passages come once, with the page's HTML.
    assert all(
        "text" not in source
        for name, data in seen
        if name == "sources"
        for source in data["sources"]
    )
    html = seen[-1][1]["html"]
    assert '<article class="answer' in html
    assert "five seconds" in html


# --- feedback ----------------------------------------------------------------------------------


def test_feedback_without_scripts_asks_for_the_reason(client: Client) -> None:
    address = client.post("/answers/", {"q": QUESTION}).headers["Location"]
    thanks = client.post(f"{address}feedback/", {"helpful": "0"}).content.decode()
    assert "What is wrong with it?" in thanks
    said = {"helpful": "0", "reason": "source", "source": "1", "note": "Not mine."}
    thanks = client.post(f"{address}feedback/", said).content.decode()
    assert "What is wrong with it?" not in thanks
    given = AnswerFeedback.objects.get()
    assert (given.helpful, given.reason, given.source) == (False, "source", 1)


def test_feedback_by_script_is_silent_and_feedback_of_others_refused(client: Client) -> None:
    address = client.post("/answers/", {"q": QUESTION}).headers["Location"] + "feedback/"
    fields = {"helpful": "1", "quietly": "1"}
    elsewhere = client.post(address, fields, headers={"Sec-Fetch-Site": "cross-site"})
    assert elsewhere.status_code == 403
    assert client.post(address, fields).status_code == 204
    assert client.post(address, {"helpful": "2"}).status_code == 400
    assert (
        client.post(address, {"helpful": "0", "reason": "source", "source": "99"}).status_code
        == 400
    )
    assert AnswerFeedback.objects.get().helpful


# --- threads -----------------------------------------------------------------------------------


def follow(client: Client, question: str = QUESTION) -> Thread:
    """A thread of the client's user with two answers."""
    first = stream(client, question)
    assert 'name="follows"' in first["html"]
    second = stream(client, "And how large is the pool?", follows=first["id"])
    thread = Thread.objects.get(public_id=second["thread"])
    assert thread.answers.count() == 2
    return thread


def test_a_follow_up_starts_a_thread_with_the_answer_before_it(
    client: Client, reader: User
) -> None:
    client.force_login(reader)
    thread = follow(client)
    assert (thread.user, thread.title, thread.shared) == (reader, QUESTION, False)
    html = client.get(f"/threads/{thread.public_id}/").content.decode()
    assert html.index(QUESTION) < html.index("And how large is the pool?")
    assert html.count('<article class="answer') == 3  # with the template of a running one
    assert html.count('class="follow-up"') == 1
    threads = client.get("/threads/").content.decode()
    assert QUESTION in threads
    assert '<a href="/threads/" aria-current="page">' in threads  # among the reader's own pages


def test_visitors_have_no_threads(client: Client) -> None:
    first = stream(client)
    assert "follow-up" not in first["html"]
    fields = {"q": QUESTION, "follows": first["id"]}
    assert client.post("/answers/stream/", fields).status_code == 404
    assert client.get("/threads/").headers["Location"].startswith("/login/")


def test_thread_page_works_without_scripts(client: Client, reader: User) -> None:
    client.force_login(reader)
    address = client.post("/answers/", {"q": QUESTION}).headers["Location"]
    answer_id = address.split("/")[2]
    response = client.post("/answers/", {"q": "How large is the pool?", "follows": answer_id})
    thread = Thread.objects.get()
    assert response.headers["Location"].startswith(f"/threads/{thread.public_id}/#answer-")
    assert "How large is the pool?" in client.get(response.headers["Location"]).content.decode()


def test_thread_is_private_to_its_owner(client: Client, reader: User, administrator: User) -> None:
    """Staff included."""
    client.force_login(reader)
    address = f"/threads/{follow(client).public_id}/"
    other = Client()
    other.force_login(administrator)
    for path in ("", "delete/", "export/"):
        assert other.get(address + path).status_code == 404
    for path in ("", "delete/", "share/"):
        assert other.post(address + path, {"title": "Mine", "shared": "1"}).status_code == 404
    assert Thread.objects.get().title == QUESTION
    assert QUESTION not in other.get("/threads/").content.decode()


def test_a_shared_thread_shows_each_reader_what_they_may_read(
    client: Client, member: User, reader: User
) -> None:
    client.force_login(member)
    thread = follow(client, "Where is zanzibar, the harbour at night?")
    address = f"/threads/{thread.public_id}/"
    client.post(f"{address}share/", {"shared": "1"})
    other = Client()
    other.force_login(reader)
    html = other.get(address).content.decode()
    assert "Shared by member" in html
    assert "This answer is withheld." in html
    assert "lighthouse" not in html
    title = client.post(address, {"title": "Harbours"})
    assert title.status_code == 302
    for path in ("", "export/"):
        assert "zanzibar" in client.get(address + path).content.decode()
        assert "zanzibar" not in other.get(address + path).content.decode()
    assert "follow-up" not in html
    assert "Rename" not in html
    exported = other.get(f"{address}export/").content.decode()
    assert "lighthouse" not in exported
    assert "This answer is withheld" in exported
    assert other.post(address, {"title": "Mine"}).status_code == 404
    client.post(f"{address}share/", {"shared": "0"})
    assert other.get(address).status_code == 404


def test_a_thread_is_renamed_exported_and_deleted(client: Client, reader: User) -> None:
    client.force_login(reader)
    address = f"/threads/{follow(client).public_id}/"
    assert client.post(address, {"title": ""}).status_code == 400
    assert client.post(address, {"title": "x" * 201}).status_code == 400
    client.post(address, {"title": "About <timeouts>"})
    assert "About &lt;timeouts&gt;" in client.get(address).content.decode()

    markdown = client.get(f"{address}export/")
    assert markdown.headers["Content-Disposition"] == 'attachment; filename="about-timeouts.md"'
    text = markdown.content.decode()
    assert text.startswith("# About \\<timeouts\\>\n")
    assert "](http://testserver/documents/" in text
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == [f"## {QUESTION}", "## And how large is the pool?"]

    assert "cannot be restored" in client.get(f"{address}delete/").content.decode()
    assert client.post(f"{address}delete/").headers["Location"] == "/threads/"
    assert not Thread.objects.exists()
    assert not Answer.objects.exists()


def test_the_queries_of_a_thread_do_not_grow_with_it(
    client: Client, reader: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(reader)
    address = f"/threads/{follow(client).public_id}/"
    client.get(address)
    # The session, the user, the thread and its owner, its title, the answers, their sources.
    with django_assert_num_queries(6):
        client.get(address)
    stream(client, "And the keepalives?", thread=address.split("/")[2])
    with django_assert_num_queries(6):
        client.get(address)
