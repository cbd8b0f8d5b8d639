"""A document that is not current says so wherever it is found, read or quoted, and ranks below."""

from __future__ import annotations

import io
from datetime import date, timedelta
from typing import Any
from zipfile import ZipFile

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion import services
from ingestion.currency_dates import CurrencyState
from ingestion.documents import currency
from ingestion.documents.currency import declare, not_current
from ingestion.errors import InvalidCurrency
from ingestion.exporting import writing
from ingestion.models import Collection, Document, Visibility
from search.answers import answering
from search.answers.domain import AnswerParameters
from search.answers.generating.messages import passages_block
from search.answers.request import AnswerRequest
from search.engine import configuration
from search.mcp.tool_results import Caller, answered, fetch
from search.mcp.tool_results import search as agents_search
from tests.support.admin_client import form_data
from tests.support.database import statements
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "one_day")]

QUEUE, API, SEARCH = "/admin/ingestion/document/review/", "/api/v1/documents/", "/api/v1/search/"
OLD = "# Travel policy\n\nThe allowance for the fulcrum is 20 marks a day, as the board decided.\n"
NEW = "# Travel rules\n\nEach traveller claims 30 marks for a fulcrum and keeps the receipts.\n"
SAID = "Superseded by a newer document"
TODAY = timezone.localdate()
DAY = timedelta(days=1)


@pytest.fixture
def old(handbook: Collection) -> Document:
    return make_document(handbook, OLD, file_name="policy.md")


@pytest.fixture
def new(handbook: Collection, old: Document) -> Document:
    return make_document(handbook, NEW, file_name="rules.md")


def found(api: APIClient, query: str = "allowance fulcrum", **more: Any) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = api.get(SEARCH, {"q": query, **more}).json()["results"]
    return results


def titles(api: APIClient, **more: Any) -> list[str]:
    return [row["document"]["title"] for row in found(api, **more)]


def test_superseded_document_ranks_below_and_is_marked_everywhere(
    client: Client, api: APIClient, old: Document, new: Document
) -> None:
    assert titles(api) == ["Travel policy", "Travel rules"]
    declare(new, acting_user=None, supersedes=[old])
    assert titles(api) == ["Travel rules", "Travel policy"]
    newer, older = found(api)
    assert newer["document"]["currency"]["state"] == "current"
    assert older["document"]["currency"] == {
        "state": "superseded",
        "label": SAID,
        "day": None,
        "successor": {
            "id": str(new.public_id),
            "title": "Travel rules",
            "url": f"http://testserver{new.get_absolute_url()}",
        },
    }
    assert older["adjustments"][-1]["label"] == "not current: behind the document in force"
    page = client.get("/", {"q": "allowance fulcrum"}).content.decode()
    assert page.count(SAID) == 1
    assert page.count("ot current: behind the document in force") == 2
    assert f'<a href="{new.get_absolute_url()}">Travel rules</a>' in page
    head = client.get(old.get_absolute_url()).content.decode()
    assert SAID in head
    assert f'<a href="{new.get_absolute_url()}">Travel rules</a>' in head
    assert SAID not in client.get(new.get_absolute_url()).content.decode()
    shown = api.get(f"{API}{old.public_id}/").json()
    assert shown["currency"]["successor"]["id"] == str(new.public_id)
    assert api.get(f"{API}{new.public_id}/").json()["supersedes"] == [str(old.public_id)]


def ask(question: str = "What is the allowance?", **more: Any) -> AnswerRequest:
    return AnswerRequest(
        question, viewer=None, parameters=AnswerParameters(refuse_below=0.0), **more
    )


