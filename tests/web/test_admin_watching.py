"""The front page's figures, the list of searches and the queue of gaps, in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from common.accounts.models import User
from ingestion.models import Visibility
from search.analytics import gathering
from search.analytics.models import Gap, GapStep
from search.models import Pin, SearchProfile
from search.tuning.models import EvaluationRun, QualityRun
from tests.support.events import make_event, say
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

QUEUE = "/admin/analytics/gap/"
QUERY = "where is the zephyr manual"


@pytest.fixture
def admin(administrator: User) -> Client:
    client = Client()
    client.force_login(administrator)
    return client


def staff(*codenames: str) -> Client:
    user = User.objects.create_user("clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


def gap_of(query: str, **fields: Any) -> Gap:
    make_event(query, **{"total": 0, "results": [], **fields})
    gathering.gather()
    return Gap.objects.get(wordings__query=query)


def text(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, address
    return response.content.decode()


class TestFrontPage:
    def test_shows_the_figures_with_their_period(self, admin: Client) -> None:
        say(make_event("pumps"), "click")
        make_event("anchors", unsure=True)
        gap_of(QUERY)

        html = text(admin, "/admin/")
        assert "in the 30 days since" in html
        assert "33.3%" in html  # of three searches one found nothing, one was unsure
        assert "50.0%" in html  # of two that found something one was opened
        assert "10 ms" in html
        assert 'aria-label="Searches per day,' in html
        assert html.count("As a table") == 4
        assert "2 open search gaps" in html

    def test_shows_the_latest_quality_run(self, admin: Client) -> None:
        profile = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        run = EvaluationRun.objects.create(
            kind="golden", profile=profile, measures={"nDCG@10": 0.731}, queries=12
        )
        QualityRun.objects.create(date=run.created.date(), run=run, status="good")

        html = text(admin, "/admin/")
        assert "latest 0.731" in html
        assert "12 golden queries" in html

    def test_only_to_who_may_see_them(self) -> None:
        make_event("pumps")
        gap_of(QUERY)

        html = text(staff("view_document"), "/admin/")
        for heading in ("Searches <span", "open search gap", "Search quality"):
            assert heading not in html

    @pytest.mark.parametrize("searches", [1, 40])
    def test_costs_the_same_however_much_was_searched(
        self, admin: Client, searches: int, django_assert_num_queries: Any
    ) -> None:
        admin.get("/admin/")
        for number in range(searches):
            make_event(f"question {number}", total=0)
        gathering.gather()
        with django_assert_num_queries(QUERIES_OF_FRONT_PAGE):
            admin.get("/admin/")


# The session and its user; the library's two, the ranking's three; of searches the figures; of gaps
# the count and the costliest's three; of answers the figures, what readers said, the currency; the
# gate, the runs, the alert, the publication, the spaces; the first steps.
QUERIES_OF_FRONT_PAGE = 23


class TestSearches:
    def test_are_listed_once_each(self, admin: Client, django_assert_num_queries: Any) -> None:
        first = make_event("pumps")
        make_event("pumps", follows=first)
        say(first, "up")

        html = text(admin, "/admin/analytics/searchevent/")
        assert html.count(">pumps</a>") == 1
        assert "+1" in html

    @pytest.mark.parametrize("narrowed", ["?q=pumps", "?channel__exact=page", "?unsure__exact=1"])
    def test_the_heading_counts_only_what_was_narrowed(self, admin: Client, narrowed: str) -> None:
        make_event("pumps", unsure=True)
        make_event("anchors")
        address = "/admin/analytics/searchevent/"
        assert "Show all" not in text(admin, address)
        assert "Show all" not in text(admin, f"{address}?o=1")
        assert "Show all" in text(admin, address + narrowed)

    def test_hidden_ones_are_not_there(self) -> None:
        cabin = make_collection("Cabin", visibility=Visibility.GROUPS, groups=["insiders"])
        make_event("pumps")
        hidden = make_event("treasure under the mast", sources=[cabin.pk])
        clerk = staff("view_searchevent")

        assert "under the mast" not in text(clerk, "/admin/analytics/searchevent/?q=treasure")
        assert "under the mast" not in text(clerk, "/admin/analytics/searchevent/")
        assert "pumps" in text(clerk, "/admin/analytics/searchevent/")
        missing = clerk.get("/admin/analytics/searchevent/987654/change/")
        there = clerk.get(f"/admin/analytics/searchevent/{hidden.pk}/change/")
        assert there.status_code == missing.status_code == 302

    def test_nobody_changes_them(self, admin: Client) -> None:
        event = make_event("pumps")
        for what in ("add", f"{event.pk}/delete"):
            assert admin.get(f"/admin/analytics/searchevent/{what}/").status_code == 403


class TestQueue:
    def test_the_costliest_first_with_a_link(self, admin: Client) -> None:
        make_event("how many holidays do I get")
        gap = gap_of(QUERY)

        html = text(admin, QUEUE)
        assert html.index(QUERY) < html.index("how many holidays")
        assert f"{QUEUE}{gap.pk}/change/" in html
        assert "Nothing found" in html
        assert "No open search gaps" not in html
        assert "<p>None.</p>" in text(admin, f"{QUEUE}?state=closed")

    def test_needs_a_permission(self) -> None:
        gap = gap_of(QUERY)
        clerk = staff("view_document")
        assert clerk.get(QUEUE).status_code == 403
        assert clerk.get(f"{QUEUE}{gap.pk}/change/").status_code == 403

    def test_a_gap_of_others_is_as_none(self) -> None:
        cabin = make_collection("Cabin", visibility=Visibility.GROUPS, groups=["insiders"])
        gap = gap_of("treasure under the mast", sources=[cabin.pk])
        clerk = staff("view_gap", "change_gap")

        assert "treasure" not in text(clerk, QUEUE)
        for pk in (gap.pk, 987654):
            assert clerk.get(f"{QUEUE}{pk}/change/").status_code == 404
            assert clerk.post(f"{QUEUE}{pk}/act/", {"act": "closed"}).status_code == 404
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
    def test_lead_to_a_form_with_the_query_in_it(
        self, admin: Client, gap: Gap, act: str, leads_to: str, field: str, says: str
    ) -> None:
        response = admin.post(f"{QUEUE}{gap.pk}/act/", {"act": act}, follow=True)

        address = response.redirect_chain[-1][0]
        assert address.startswith(leads_to)
        form = response.context["adminform"].form
        assert form[field].value() == says
        step = gap.steps.get()
        assert (step.kind, step.before["total"]) == (act, 0)

    def test_judging_leads_to_the_workbench(self, admin: Client, gap: Gap) -> None:
        response = admin.post(f"{QUEUE}{gap.pk}/act/", {"act": "judgement"})

        assert response.headers["Location"] == (
            "/admin/search/workbench/?q=where+is+the+zephyr+manual"
        )
        assert gap.steps.get().kind == "judgement"

    def test_closing_shows_before_and_after(self, admin: Client, gap: Gap) -> None:
        manual = make_document(
            make_collection("Workshop"), "# Oven\n\nTurn the left knob.\n", file_name="oven.md"
        )
        admin.post(f"{QUEUE}{gap.pk}/act/", {"act": "pin"})
        Pin.objects.create(query=QUERY, document=manual)
        admin.post(f"{QUEUE}{gap.pk}/act/", {"act": "closed", "note": "Pinned the oven."})

        html = text(admin, f"{QUEUE}{gap.pk}/change/")
        assert "Pinned the oven." in html
        assert html.index("Before") < html.index("After")
        assert "Reopen" in html
        assert text(admin, f"{QUEUE}?state=closed").count(QUERY) == 1

    def test_a_missing_document(self, admin: Client, gap: Gap, administrator: User) -> None:
        incomplete = {"act": "document", "note": "x"}
        html = admin.post(f"{QUEUE}{gap.pk}/act/", incomplete, follow=True).content.decode()
        assert "Choose who will write the document" in html
        wanted = {"act": "document", "owner": administrator.pk, "note": "How the zephyr works."}
        admin.post(f"{QUEUE}{gap.pk}/act/", wanted)

        assert "How the zephyr works." in text(admin, f"{QUEUE}{gap.pk}/change/")
        assert "administrator" in text(admin, QUEUE)

    def test_dismissing_asks_for_a_reason(self, admin: Client, gap: Gap) -> None:
        refused = admin.post(f"{QUEUE}{gap.pk}/act/", {"act": "dismissed"}, follow=True)
        assert "Give a reason" in refused.content.decode()
        admin.post(f"{QUEUE}{gap.pk}/act/", {"act": "dismissed", "note": "Not ours."})
        assert GapStep.objects.get().note == "Not ours."
        assert "No open search gaps" in text(admin, QUEUE)

        admin.post(f"{QUEUE}{gap.pk}/act/", {"act": "reopened"})
        assert QUERY in text(admin, QUEUE)

    @pytest.mark.parametrize(
        ("rights", "act", "status"),
        [(("view_gap",), "closed", 403), (("view_gap", "change_gap"), "synonym", 302)],
    )
    def test_nobody_does_what_they_may_not(
        self, gap: Gap, rights: tuple[str, ...], act: str, status: int
    ) -> None:
        clerk = staff(*rights)
        assert clerk.post(f"{QUEUE}{gap.pk}/act/", {"act": act}).status_code == status
        assert not gap.steps.exists()
        assert "Add a synonym" not in text(clerk, f"{QUEUE}{gap.pk}/change/")

    def test_a_page_costs_the_same_however_long_its_history(
        self, admin: Client, gap: Gap, django_assert_max_num_queries: Any
    ) -> None:
        make_document(make_collection("Workshop"), QUERY, file_name="z.md")
        address = f"{QUEUE}{gap.pk}/change/"
        for _ in range(6):
            admin.post(f"{QUEUE}{gap.pk}/act/", {"act": "closed"})
            admin.post(f"{QUEUE}{gap.pk}/act/", {"act": "reopened"})
        with django_assert_max_num_queries(22):
            admin.get(address)
