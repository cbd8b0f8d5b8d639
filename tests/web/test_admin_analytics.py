"""The front page's figures, the list of searches and the queue of gaps; and who sees no trace."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.http import urlencode

from common.accounts.models import User
from ingestion.models import Document, Visibility
from search.analytics.failed_search_detection import SETTLE, gather
from search.analytics.models import Gap, SearchEvent
from search.models import SearchProfile
from search.tuning import publications
from search.tuning.models import (
    EvaluationRun,
    GoldenQuery,
    Judgement,
    ProfileChange,
    Publication,
    QualityRun,
)
from tests.support import url_walker
from tests.support.admin_client import signed_in, staff
from tests.support.events import make_event, say
from tests.support.factories import make_collection, make_document, upload
from tests.support.url_walker import Subject
from tests.web import test_visibility
from tests.web.test_visibility import (
    PROBES,
    Make,
    client_of,
    hide,
    insider,
    librarian,
    looker,
    open_document,
    traces_in,
    walk,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

QUEUE = "/admin/analytics/gap/"
QUERY = "where is the zephyr manual"


def clerk(*codenames: str) -> Client:
    return signed_in(staff("clerk", *codenames))


def gap_of(query: str, **fields: Any) -> Gap:
    make_event(query, **{"total": 0, "results": [], **fields})
    gather()
    return Gap.objects.get(wordings__query=query)


def text(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, address
    return response.content.decode()


class TestFrontPage:
    def test_shows_the_figures_with_their_period(self, desk: Client) -> None:
        say(make_event("pumps"), "click")
        make_event("anchors", unsure=True)
        gap_of(QUERY)

        html = text(desk, "/admin/")
        assert "in the 30 days since" in html
        assert "33.3%" in html  # of three searches one found nothing, one was unsure
        assert "50.0%" in html  # of two that found something one was opened
        assert "10 ms" in html
        assert "2 open search gaps" in html
        assert "As a table" not in html  # a chart of a day is a point

        SearchEvent.objects.filter(query="pumps").update(at=timezone.now() - timedelta(days=7))
        html = text(desk, "/admin/")
        assert 'aria-label="Searches per day,' in html
        assert html.count("As a table") == 4

    def test_begins_with_what_is_to_be_done(self, desk: Client) -> None:
        assert "Nothing needs doing." in text(desk, "/admin/")
        shelf = make_collection()
        make_document(shelf, b"%PDF-1.4\ntorn", file_name="torn.pdf")
        upload(shelf, "# Later\n", file_name="later.md")
        gap_of(QUERY)
        make_event("pumps")
        gather()  # nothing was opened, which costs little

        html = text(desk, "/admin/")
        parts = (
            "1 document failed", "1 document is waiting or being read",
            "1 question seems to have failed", "This PDF is damaged", "First steps",
        )  # fmt: skip
        assert sorted(parts, key=html.index) == list(parts)
        assert "Nothing needs doing." not in html

    def test_first_steps_end_with_done(self, desk: Client, administrator: User) -> None:
        document = make_document(make_collection(), "# Pumps\n\nThey pump.\n")
        make_event("pumps")
        query = GoldenQuery.objects.create(text="pumps")
        Judgement.objects.create(
            query=query, document=document, reference=document.public_id, grade=3, judge_name="ann"
        )
        assert 'First steps <span class="sy-muted">done' not in text(desk, "/admin/")

        profile = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        change = ProfileChange.objects.create(
            profile=profile, action=ProfileChange.Action.PUBLISHED, user=administrator
        )
        assert 'First steps <span class="sy-muted">done' in text(desk, "/admin/")
        ProfileChange.objects.filter(pk=change.pk).update(at=timezone.now() - timedelta(days=8))
        assert "First steps" not in text(desk, "/admin/")

    def test_shows_the_latest_measurement_and_publication(self, desk: Client) -> None:
        html = text(desk, "/admin/")
        assert "once a day, at 03:30" in html
        assert re.search(r"on [-\d]{10} [\d:]{5}: Installed with Steelyard", " ".join(html.split()))
        assert "since the installation" in text(desk, "/admin/tuning/publication/")
        assert "No measurements yet" in text(desk, "/admin/tuning/evaluationrun/")
        profile = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        run = EvaluationRun.objects.create(profile=profile, measures={"nDCG@10": 0.731}, queries=12)
        QualityRun.objects.create(date=run.created.date(), run=run, status="good")

        html = text(desk, "/admin/")
        assert "latest 0.731" in html
        assert "12 golden queries" in html

    def test_front_page_shows_figures_only_with_their_permission(self) -> None:
        make_event("pumps")
        gap_of(QUERY)

        html = text(clerk("view_document"), "/admin/")
        for heading in ("Searches <span", "open search gap", "Search quality"):
            assert heading not in html

    @pytest.mark.parametrize("searches", [1, 40])
    def test_front_page_queries_do_not_grow_with_searches(
        self, desk: Client, searches: int, django_assert_num_queries: Any
    ) -> None:
        desk.get("/admin/")
        for number in range(searches):
            make_event(f"question {number}", total=0)
        gather()
        with django_assert_num_queries(QUERIES_OF_FRONT_PAGE):
            desk.get("/admin/")


# The session and its user; the library's two, the ranking's three; of searches the figures; of gaps
# the count and the costliest's three; of answers the figures, what readers said, the currency; the
# gate, the runs, the publication, the spaces; the first steps.
QUERIES_OF_FRONT_PAGE = 22


class TestSearches:
    def test_searches_are_listed_once_each(
        self, desk: Client, django_assert_num_queries: Any
    ) -> None:
        make_event("pumps", follows=(first := make_event("pumps")))
        make_event("list", corrected_from="dist" + 200 * "t")
        say(first, "up")
        html = text(desk, "/admin/analytics/searchevent/")
        assert html.count(">pumps</a>") == 1
        assert "+1" in html
        assert f">dist{155 * 't'}…</a> corrected to “list”" in html

    def test_hidden_searches_are_not_listed(self) -> None:
        cabin = make_collection("Cabin", visibility=Visibility.GROUPS, groups=["insiders"])
        make_event("pumps")
        hidden = make_event("treasure under the mast", sources=[cabin.pk])
        client = clerk("view_searchevent")

        assert "under the mast" not in text(client, "/admin/analytics/searchevent/?q=treasure")
        assert "under the mast" not in text(client, "/admin/analytics/searchevent/")
        assert "pumps" in text(client, "/admin/analytics/searchevent/")
        missing = client.get("/admin/analytics/searchevent/987654/change/")
        there = client.get(f"/admin/analytics/searchevent/{hidden.pk}/change/")
        assert there.status_code == missing.status_code == 302

    def test_searches_cannot_be_changed(self, desk: Client) -> None:
        for what in ("add", f"{make_event('pumps').pk}/delete"):
            assert desk.get(f"/admin/analytics/searchevent/{what}/").status_code == 403


class TestQueue:
    def test_queue_lists_the_costliest_gap_first_with_a_link(self, desk: Client) -> None:
        make_event("how many holidays do I get")
        gap = gap_of(QUERY)

        html = text(desk, QUEUE)
        assert html.index(QUERY) < html.index("how many holidays")
        assert f"{QUEUE}{gap.pk}/change/" in html
        assert "Nothing found" in html
        assert "No open search gaps" not in html
        assert "<p>None.</p>" in text(desk, f"{QUEUE}?state=closed")

    def test_queue_needs_a_permission(self) -> None:
        gap = gap_of(QUERY)
        client = clerk("view_document")
        assert client.get(QUEUE).status_code == 403
        assert client.get(f"{QUEUE}{gap.pk}/change/").status_code == 403

    def test_unreadable_gap_is_not_found(self) -> None:
        cabin = make_collection("Cabin", visibility=Visibility.GROUPS, groups=["insiders"])
        gap = gap_of("treasure under the mast", sources=[cabin.pk])
        client = clerk("view_gap", "change_gap")

        assert "treasure" not in text(client, QUEUE)
        for pk in (gap.pk, 987654):
            assert client.get(f"{QUEUE}{pk}/change/").status_code == 404
            assert client.post(f"{QUEUE}{pk}/act/", {"act": "closed"}).status_code == 404
        gap.refresh_from_db()
        assert gap.state == "open"


class TestActions:
    @pytest.fixture
    def gap(self, db: None) -> Gap:
        return gap_of(QUERY)

    @pytest.mark.parametrize(
        ("act", "leads_to", "field", "says"),
        [
            ("synonym", "/admin/search/synonym/add/", "terms", QUERY),
            ("pattern", "/admin/ingestion/identifierpattern/add/", "examples", QUERY),
            ("pin", "/admin/search/pin/add/", "query", QUERY),
        ],
    )
    def test_actions_open_a_form_with_the_query(
        self, desk: Client, gap: Gap, act: str, leads_to: str, field: str, says: str
    ) -> None:
        response = desk.post(f"{QUEUE}{gap.pk}/act/", {"act": act}, follow=True)

        address = response.redirect_chain[-1][0]
        assert address.startswith(leads_to)
        form = response.context["adminform"].form
        assert form[field].value() == says
        step = gap.steps.get()
        assert step.kind == act

    def test_a_closed_gap_shows_its_history_and_can_be_reopened(
        self, desk: Client, gap: Gap
    ) -> None:
        desk.post(f"{QUEUE}{gap.pk}/act/", {"act": "pin"})
        desk.post(f"{QUEUE}{gap.pk}/act/", {"act": "closed", "note": "Pinned the oven."})

        html = text(desk, f"{QUEUE}{gap.pk}/change/")
        assert html.index("Pinned the oven.") < html.index("<strong>Pin</strong>")
        assert f"/?{urlencode({'q': QUERY})}" in html
        assert "Reopen" in html
        assert text(desk, f"{QUEUE}?state=closed").count(QUERY) == 1

    def test_missing_document_can_be_noted(
        self, desk: Client, gap: Gap, administrator: User
    ) -> None:
        incomplete = {"act": "document", "note": "x"}
        html = desk.post(f"{QUEUE}{gap.pk}/act/", incomplete, follow=True).content.decode()
        assert "Choose who will write the document" in html
        wanted = {"act": "document", "owner": administrator.pk, "note": "How the zephyr works."}
        desk.post(f"{QUEUE}{gap.pk}/act/", wanted)

        assert "How the zephyr works." in text(desk, f"{QUEUE}{gap.pk}/change/")
        assert "administrator" in text(desk, QUEUE)

    @pytest.mark.parametrize(
        ("rights", "act", "status"),
        [(("view_gap",), "closed", 403), (("view_gap", "change_gap"), "synonym", 302)],
    )
    def test_actions_need_their_permission(
        self, gap: Gap, rights: tuple[str, ...], act: str, status: int
    ) -> None:
        client = clerk(*rights)
        assert client.post(f"{QUEUE}{gap.pk}/act/", {"act": act}).status_code == status
        assert not gap.steps.exists()
        assert "Add a synonym" not in text(client, f"{QUEUE}{gap.pk}/change/")


# --- What insiders search and do leaves no trace for those who may not read what they read -------


__all__ = ["client_of", "insider", "open_document"]  # fixtures


# Of what was asked, whatever was found: quoted from X, and never asked in the open.
ASKED = ("Goldtruhe", "Piratenschatz", "PII-2031-7788", "kapitaenskajuete")
JUDGED = "robbers of the southern sea burying their treasure"


# The others show nothing of searches; that of documents is test_visibility's to look for.
SHOWING = re.compile(
    r"$|admin/$|admin/(search|tuning|analytics|experiments)/|admin/(autocomplete|search)/$|search"
    r"|api/v1/(collections|experiments|golden-queries|judgements|publications|runs)/"
)


def judge_and_try(hidden: Document) -> None:
    """Judge X for a question of its collection, and let the gate refuse a profile by it."""
    boss = User.objects.create_superuser("judge")
    question = GoldenQuery.objects.create(
        text=JUDGED,
        collections=[hidden.collection.slug],
        must_be_first=hidden,
        note="Goldtruhe",
    )
    Judgement.objects.create(
        query=question, document=hidden, reference=hidden.public_id, title=hidden.title,
        grade=3, judge=boss, note="Freibeuter",
    )  # fmt: skip
    shipped = SearchProfile.objects.get(name="keyword-only")
    refused = publications.publish(shipped, acting_user=boss)
    assert refused.state == Publication.State.REFUSED
    assert any("a query of a restricted collection" in each for each in refused.refusals)


@pytest.mark.parametrize("make", [looker, librarian], ids=lambda make: make.__name__)
def test_searches_of_insiders_leave_no_trace(
    open_document: Document,
    client_of: Callable[[Make], Client],
    monkeypatch: pytest.MonkeyPatch,
    make: Make,
) -> None:
    client = client_of(make)
    showing = [route for route in url_walker.routes() if SHOWING.match(route.route)]
    monkeypatch.setattr(test_visibility, "routes", lambda: showing)
    named = " ".join(route.route for route in showing)
    assert all(name in named for name in ("searchevent", "admin/experiments", "golden-queries"))
    hidden, _ = hide()
    judge_and_try(hidden)
    member = User.objects.create_user("pirate")
    member.groups.set(hidden.collection.groups.all())
    pirate = Client()
    pirate.force_login(member)
    for parameters in PROBES.values():
        pirate.get("/", parameters)
        pirate.get("/api/v1/search/", parameters)
    pirate.get("/", {"q": "Goldtruhe collection:kapitaenskajuete xyzzy -Goldtruhe"})
    SearchEvent.objects.update(unsure=True)
    gather(now=SearchEvent.objects.latest("at").at + SETTLE)
    assert Gap.objects.count() >= len(PROBES) - 2

    boss = Client()
    boss.force_login(User.objects.create_superuser("boss"))
    for address in ("/admin/analytics/searchevent/", "/admin/analytics/gap/"):
        assert "Goldtruhe" in boss.get(address).content.decode()  # or there were nothing to hide
    assert JUDGED in boss.get("/admin/tuning/goldenquery/").content.decode()

    seen = walk(client, Subject.of(open_document))

    traced = {url: traces_in(answer.text, url, hidden) for url, answer in seen.items()}
    assert {url: found for url, found in traced.items() if found} == {}
    told = [
        url
        for url, a in seen.items()
        for word in (*ASKED, JUDGED)
        if word in a.text and word not in url
    ]
    assert told == []
