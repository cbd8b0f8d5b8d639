"""A reader's own page: history, saved searches, favourites, tokens, export; theirs alone."""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.utils import timezone
from knox.models import AuthToken

from common.accounts import tokens
from common.accounts.models import User
from ingestion.models import Document
from search.analytics.models import SearchEvent
from search.answers import threads
from search.pages import me
from search.pages import threads as thread_pages
from search.pages.facets import facets_for
from search.pages.search_form import SearchForm
from search.readers import favourites, history
from search.readers.models import Favourite, HistoryEntry, SavedSearch
from search.retrieval import Filters
from tests.support.admin_client import signed_in
from tests.support.factories import make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "library")]

PUMPS = "# Pump maintenance\n\nThe bilge pump is greased every week, or it seizes in salt water.\n"


@pytest.fixture
def own(reader: User, library: SimpleNamespace) -> Client:
    reader.email = "reader@example.org"
    reader.save()
    return signed_in(reader)


@pytest.fixture
def saved(reader: User, own: Client) -> SavedSearch:
    own.post("/me/searches/", {"q": "bilge pump greased", "name": "Pumps"})
    return SavedSearch.objects.get()


def asked_by(reader: User) -> list[str]:
    return [entry.question for entry in history.history_of(reader)]


class TestHistory:
    def test_a_search_is_kept_once_with_its_filters(self, own: Client, reader: User) -> None:
        within, after = {"collection": ["handbook"]}, {"after": ["2020-01-31"]}
        for filters in (within, within, after, {}):
            own.get("/", {"q": "connection pool", **filters})
        kept = [(entry.question, entry.params) for entry in history.history_of(reader)]
        assert kept == [("connection pool", filters) for filters in ({}, after, within)]
        page = own.get("/me/history/").content.decode()
        assert "From: 2020-01-31" in page
        assert "/?q=connection+pool&amp;collection=handbook" in page

    def test_search_as_you_type_is_kept_as_one_entry(self, own: Client, reader: User) -> None:
        for typed in ("conn", "connection", "connection pool"):
            own.get("/", {"q": typed}, headers={"HX-Request": "true"})
        assert asked_by(reader) == ["connection pool"]

    def test_history_can_be_switched_off_and_on(self, own: Client, reader: User) -> None:
        own.post("/me/history/", {"do": "off"})
        own.get("/", {"q": "unkept"})
        own.post("/me/history/", {"do": "on"})
        own.get("/", {"q": "kept again"})
        assert asked_by(reader) == ["kept again"]

    def test_clearing_also_unlinks_what_the_site_recorded(self, own: Client, reader: User) -> None:
        own.get("/", {"q": "connection pool"})
        assert SearchEvent.objects.filter(user=reader).exists()
        own.post("/me/history/", {"do": "clear"})
        assert not history.history_of(reader).exists()
        event = SearchEvent.objects.get()
        assert (event.user, event.visitor, event.query) == (None, "", "")

    def test_single_entry_can_be_deleted(self, own: Client, reader: User) -> None:
        own.get("/", {"q": "one"})
        own.get("/", {"q": "two"})
        entry = history.history_of(reader).get(question="one")
        own.post("/me/history/", {"do": "forget", "entry": str(entry.pk)})
        assert asked_by(reader) == ["two"]

    def test_visitors_and_prefetched_pages_leave_no_history(self, own: Client) -> None:
        Client().get("/", {"q": "connection pool"})
        own.get("/", {"q": "connection pool"}, headers={"Sec-Purpose": "prefetch"})
        assert not HistoryEntry.objects.exists()

    def test_oldest_entries_beyond_the_limit_are_deleted(
        self, own: Client, reader: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for question in ("one", "two", "three"):
            own.get("/", {"q": question})
        monkeypatch.setattr(history, "MOST_ENTRIES", 2)
        assert history.forget_history() == 1
        assert asked_by(reader) == ["three", "two"]

    def test_old_entries_are_deleted(self, own: Client, settings: Any) -> None:
        own.get("/", {"q": "old"})
        assert history.forget_history() == 0
        later = timezone.now() + timedelta(days=settings.HISTORY_DAYS + 1)
        assert history.forget_history(now=later) == 1


def test_long_lists_of_ones_own_lead_from_page_to_page(
    own: Client, reader: User, library: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for question in ("one", "two"):
        own.get("/", {"q": question})
        threads.start(reader, question)
    for document in (library.regions, make_document(library.regions.collection, PUMPS)):
        favourites.star(reader, document, on=True)
    monkeypatch.setattr(me, "PER_PAGE", 1)
    monkeypatch.setattr(thread_pages, "PER_PAGE", 1)
    for address in ("/me/history/", "/me/favourites/", "/threads/"):
        assert '<a rel="next" href="?page=2">' in own.get(address).content.decode(), address
        second = own.get(address, {"page": "2"}).content.decode()
        assert '<a rel="prev" href="?page=1">' in second, address
        assert "Page 2 of 2" in second, address


class TestSaving:
    def form(self, reader: User, **data: Any) -> str:
        request = RequestFactory().get("/")
        request.user = reader
        form = SearchForm(data, lambda: facets_for(reader))
        return render_to_string("search/parts/save_search.html", {"form": form}, request)

    def test_the_form_of_the_results_saves_the_search_with_its_filters(
        self, own: Client, reader: User
    ) -> None:
        asked = {"q": "pool", "collection": ["handbook"], "after": "2020-01-31"}
        html = self.form(reader, **asked)
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', html))
        hidden.pop("csrfmiddlewaretoken")
        response = own.post("/me/searches/", {**hidden, "name": "Pools"})
        made = SavedSearch.objects.get()
        assert response.headers["Location"] == f"/me/#search-{made.public_id}"
        assert (made.name, made.question) == ("Pools", "pool")
        assert made.params == {"collection": ["handbook"], "after": ["2020-01-31"]}
        filters = own.get(made.get_absolute_url()).context["form"].filters
        assert filters == Filters(collections=("handbook",), after=date(2020, 1, 31))

    def test_filters_alone_are_saved_under_a_name(self, own: Client, reader: User) -> None:
        assert not self.form(reader).strip()
        page = own.get("/library/", {"collection": "handbook"}).content.decode()
        assert 'action="/me/searches/"' in page
        assert 'value="Handbook" autocomplete' in page
        own.post("/me/searches/", {"collection": "handbook", "name": "The handbook"})
        made = SavedSearch.objects.get()
        assert (made.question, made.params) == ("", {"collection": ["handbook"]})
        assert made.get_absolute_url() == "/library/?collection=handbook"
        assert "/library/?collection=handbook" in own.get("/me/").content.decode()

    def test_visitors_cannot_save_searches(self) -> None:
        from django.contrib.auth.models import AnonymousUser

        assert not self.form(AnonymousUser(), q="pool").strip()  # type: ignore[arg-type]
        assert Client().post("/me/searches/", {"q": "pool"}).status_code == 302
        assert not SavedSearch.objects.exists()

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            ({"q": ""}, "Type a question or set a filter"),
            ({"q": "", "collection": "handbook"}, "Give the search a name"),
            ({"q": "pump", "name": "Pumps"}, "another name"),
            ({"q": "pump", "collection": "zanzibar"}, "No collection"),
            ({"q": "pump type:nope"}, "unknown type"),
        ],
        ids=str,
    )
    def test_invalid_saved_search_is_refused_with_a_reason(
        self, own: Client, saved: SavedSearch, data: dict[str, str], said: str
    ) -> None:
        response = own.post("/me/searches/", data)
        assert response.status_code == 400
        assert said in response.content.decode()
        assert SavedSearch.objects.get() == saved

    def test_saved_search_is_renamed_and_deleted(self, own: Client, saved: SavedSearch) -> None:
        address = f"/me/searches/{saved.public_id}/"
        own.post(address, {"do": "change", "name": "Bilge"})
        saved.refresh_from_db()
        assert saved.name == "Bilge"
        own.post(address, {"do": "delete"})
        assert not SavedSearch.objects.exists()