def test_answer_marks_quotes_of_a_superseded_document(
    api: APIClient, old: Document, new: Document
) -> None:
    declare(new, acting_user=None, supersedes=[old])
    answer = answering.answer(ask())
    (number,) = [each.number for each in answer.context.passages if each.document == old.pk]
    assert number in answer.cited
    assert f"Source {number}: {SAID}" in answer.notes
    assert "not current: superseded" in passages_block(answer.context.passages, "fence")
    caller = Caller(None, "https://kb.example.org/")
    by_title = {each.title: each.not_current for each in answered(answer, caller).sources}
    assert by_title == {"Travel policy": "Superseded by “Travel rules”", "Travel rules": ""}
    listed = agents_search("allowance fulcrum", caller).results
    titles = ["Travel rules", "Travel policy (Superseded by “Travel rules”)"]
    assert [each.title for each in listed] == titles
    metadata = fetch(str(old.public_id), caller).metadata
    assert metadata["not_current"] == "Superseded by “Travel rules”"
    assert metadata["successor"] == str(new.public_id)
    body = {"model": "steelyard", "messages": [{"role": "user", "content": ask().question}]}
    chat = api.post("/v1/chat/completions", body, format="json").json()
    assert SAID in chat["choices"][0]["message"]["content"]
    source = api.post("/api/v1/answers/", {"q": ask().question}).json()["sources"][number - 1]
    assert source["currency"]["label"] == SAID


def test_stored_answer_shows_that_its_source_was_superseded(
    client: Client, api: APIClient, reader: User, old: Document, new: Document
) -> None:
    api.force_authenticate(reader)
    client.force_login(reader)
    stored = api.post("/api/v1/answers/", {"q": "What is the allowance?"}).json()
    assert {each["currency"]["state"] for each in stored["sources"]} == {"current"}
    declare(new, acting_user=None, supersedes=[old])
    again = api.get(f"/api/v1/answers/{stored['id']}/").json()
    states = {each["title"]: each["currency"]["state"] for each in again["sources"]}
    assert states["Travel policy"] == "superseded"
    assert SAID in client.get(f"/answers/{stored['id']}/").content.decode()


@pytest.mark.parametrize(
    ("days", "label"),
    [
        ({"valid_until": date(2026, 3, 1)}, "Expired: valid until 1 March 2026"),
        ({"valid_from": date(2199, 3, 1)}, "Not yet valid: from 1 March 2199 on"),
        ({"valid_from": TODAY, "valid_until": TODAY}, ""),
    ],
)
def test_validity_dates_decide_the_state(
    client: Client, api: APIClient, old: Document, days: dict[str, date], label: str
) -> None:
    declare(old, acting_user=None, **days)
    assert found(api)[0]["document"]["currency"]["label"] == label
    assert (label or "Valid from") in client.get(old.get_absolute_url()).content.decode()
    assert titles(api, current="true") == ([] if label else ["Travel policy"])


def test_filter_leaves_out_superseded_documents(
    client: Client, api: APIClient, old: Document, new: Document
) -> None:
    assert "Current documents only" not in client.get("/?q=fulcrum").content.decode()
    declare(new, acting_user=None, supersedes=[old])
    assert titles(api, current="true") == ["Travel rules"]
    assert "Current documents only" in client.get("/?q=fulcrum").content.decode()
    page = client.get("/?q=fulcrum&current=1").content.decode()
    assert "Travel rules" in page
    assert "Travel policy" not in page
    assert "current documents" in page  # the chip
    listed = client.get("/library/?current=1").content.decode()
    assert "Travel rules" in listed
    assert "Travel policy" not in listed


def test_successor_counts_only_while_it_is_valid(
    handbook: Collection, old: Document, new: Document
) -> None:
    def state() -> CurrencyState:
        old.refresh_from_db()
        return currency.currency_of(old, None).state

    newest = make_document(handbook, "# Travel law\n\nNobody travels any more, alas.\n")
    declare(new, acting_user=None, supersedes=[old], valid_from=TODAY + DAY)
    assert state() is CurrencyState.CURRENT
    assert list(Document.objects.exclude(pk__in=not_current(TODAY, None))) == [newest, old]
    assert currency.currencies([new.pk], None)[new.pk].behind == (old.pk,)
    declare(newest, acting_user=None, supersedes=[new])
    assert state() is CurrencyState.SUPERSEDED
    assert currency.currency_of(old, None).successor == str(newest.public_id)
    assert list(Document.objects.exclude(pk__in=not_current(TODAY, None))) == [newest]
    services.delete([newest], acting_user=None)
    assert state() is CurrencyState.CURRENT
    services.purge([newest])
    new.refresh_from_db()
    assert new.superseded_by_id is None


