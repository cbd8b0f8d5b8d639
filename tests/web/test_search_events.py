"""A search becomes an event, and what is done with its results is tied to it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import DatabaseError
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from common.accounts.models import User
from search.analytics import recording
from search.analytics.models import Interaction, SearchEvent
from search.models import SearchProfile
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("library")]

HTMX = {"hx-request": "true"}
FOREIGN = "00000000-0000-4000-8000-00000000000a"


def only_event() -> SearchEvent:
    return SearchEvent.objects.get()


def shown_id(html: str) -> str:
    found = re.search(r'data-report="/searches/([0-9a-f-]{36})/"', html)
    assert found
    return found[1]


def report(client: Client, search_id: object, **fields: object) -> Any:
    return client.post(f"/searches/{search_id}/", fields)


class TestRecording:
    def test_search_on_the_page_is_recorded(self, client: Client, library: SimpleNamespace) -> None:
        html = client.get("/", {"q": "Connection  pool"}).content.decode()

        event = only_event()
        assert str(event.search_id) == shown_id(html)
        assert (event.query, event.folded) == ("Connection pool", "connection pool")
        assert (event.channel, event.page, event.user, event.follows) == ("page", 1, None, None)
        assert event.results[0] == library.connections.public_id
        assert event.total >= 1
        assert library.connections.collection_id in event.sources
        assert event.milliseconds > 0
        assert event.profile is not None
        assert event.profile_name == f"{event.profile.name}@{event.profile.version}"

    def test_search_by_the_api_is_recorded(self, api: APIClient, reader: User) -> None:
        api.force_authenticate(reader)

        body = api.get("/api/v1/search/", {"q": "barometer", "collection": "ships-papers"}).json()

        event = only_event()
        assert body["search_id"] == str(event.search_id)
        assert (event.channel, event.user, event.collections) == ("api", reader, ["ships-papers"])

    def test_recorded_search_contains_no_document_text(self, member: User, client: Client) -> None:
        client.force_login(member)
        client.get("/", {"q": "zanzibar"})

        row = SearchEvent.objects.values().get()
        assert "lighthouse" not in str(row)
        assert "harbour" not in str(row)

    @pytest.mark.parametrize(
        "headers",
        [
            {"dnt": "1"},
            {"sec-gpc": "1"},
            {"user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"},
            {"user-agent": "kube-probe/1.31"},
            {"sec-purpose": "prefetch"},
        ],
        ids=lambda headers: "-".join(headers),
    )
    def test_untracked_visitors_are_not_recorded(
        self, client: Client, api: APIClient, headers: dict[str, str]
    ) -> None:
        html = client.get("/", {"q": "connection"}, headers=headers).content.decode()
        body = api.get("/api/v1/search/", {"q": "connection"}, headers=headers).json()

        assert not SearchEvent.objects.exists()
        assert "data-report" not in html
        assert "Did this answer" not in html
        assert body["search_id"] is None

    @pytest.mark.parametrize(
        "parameters",
        [{}, {"q": "  "}, {"q": "connection", "profile": "textbook"}, {"q": "x" * 4001}],
        ids=["nothing", "blank", "forced", "refused"],
    )
    def test_requests_that_are_no_search_are_not_recorded(
        self, client: Client, parameters: dict[str, str]
    ) -> None:
        client.get("/", parameters)
        client.head("/", {"q": "connection"})

        assert not SearchEvent.objects.exists()

    def test_nothing_is_recorded_if_switched_off(self, client: Client, settings: Any) -> None:
        settings.SEARCH_EVENTS = False
        html = client.get("/", {"q": "connection"}).content.decode()

        assert not SearchEvent.objects.exists()
        assert "Did this answer" not in html

    def test_a_database_that_refuses_fails_no_search(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def refuse(*args: object, **kwargs: object) -> None:
            raise DatabaseError("the disk is full")

        monkeypatch.setattr(recording, "run", refuse)
        response = client.get("/", {"q": "connection"})

        assert response.status_code == 200
        assert "the disk is full" in caplog.text


class TestOneSearch:
    def test_second_page_belongs_to_the_same_search(self, client: Client) -> None:
        asked = {"q": "barometer", "group": "false"}
        client.get("/", asked)
        client.get("/", {**asked, "page": "2"})

        first, second = SearchEvent.objects.order_by("pk")
        assert second.follows == first
        assert (second.page, second.first_rank) == (2, 11)
        assert list(SearchEvent.objects.searches()) == [first]

    def test_repeated_query_belongs_to_the_same_search(self, client: Client) -> None:
        for text in ("connection pool", "Connection   POOL"):
            client.get("/", {"q": text})

        assert SearchEvent.objects.searches().count() == 1

    def test_later_or_foreign_query_is_a_new_search(self, client: Client) -> None:
        client.get("/", {"q": "connection"})
        client.get("/", {"q": "connection"}, headers={"user-agent": "another browser"})
        SearchEvent.objects.update(at=timezone.now() - recording.SAME_SEARCH * 1.1)
        client.get("/", {"q": "connection"})

        assert SearchEvent.objects.searches().count() == 3

    def test_continued_typing_replaces_the_search(self, client: Client) -> None:
        for text in ("conn", "connection", "connection pool"):
            html = client.get("/", {"q": text}, headers=HTMX).content.decode()

        assert only_event().query == "connection pool"
        assert shown_id(html) == str(only_event().search_id)

    def test_search_read_for_a_while_is_kept(self, client: Client) -> None:
        client.get("/", {"q": "connection"}, headers=HTMX)
        SearchEvent.objects.update(at=timezone.now() - recording.TYPING * 1.1)
        client.get("/", {"q": "connection pool"}, headers=HTMX)

        assert SearchEvent.objects.searches().count() == 2


@pytest.fixture
def searched(client: Client) -> SearchEvent:
    client.get("/", {"q": "barometer stood at", "group": "false"})
    return only_event()


class TestInteractions:
    def test_click_is_recorded(
        self, client: Client, searched: SearchEvent, library: SimpleNamespace
    ) -> None:
        document = library.logbook.public_id
        for _ in range(2):
            assert report(client, searched.search_id, kind="click", document=document)

        said = Interaction.objects.get()
        place = searched.results.index(document) + 1
        assert (said.kind, said.rank, said.event) == ("click", place, searched)
        searched.refresh_from_db()
        assert searched.best_click == place

    def test_click_on_the_second_page_counts_for_the_search(
        self, client: Client, searched: SearchEvent, library: SimpleNamespace
    ) -> None:
        client.get("/", {"q": "barometer stood at", "group": "false", "page": "2"})
        second = SearchEvent.objects.exclude(pk=searched.pk).get()
        report(client, second.search_id, kind="click", document=library.logbook.public_id)

        said = Interaction.objects.get()
        assert said.event == searched
        assert said.rank == 11 + second.results.index(library.logbook.public_id)

    def test_longest_reading_time_is_kept(
        self, client: Client, searched: SearchEvent, library: SimpleNamespace
    ) -> None:
        document = library.logbook.public_id
        for seconds in (4, 31.5, 9, 99999):
            report(client, searched.search_id, kind="dwell", document=document, seconds=seconds)
            assert Interaction.objects.get().seconds in (4, 31.5, 1800)

    def test_feedback_can_be_changed_and_removed(
        self, client: Client, searched: SearchEvent, library: SimpleNamespace
    ) -> None:
        thumb = {"document": library.logbook.public_id}
        report(client, searched.search_id, kind="up", **thumb)
        report(client, searched.search_id, kind="down", **thumb)
        assert [said.kind for said in Interaction.objects.all()] == ["down"]

        report(client, searched.search_id, kind="down", undo="1", **thumb)
        assert not Interaction.objects.exists()

    def test_feedback_on_all_results_is_recorded(
        self, client: Client, searched: SearchEvent
    ) -> None:
        for kind in ("solved", "unsolved", "unsolved"):
            assert report(client, searched.search_id, kind=kind).status_code == 204

        said = Interaction.objects.get()
        assert (said.kind, said.document, said.rank) == ("unsolved", None, None)

    def test_feedback_without_scripts_is_confirmed_and_can_be_removed(
        self, client: Client, searched: SearchEvent
    ) -> None:
        back = "/?q=barometer"
        noted = report(client, searched.search_id, kind="unsolved", back=back)
        assert 'href="/?q=barometer"' in noted.content.decode()
        assert 'name="undo"' in noted.content.decode()

        taken = report(client, searched.search_id, kind="unsolved", back=back, undo="1")
        assert "Withdrawn" in taken.content.decode()
        assert not Interaction.objects.exists()

    def test_feedback_redirects_to_own_pages_only(
        self, client: Client, searched: SearchEvent
    ) -> None:
        noted = report(client, searched.search_id, kind="solved", back="//evil.example/?q=x")
        assert (noted.status_code, noted.content) == (204, b"")


class TestRefused:
    def test_interaction_with_a_foreign_or_old_search_is_refused(
        self, client: Client, searched: SearchEvent, reader: User, member: User
    ) -> None:
        other, signed_in = Client(headers={"user-agent": "other"}), Client()
        signed_in.force_login(reader)
        for stranger in (other, signed_in):
            assert report(stranger, searched.search_id, kind="solved").status_code == 404
        assert report(client, FOREIGN, kind="solved").status_code == 404
        assert not Interaction.objects.exists()

        SearchEvent.objects.update(at=timezone.now() - timedelta(days=1, minutes=1))
        assert report(client, searched.search_id, kind="solved").status_code == 404

    def test_search_of_a_user_is_accessible_in_all_their_sessions(self, reader: User) -> None:
        one, two = Client(), Client(headers={"user-agent": "a telephone"})
        one.force_login(reader)
        two.force_login(reader)
        one.get("/", {"q": "connection"})

        assert report(two, only_event().search_id, kind="solved").status_code == 204

    def test_interaction_with_a_document_outside_the_results_is_refused(
        self, client: Client, searched: SearchEvent, library: SimpleNamespace
    ) -> None:
        for document in (library.secret.public_id, uuid.UUID(FOREIGN)):
            refused = report(client, searched.search_id, kind="up", document=document)
            assert refused.status_code == 400
            assert "not among the results" in refused.content.decode()

    def test_interaction_with_a_document_closed_since_is_refused(
        self, member: User, client: Client, library: SimpleNamespace
    ) -> None:
        client.force_login(member)
        client.get("/", {"q": "zanzibar"})
        member.groups.clear()
        document = library.secret.public_id

        assert (
            report(client, only_event().search_id, kind="up", document=document).status_code == 400
        )

    @pytest.mark.parametrize(
        "fields",
        [{"kind": "up"}, {"kind": "solved", "document": FOREIGN}, {"kind": "love"}, {},
         {"kind": "click", "document": "x"}],
        ids=["no document", "a document", "no such kind", "nothing", "no id"],
    )  # fmt: skip
    def test_invalid_interaction_is_refused(
        self, client: Client, searched: SearchEvent, fields: dict[str, str]
    ) -> None:
        assert report(client, searched.search_id, **fields).status_code == 400

    def test_interaction_from_another_site_is_refused(self, searched: SearchEvent) -> None:
        strict = Client(enforce_csrf_checks=True)
        here = strict.post(f"/searches/{searched.search_id}/", {"kind": "solved"})
        there = strict.post(
            f"/searches/{searched.search_id}/",
            {"kind": "unsolved"},
            headers={"sec-fetch-site": "cross-site"},
        )
        assert (here.status_code, there.status_code) == (204, 403)


class TestByTheApi:
    @pytest.fixture
    def asked(self, api: APIClient) -> dict[str, Any]:
        body: dict[str, Any] = api.get("/api/v1/search/", {"q": "connection pool"}).json()
        return body

    @pytest.fixture
    def say(self, api: APIClient, asked: dict[str, Any]) -> Callable[..., Any]:
        address = f"/api/v1/searches/{asked['search_id']}/interactions/"
        return lambda **fields: api.post(address, fields)

    def test_api_records_all_kinds_of_interaction(
        self, asked: dict[str, Any], say: Callable[..., Any]
    ) -> None:
        document = asked["results"][0]["document"]["id"]
        said = [
            say(kind="click", document=document),
            say(kind="dwell", document=document, seconds=12),
            say(kind="up", document=document),
            say(kind="solved"),
        ]

        assert [answer.status_code for answer in said] == [204] * 4
        assert sorted(said.kind for said in Interaction.objects.all()) == [
            "click", "dwell", "solved", "up",
        ]  # fmt: skip
        say(kind="up", document=document, undo=True)
        assert not Interaction.objects.filter(kind="up").exists()

    def test_api_refuses_interactions_with_a_foreign_search(
        self, asked: dict[str, Any], reader: User
    ) -> None:
        stranger = APIClient()
        stranger.force_authenticate(reader)
        address = f"/api/v1/searches/{asked['search_id']}/interactions/"
        assert stranger.post(address, {"kind": "solved"}).json()["code"] == "not_found"


class TestWhoReadsTheQuestion:
    """Staff read a question only if they may read what its asker could have found."""

    def readers(self, query: str, asker: User | None) -> set[str]:
        client = Client()
        if asker is not None:
            client.force_login(asker)
        client.get("/", {"q": query})
        event = only_event()
        people = User.objects.all()
        return {
            person.username
            for person in people
            if SearchEvent.objects.visible_to(person).filter(pk=event.pk).exists()
        }

    @pytest.fixture(autouse=True)
    def a_vault(self, member: User, reader: User, administrator: User) -> None:
        make_document(
            make_collection("Vault", visibility="groups", groups=["insiders"]), "# Rendezvous\n\nX."
        )

    @pytest.mark.parametrize(
        ("query", "asker", "threshold", "others"),
        [
            ('"falconet rendezvous xyzzy"', "member", None, set()),
            ("connection pool", "member", 1, set()),
            ('"falconet rendezvous xyzzy"', "reader", None, {"reader"}),
            ('"connection pool"', "member", 0, {"reader"}),
        ],
        ids=["of a member in vain", "of a member unsure", "of others in vain", "found in the open"],
    )
    def test_question_is_readable_by_those_who_could_find_the_same(
        self, query: str, asker: str, threshold: float | None, others: set[str]
    ) -> None:
        if threshold is not None:
            SearchProfile.objects.update(confidence_threshold=threshold)
        readers = self.readers(query, User.objects.get(username=asker))
        assert readers == {"member", "administrator"} | others