class TestFavourites:
    def test_a_document_is_starred_on_its_page_and_taken_off(
        self, own: Client, library: SimpleNamespace
    ) -> None:
        page, star = library.regions.get_absolute_url(), library.regions.public_id
        assert '"submit" aria-pressed="false"' in own.get(page).content.decode()
        response = own.post(f"/me/favourites/{star}/", {"on": "1", "next": page})
        assert response.headers["Location"] == page
        assert '"submit" aria-pressed="true"' in own.get(page).content.decode()
        assert "Cave regions" in own.get("/me/favourites/").content.decode()
        own.post(f"/me/favourites/{star}/", {"on": "0"})
        assert not Favourite.objects.exists()
        assert '"submit" aria-pressed' not in Client().get(page).content.decode()

    def test_a_hidden_document_is_not_starred_and_no_other_site_is_led_to(
        self, own: Client, reader: User, library: SimpleNamespace
    ) -> None:
        assert own.post(f"/me/favourites/{library.secret.public_id}/").status_code == 404
        favourites.star(reader, library.secret, on=True)  # from before it was hidden
        for page in ("/me/", "/me/favourites/", "/me/export/"):
            assert library.secret.title not in own.get(page).content.decode()
        where = {"next": "https://evil.example/"}
        response = own.post(f"/me/favourites/{library.regions.public_id}/", where)
        assert response.headers["Location"] == "/me/favourites/"