def test_document_superseded_by_an_erased_edition_stays_superseded(
    handbook: Collection, old: Document, new: Document
) -> None:
    newest = make_document(handbook, "# Travel law\n\nNobody travels any more, alas.\n")
    declare(new, acting_user=None, supersedes=[old])
    declare(newest, acting_user=None, supersedes=[new])
    services.purge([new])
    old.refresh_from_db()
    assert currency.currency_of(old, None).successor == str(newest.public_id)


def test_edit_keeps_superseded_documents_hidden_from_the_editor(
    desk: Client, edit: APIClient, old: Document, new: Document
) -> None:
    hidden = make_document(make_collection("Cabin", visibility=Visibility.GROUPS), "# Treasure\n")
    third = make_document(old.collection, "# Other travels\n\nOn foot.\n")
    declare(new, acting_user=None, supersedes=[old, hidden, third])
    services.delete([old], acting_user=None)
    address = f"/admin/ingestion/document/{new.pk}/change/"
    page = form_data(desk.get(address), "document_form")  # of which a browser posts what it shows
    desk.post(address, page | {"supersedes": [hidden.pk, third.pk], "review_by": "2199-01-31"})
    assert set(new.supersedes.all()) == {old, hidden, third}
    edit.patch(f"{API}{new.public_id}/", {"supersedes": []}, format="json")
    assert set(new.supersedes.all()) == {old, hidden}


def test_circles_and_second_successors_are_refused(
    handbook: Collection, edit: APIClient, old: Document, new: Document
) -> None:
    newest = make_document(handbook, "# Travel law\n\nNobody travels any more, alas.\n")
    declare(new, acting_user=None, supersedes=[old])
    declare(newest, acting_user=None, supersedes=[new])
    for older in (newest, new):
        body = {"supersedes": [str(older.public_id)]}
        response = edit.patch(f"{API}{old.public_id}/", body, format="json")
        assert response.status_code == 400
        assert f"“{older.title}” supersedes this document" in response.content.decode()
    with pytest.raises(InvalidCurrency, match="supersedes this document"):
        declare(old, acting_user=None, supersedes=[old])
    with pytest.raises(InvalidCurrency, match="superseded by another document"):
        declare(newest, acting_user=None, supersedes=[old, new])
    with pytest.raises(InvalidCurrency, match="before"):
        declare(old, acting_user=None, valid_from=TODAY, valid_until=TODAY - DAY)
    declare(new, acting_user=None, supersedes=[])
    old.refresh_from_db()
    assert old.superseded_by_id is None


def test_document_is_superseded_for_those_who_may_read_the_newer_one(
    client: Client, api: APIClient, edit: APIClient, old: Document
) -> None:
    """Others would learn that there is one: for them nothing changes."""
    cabin = make_collection("Cabin", visibility=Visibility.GROUPS, groups=["insiders"])
    hidden = make_document(cabin, "# Piratenschatz\n\nThe fulcrum of the allowance is gold.\n")
    insider = User.objects.create_user("ann")
    insider.groups.add(*cabin.groups.all())
    assert edit.patch(
        f"{API}{old.public_id}/", {"supersedes": [str(hidden.public_id)]}, format="json"
    ).status_code == 400  # fmt: skip
    caller = Caller(None, "https://kb.example.org/")
    search = f"{SEARCH}?q=fulcrum&explain=1"
    pages = ("/?q=fulcrum", search, old.get_absolute_url(), f"{API}{old.public_id}/")

    def known() -> list[Any]:
        current = [titles(api, current=each) for each in ("true", "false")]
        state = currency.currency_of(old, None).state
        return [current, state, answering.answer(ask()).notes, listed(), fetched()]

    def listed() -> list[str]:
        return [each.title for each in agents_search("fulcrum", caller).results]

    def fetched() -> bool:
        return "not_current" in fetch(str(old.public_id), caller).metadata

    before = known()
    declare(hidden, acting_user=None, supersedes=[old])
    old.refresh_from_db()
    assert known() == before
    for address in (*pages, API):
        text = client.get(address).content.decode()
        assert SAID not in text
        assert '"superseded"' not in text
        assert "Piratenschatz" not in text
        assert str(hidden.public_id) not in text
    client.force_login(insider)
    assert all(SAID in client.get(address).content.decode() for address in pages)
    assert currency.currency_of(old, insider).successor == str(hidden.public_id)
    readable = writing.exported_documents(old.collection).open_to(None)
    archive = ZipFile(io.BytesIO(b"".join(writing.export(old.collection, readable))))
    assert str(hidden.public_id) not in archive.read("documents.jsonl").decode()


