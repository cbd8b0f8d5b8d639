"""Every door to a document says how old it is, and how well what it returns bears out an answer."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from ingestion.models import Collection, Document
from search.answers import answering
from search.answers.domain import State
from search.answers.generating.messages import passages_block
from search.answers.models import Answer
from search.answers.request import AnswerRequest
from search.domain import EvidenceLevel
from search.mcp.tool_results import Caller, answered, fetch
from search.mcp.tool_results import search as agents_search
from search.pages.page_answer import _has_editions
from search.pipeline import search
from tests.support.factories import make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

SEARCH, ANSWERS, CHAT = "/api/v1/search/", "/api/v1/answers/", "/v1/chat/completions"
QUESTION = "How long before pick-up is a booking cancelled free of charge?"
TERMS = (
    "# Rental terms 2026\n\n## Cancellation\n\n"
    "A booking is cancelled free of charge up to 48 hours before pick-up.\n"
)
DATED = {"value": "2026", "kind": "document"}


@pytest.fixture
def terms(handbook: Collection) -> Document:
    return make_document(handbook, TERMS, file_name="terms.md")


@pytest.fixture
def undated(handbook: Collection) -> Document:
    return make_document(handbook, TERMS.replace(" 2026", ""), file_name="terms.md")


def test_a_date_is_at_every_door(client: Client, api: APIClient, terms: Document) -> None:
    (row,) = api.get(SEARCH, {"q": QUESTION}).json()["results"]
    assert row["document"]["date"] == DATED
    assert (
        '<time class="leaf" datetime="2026">2026</time>'
        in client.get("/", {"q": QUESTION}).content.decode()
    )
    (source,) = api.post(ANSWERS, {"q": QUESTION}, "json").json()["sources"]
    assert source["date"] == DATED
    stored = api.get(f"{ANSWERS}{Answer.objects.latest('at').public_id}/").json()
    assert stored["sources"][0]["date"] == DATED
    chat = {"model": "steelyard", "messages": [{"role": "user", "content": QUESTION}]}
    reply = api.post(CHAT, chat, "json").json()
    cited = reply["choices"][0]["message"]["annotations"][0]["url_citation"]
    assert (cited["date"], "48 hours" in cited["snippet"]) == (DATED, True)
    caller = Caller(None, "https://kb.example.org/")
    (item,) = agents_search(QUESTION, caller).results
    assert (item.date and item.date.value, "48 hours" in item.snippet) == ("2026", True)
    metadata = fetch(item.id, caller).metadata
    assert (metadata["date"], metadata["date_kind"]) == ("2026", "document")
    answer = answering.answer(AnswerRequest(QUESTION, viewer=None))
    assert answered(answer, caller).sources[0].date == item.date
    assert ", date: 2026\n" in passages_block(answer.context.passages, "fence")


def test_what_states_no_date_has_that_of_its_upload(
    client: Client, api: APIClient, undated: Document
) -> None:
    day = undated.created.date().isoformat()
    (row,) = api.get(SEARCH, {"q": QUESTION}).json()["results"]
    assert row["document"]["date"] == {"value": day, "kind": "added"}
    assert f'datetime="{day}">added ' in client.get("/", {"q": QUESTION}).content.decode()
    answer = answering.answer(AnswerRequest(QUESTION, viewer=None))
    assert f", added: {day}\n" in passages_block(answer.context.passages, "fence")


def test_dates_of_many_sources_cost_no_query_each(
    api: APIClient, handbook: Collection, terms: Document
) -> None:
    api.post(ANSWERS, {"q": QUESTION}, "json")
    first = Answer.objects.get()
    for year in (2024, 2025):
        text = f"# Fees {year}\n\nWho cancelled a booking before pick-up paid {year} marks of it.\n"
        make_document(handbook, text * (year - 2023), file_name=f"{year}.md")
    api.post(ANSWERS, {"q": QUESTION}, "json")
    second = Answer.objects.latest("at")
    assert second.source_count == first.source_count + 2
    counts = []
    for row in (first, second):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert api.get(f"{ANSWERS}{row.public_id}/").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_evidence_is_strong_weak_or_none_at_every_door(api: APIClient, terms: Document) -> None:
    caller = Caller(None, "https://kb.example.org/")
    good = agents_search(QUESTION, caller)
    assert good.evidence is EvidenceLevel.STRONG
    assert api.get(SEARCH, {"q": QUESTION}).json()["evidence"] == "strong"
    assert agents_search("zyzzyva quokka mating rituals", caller).evidence is EvidenceLevel.NONE
    refused = answering.answer(AnswerRequest("Who was the first king of Norway?", viewer=None))
    assert (refused.state, refused.evidence) == (State.REFUSED, EvidenceLevel.NONE)
    assert answered(refused, caller).evidence is EvidenceLevel.NONE


def test_a_program_may_ask_for_nothing_rather_than_a_guess(api: APIClient, terms: Document) -> None:
    caller = Caller(None, "https://kb.example.org/")
    assert agents_search(QUESTION, caller, abstain_below=0.01).results
    nothing = agents_search(QUESTION, caller, abstain_below=1.0)
    assert (nothing.results, nothing.evidence) == ([], EvidenceLevel.NONE)
    body: dict[str, Any] = api.get(SEARCH, {"q": QUESTION, "abstain_below": 1}).json()
    assert (body["results"], body["total"], body["evidence"]) == ([], 0, "none")
    assert body["notes"] == ["Nothing is returned: the confidence is below 1."]
    refused = api.post(ANSWERS, {"q": QUESTION, "abstain_below": 1}, "json").json()
    assert (refused["state"], refused["evidence"], refused["sentences"]) == ("refused", "none", [])
    chat = {"model": "steelyard", "messages": [{"role": "user", "content": QUESTION}]}
    own = api.post(CHAT, chat | {"abstain_below": 1}, "json").json()["steelyard"]
    assert (own["state"], own["evidence"]) == ("refused", "none")
    wrong = api.post(CHAT, chat | {"abstain_below": "high"}, "json")
    assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "abstain_below")
    assert api.get(SEARCH, {"q": QUESTION, "abstain_below": 2}).status_code == 400


def test_an_answer_gives_both_figures_where_editions_disagree(
    client: Client, api: APIClient, handbook: Collection, terms: Document
) -> None:
    old = TERMS.replace("2026", "2023").replace("48", "24")
    make_document(handbook, old, file_name="old.md")
    note = "Sources disagree. 2026: 48 hours (source 1); 2023: 24 hours (source 2)."
    body = api.post(ANSWERS, {"q": QUESTION}, "json").json()
    assert [note] == [each for each in body["notes"] if "disagree" in each]
    assert [each["title"] for each in body["sources"] if each["cited"]] == [
        "Rental terms 2026",
        "Rental terms 2023",
    ]
    assert note in client.post("/answers/", {"q": QUESTION}, follow=True).content.decode()
    page = client.get("/", {"q": QUESTION}).content.decode()
    box = page.split('<section class="answers"')[1].split("</section>\n")[0]
    assert note in box
    assert "further passage" not in box.split("24 hours")[0]
    chat = {"model": "steelyard", "messages": [{"role": "user", "content": QUESTION}]}
    reply = api.post(CHAT, chat, "json").json()
    assert "Sources disagree" in reply["choices"][0]["message"]["content"]
    found = agents_search(QUESTION, Caller(None, "https://kb.example.org/")).results
    assert sorted(each.date.value for each in found if each.date) == ["2023", "2026"]
    result = answered(answering.answer(AnswerRequest(QUESTION, viewer=None)), Caller(None, "x"))
    assert note in result.notes


def test_words_alone_show_both_editions_where_they_disagree(
    client: Client, handbook: Collection, terms: Document
) -> None:
    words = {"q": "booking free"}  # no question: it has an answer of its own only if asked for
    alone = client.get("/", words).content.decode()
    assert ("Sources disagree" in alone, "Answer this" in alone) == (False, True)
    old = TERMS.replace("2026", "2023").replace("48", "24")
    make_document(handbook, old, file_name="old.md")
    page = client.get("/", words).content.decode()
    assert "Sources disagree. 2026: 48 hours (source 1); 2023: 24 hours (source 2)." in page
    assert not Answer.objects.exists()  # nobody asked


def test_two_passages_of_one_document_are_no_editions(
    handbook: Collection, terms: Document
) -> None:
    parts = (f"## Part {n}\n\n{'A booking is free. ' * 90}\n\n" for n in (1, 2))
    make_document(handbook, f"# Rates 2026\n\n{''.join(parts)}", file_name="rates.md")
    response = search("booking free", viewer=None, group=False)
    assert len({each.document_id for each in response.results[:3]}) < 3
    assert not _has_editions(response)
