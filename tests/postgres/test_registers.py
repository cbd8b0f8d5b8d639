"""Registers of small sections: whatever search shows of an identifier is its own record.

The records of a register share passages, so that the passage alone does not tell them apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from rest_framework.test import APIClient

from ingestion.identifiers import DEFAULT_PATTERNS
from kbsite.demo import documents
from search.answers.domain import SURE, AnswerParameters, Passage
from search.answers.making.searching import context_of_all
from search.answers.quotes import Extract, extract
from search.domain import EvidenceLevel
from search.engine import configuration
from search.mcp import tool_results
from search.mcp.tool_results import Caller
from search.models import Pin
from search.pipeline import SearchResponse, search
from search.presentation.labels import tier_reason
from search.presentation.marking import sentence_embedder
from search.presentation.records import RecordLookup
from search.presentation.why_here import reason
from search.query import parse
from search.retrieval import Filters
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.registers import KINDS, RECORDS, records_of, register

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "registers")]

QUESTIONS = ("{}", "What happened in {}?", "What does {} say?")


@pytest.fixture(scope="module")
def registers(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """A register of each kind, for all tests of this file."""
    with lasting(django_db_blocker):
        for kind in KINDS:
            document = make_document(
                make_collection(kind, chunk_tokens=256), register(kind), file_name="register.md"
            )
            assert document.chunks.count() == 1
        yield


def plain(html: str) -> str:
    """The text of a snippet without its marks, its spaces collapsed."""
    return unescape(" ".join(re.sub(r"</?mark[^>]*>", "", html).split()))


def ask(kind: str, question: str) -> SearchResponse:
    slug = kind.replace(" ", "-")
    return search(question, viewer=None, filters=Filters(collections=(slug,)))


def quote(response: SearchResponse, *, is_remote: bool) -> tuple[Extract, str]:
    """What an answer quotes, and its first piece.

    Of a remote embedding model sentences have no vectors, and its confidence may be unknown.
    """
    configured = configuration.current()
    context = context_of_all([response.hits], viewer=None, parameters=AnswerParameters())
    found = extract(
        response.query,
        context,
        embedder=None if is_remote else sentence_embedder(configured.space),
        most=3,
        terms=response.terms,
        confidence=None if is_remote else response.confidence,
        patterns=configured.patterns,
    )
    first = found.quotes[0]
    passage = context.passage(first.passage)
    assert isinstance(passage, Passage)
    return found, " ".join(passage.text[part.start : part.end] for part in first.parts)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_result_shows_the_record_that_was_asked_for(kind: str, question: str) -> None:
    for name, text in records_of(kind):
        response = ask(kind, question.format(name))
        best = response.results[0]
        excerpt = plain(" ".join(str(part.html) for part in best.excerpt))
        assert (best.heading, best.path) == (name, (f"Register of {kind}",))
        assert text in plain(best.snippet)
        assert text in excerpt
        assert not any(other in plain(best.snippet) + excerpt for other in RECORDS if other != text)
        first = re.findall(r"\w+", name)[-1]
        assert first in reason(best, response.ranking.candidates)
        why = tier_reason(best.hit, response.query)
        if best.hit.explanation.tier.order[0] == 0:
            assert why.split()[-1] in name


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_quotes_the_record_and_no_neighbour(kind: str, question: str) -> None:
    for name, text in records_of(kind):
        response = ask(kind, question.format(name))
        for is_remote in (False, True):
            found, piece = quote(response, is_remote=is_remote)
            assert piece == text, is_remote
            assert found.answerability >= SURE or question != "{}", is_remote


@pytest.mark.parametrize(
    ("kind", "name"), [("articles", "Article 99"), ("annexes", "Annex K"), ("rooms", "Room B9.01")]
)
def test_a_neighbour_of_a_record_that_is_not_there_is_no_answer(kind: str, name: str) -> None:
    found, _ = quote(ask(kind, f"What happened in {name}?"), is_remote=False)
    assert found.answerability < SURE


@pytest.mark.parametrize(
    ("question", "leads"),
    [
        ("How quickly do cells with IL-10 divide in Room 4?", False),
        ("who sits in Room 4", True),
    ],
)
def test_a_numbered_name_makes_no_other_identifier_lead(question: str, leads: bool) -> None:
    query = parse(question, DEFAULT_PATTERNS)
    assert RecordLookup.of(query, DEFAULT_PATTERNS).leads is leads


@pytest.mark.parametrize("kind", KINDS)
def test_programs_and_agents_get_the_section_of_the_record(kind: str) -> None:
    client = APIClient()
    for name, text in records_of(kind):
        found = client.get("/api/v1/search/", {"q": name}).json()["results"][0]
        assert found["section"]["heading"] == name
        assert text in plain(found["snippet"])
        (agents, *_) = tool_results.search(name, Caller(None, "https://kb.example.org/")).results
        assert agents.title == f"Register of {kind} - {name}"
        assert agents.url.endswith(f"#section-{found['section']['anchor']}")
        assert tool_results.fetch(agents.id, Caller(None, "")).metadata["section"].endswith(name)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_cites_the_record_under_its_name(kind: str) -> None:
    for name, text in records_of(kind):
        body = {"q": name}
        answer = APIClient().post("/api/v1/answers/", body, format="json").json()
        cited = next(each for each in answer["sources"] if each["cited"])
        assert cited["heading_path"][-1] == name
        assert [each["text"] for each in answer["sentences"][:1]] == [text]
        assert answer["confidence"] >= SURE


def test_a_page_of_results_costs_no_query_more_for_an_identifier(
    django_assert_num_queries: Any,
) -> None:
    ask("incidents", "INC-0118")
    with django_assert_num_queries(4):
        ask("incidents", "INC-0119")


def test_the_demo_has_a_register_whose_records_share_a_passage() -> None:
    (log,) = (file for file in documents.samples() if file.file_name == "workshop-log.md")
    made = make_document(make_collection("Workshop"), log.content, file_name=log.file_name)
    records = re.findall(r"## (\S+)\n\n(.+)\n", log.content.decode())
    assert made.chunks.count() < len(records) == 4
    for name, text in records:
        response = ask("workshop", name)
        assert response.results[0].heading == name
        assert quote(response, is_remote=True)[1] == text


@pytest.mark.parametrize(
    ("missing", "held"),
    [
        ("PZN 09999999", "PZN 04562798"),
        ("form BL-99", "form BL-7"),
        ("parcel 300/2", "parcel 112/4"),
        ("annex C", "annex B"),
    ],
)
def test_a_record_that_nothing_holds_has_no_strong_evidence(missing: str, held: str) -> None:
    text = "# Papers\n\n## PZN 04562798\n\nArticain.\n\n## Form BL-7\n\nA loan.\n\n"
    text += "## Parcel 112/4\n\nThe estate.\n\n## Annex B\n\nThe fees.\n"
    make_document(make_collection("papers"), text, file_name="papers.md")
    assert ask("papers", held).results[0].holds_record
    response = ask("papers", missing)
    assert response.low_confidence
    assert response.evidence is not EvidenceLevel.STRONG


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("2340000", True),
        ("48900", True),
        ("2340001", False),
        ("What is v2.0?", False),
    ],
)
def test_a_number_with_other_separators_is_held(name: str, held: bool) -> None:
    text = "# Purchases\n\nA crane for 2,340,000 USD; the slipway, v2, 48.900,00 EUR.\n"
    make_document(make_collection("papers"), text, file_name="papers.md")
    assert any(each.holds_record for each in ask("papers", name).results) == held


def test_a_record_of_the_first_page_is_not_missing_on_the_second() -> None:
    papers = make_collection("papers")
    for number, text in ((7, "A loan."), (8, "A gift.")):
        make_document(papers, f"# Form BL-{number}\n\n{text}\n", file_name=f"{number}.md")
    only = Filters(collections=("papers",))
    first, second = (
        search("form BL-7", viewer=None, filters=only, page=page, page_size=1) for page in (1, 2)
    )
    assert first.results[0].holds_record
    assert not second.results[0].holds_record
    assert (first.low_confidence, second.low_confidence) == (False, False)


def test_a_pinned_document_answers_for_a_record_that_it_does_not_hold() -> None:
    document = make_document(make_collection("papers"), "# Forms\n\nAll old ones are withdrawn.\n")
    assert ask("papers", "form BL-99").low_confidence
    Pin.objects.create(query="form BL-99", document=document)
    assert not ask("papers", "form BL-99").low_confidence


def test_a_number_with_a_slash_or_a_point_asks_for_its_record() -> None:
    text = "# Papers\n\n## Parcel 112/4\n\nThe estate.\n\n## Parcel 112/14\n\nA cable.\n\n"
    make_document(make_collection("papers"), f"{text}## Room 2.07\n\nA piano.\n", file_name="p.md")
    for number, record in (("112/4", "estate"), ("112/14", "cable"), ("2.07", "piano")):
        assert record in quote(ask("papers", number), is_remote=False)[1]