def test_stored_answer_says_of_its_sources_what_its_asker_may_know(
    api: APIClient, old: Document
) -> None:
    cabin = make_collection("Cabin", visibility=Visibility.GROUPS, groups=["insiders"])
    hidden = make_document(cabin, "# Piratenschatz\n\nNo word of that.\n")
    insider, other = (User.objects.create_user(name) for name in ("ann", "bob"))
    insider.groups.add(*cabin.groups.all())
    stored = {}
    for user in (insider, other):
        api.force_authenticate(user)
        stored[user] = api.post("/api/v1/answers/", {"q": "What is the allowance?"}).json()["id"]
    declare(hidden, acting_user=None, supersedes=[old])
    states = {}
    for user, answer in stored.items():
        api.force_authenticate(user)
        sources = api.get(f"/api/v1/answers/{answer}/").json()["sources"]
        (source,) = (each for each in sources if each["title"] == old.title)
        states[user.username] = source["currency"]["state"]
    assert states == {"ann": "superseded", "bob": "current"}


def test_site_without_superseded_documents_makes_no_extra_query(
    client: Client, edit: APIClient, old: Document, new: Document
) -> None:
    addresses = ("/?q=fulcrum", f"{SEARCH}?q=fulcrum", API, old.get_absolute_url())

    def asked() -> list[int]:
        for address in addresses:  # what a process asks only once
            edit.get(address)
        return [statements(lambda each=each: edit.get(each)) for each in addresses]  # type: ignore[misc]

    before = asked()
    with CaptureQueriesContext(connection) as queries:
        edit.get(f"{SEARCH}?q=fulcrum")
    assert not [each for each in queries.captured_queries if "superseded_by" in each["sql"]]
    declare(old, acting_user=None, valid_from=TODAY)
    assert [after - each for after, each in zip(asked(), before, strict=True)] == [1, 1, 1, 1]
    declare(new, acting_user=None, supersedes=[old])
    assert [after - each for after, each in zip(asked(), before, strict=True)] == [2, 2, 2, 2]


def test_api_sets_and_returns_the_currency(edit: APIClient, old: Document) -> None:
    person = User.objects.create_user("ann", email="ann@example.org")
    upload = {
        "collection": "handbook", "file": io.BytesIO(NEW.encode()), "valid_from": "2026-01-01",
        "review_by": "2027-01-01", "owner": "ann", "supersedes": [str(old.public_id)],
    }  # fmt: skip
    upload["file"].name = "rules.md"  # type: ignore[attr-defined]
    response = edit.post(API, upload, format="multipart")
    assert response.status_code == 202, response.content
    body = response.json()
    stated = ("2026-01-01", "2027-01-01", "ann")
    assert (body["valid_from"], body["review_by"], body["owner"]) == stated
    new = Document.objects.get(public_id=body["id"])
    assert list(new.supersedes.all()) == [old]
    assert new.owner == person
    address = f"{API}{new.public_id}/"
    edit.patch(address, {"valid_from": None, "owner": None, "supersedes": []}, format="json")
    new.refresh_from_db()
    assert (new.valid_from, new.owner, new.supersedes.count()) == (None, None, 0)
    for wrong in ({"owner": "bob"}, {"review_by": "soon"}, {"supersedes": ["x"]},
                  {"valid_from": "2027-01-01", "valid_until": "2026-01-01"}):  # fmt: skip
        assert edit.patch(address, wrong, format="json").status_code == 400
    edit.force_authenticate(None)
    assert edit.get(address).json()["owner"] is None


def test_change_by_an_idle_process_reaches_the_others(
    handbook: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a worker that reads the first dated file: what it loads then has seen the change."""
    document = make_document(handbook, OLD, file_name="only.md")
    before = configuration.current().stamp
    monkeypatch.setattr(configuration, "_cached", None)
    declare(document, acting_user=None, valid_until=TODAY - timedelta(days=1))
    assert configuration.current().stamp != before
    assert configuration.current().has_currency