class TestTokens:
    def test_token_is_created_shown_once_and_revoked(self, own: Client, caplog: Any) -> None:
        data = {"name": "Robot", "scopes": ["read", "upload"], "days": "30"}
        page = own.post("/me/tokens/", data)
        token = page.context["token"]
        assert token in page.content.decode()
        assert "no-store" in page.headers["Cache-Control"]
        listed = own.get("/me/tokens/").content.decode()
        assert "Robot" in listed
        assert "read, upload" in listed
        assert token not in listed
        assert token not in caplog.text
        header = {"authorization": f"Token {token}"}
        assert Client(headers=header).get("/api/v1/collections/").status_code == 200
        own.post(f"/me/tokens/{token[:15]}/revoke/")
        assert Client(headers=header).get("/api/v1/collections/").status_code == 401

    def test_hidden_collections_are_not_offered(self, own: Client) -> None:
        page = own.get("/me/tokens/").content.decode()
        assert "Handbook" in page
        assert "Zanzibar" not in page


class TestNobodyElse:
    @pytest.fixture
    def things(self, own: Client, saved: SavedSearch, reader: User, library: Any) -> SavedSearch:
        own.get("/", {"q": "a private question"})
        favourites.star(reader, library.regions, on=True)
        tokens.make(reader, name="Secret robot", scopes=["read"])
        return saved

    def test_administrators_cannot_see_or_change_personal_data(
        self, things: SavedSearch, desk: Client, reader: User
    ) -> None:
        key = AuthToken.objects.get().token_key
        for page in ("/me/", "/me/history/", "/me/favourites/", "/me/tokens/", "/me/export/"):
            text = desk.get(page).content.decode()
            for mine in ("private question", "Pumps", "Secret robot", "Cave regions", key):
                assert mine not in text, (page, mine)
        address = f"/me/searches/{things.public_id}/"
        for do in ("change", "delete"):
            assert desk.post(address, {"do": do, "name": "Mine"}).status_code == 404
        entry = HistoryEntry.objects.get()
        desk.post("/me/history/", {"do": "forget", "entry": str(entry.pk)})
        desk.post("/me/history/", {"do": "clear"})
        desk.post(f"/me/tokens/{key}/revoke/")
        assert HistoryEntry.objects.filter(pk=entry.pk).exists()
        assert AuthToken.objects.exists()
        assert SavedSearch.objects.get().name == "Pumps"

    @pytest.mark.parametrize(
        "page", ["/me/", "/me/history/", "/me/favourites/", "/me/tokens/", "/me/export/"]
    )
    def test_visitors_are_asked_to_sign_in(self, page: str) -> None:
        assert Client().get(page).headers["Location"] == f"/login/?next={page}"

    def test_personal_data_is_exported_without_secrets(
        self, things: SavedSearch, own: Client
    ) -> None:
        response = own.get("/me/export/")
        data = json.loads(response.content)
        assert response.headers["Content-Disposition"].startswith("attachment")
        assert data["history"][0]["question"] == "a private question"
        assert data["saved_searches"][0]["question"] == "bilge pump greased"
        assert data["favourites"][0]["title"] == "Cave regions"
        assert data["tokens"][0]["name"] == "Secret robot"
        assert "a private question" in {one["question"] for one in data["recorded_searches"]}
        assert data["threads"] == []

    def test_personal_data_is_deleted_with_the_account(
        self, things: SavedSearch, reader: User
    ) -> None:
        reader.delete()
        for model in (HistoryEntry, SavedSearch, Favourite, AuthToken):
            assert not model.objects.exists()  # type: ignore[attr-defined]


class TestRows:
    def test_a_result_is_starred_where_it_stands(
        self, own: Client, reader: User, library: SimpleNamespace
    ) -> None:
        asked = {"q": "connection pool"}
        before = own.get("/", asked).content.decode()
        assert 'aria-label="Favourite: Database connections"' in before
        assert 'aria-pressed="true" aria-label="Favourite' not in before
        address = f"/me/favourites/{library.connections.public_id}/"
        assert f'class="star" method="post" action="{address}"' in before
        back = own.post(address, {"on": "1", "next": "/?q=connection+pool"})
        assert back.headers["Location"] == "/?q=connection+pool"
        after = own.get("/", asked).content.decode()
        assert 'aria-pressed="true" aria-label="Favourite: Database connections"' in after
        assert "Favourite:" not in Client().get("/", asked).content.decode()

    def test_a_result_shows_its_tags(self, library: SimpleNamespace) -> None:
        Document.objects.filter(pk=library.connections.pk).update(metadata={"tags": ["a&b", "db"]})
        page = Client().get("/", {"q": "connection pool"}).content.decode()
        assert '<a href="/?meta=tags:a%26b">a&amp;b</a>' in page
        assert '<a href="/?meta=tags:db">db</a>' in page
