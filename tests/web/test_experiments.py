"""Experiments in the admin and the API: planned, started, watched, ended."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.urls import reverse
from rest_framework.test import APIClient

from common.accounts.models import User
from search.analytics.models import SearchEvent
from search.models import SearchProfile
from search.parts.experiments import running
from search.tuning.models import Experiment
from tests.support.admin_client import said, signed_in
from tests.support.factories import make_collection, make_document
from tests.support.golden_library import active_profile

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

ADMIN = "/admin/tuning/experiment/"


@pytest.fixture
def other() -> SearchProfile:
    found = SearchProfile.objects.filter(state="retired").order_by("pk").first()
    assert found is not None
    return found


@pytest.fixture
def plan(other: SearchProfile) -> dict[str, Any]:
    return {
        "name": "Does it help?", "a": active_profile().pk, "b": other.pk,
        "share": "1", "days": "14", "indifference": "0.02", "note": "",
    }  # fmt: skip


def key(profile: SearchProfile) -> str:
    return f"{profile.name}@{profile.version}"


def publisher() -> User:
    user = User.objects.create_user("publisher", password="pw", is_staff=True)
    user.groups.add(Group.objects.get(name="Search publishers"))
    return user


class TestAdmin:
    def test_from_plan_to_end(self, plan: dict[str, Any], other: SearchProfile) -> None:
        client = signed_in(publisher())
        client.post(f"{ADMIN}add/", plan)
        experiment = Experiment.objects.get()
        assert experiment.added_by is not None
        assert LogEntry.objects.get().change_message == "Planned."

        asks = client.get(f"{ADMIN}{experiment.pk}/start/").content.decode()
        assert str(other) in asks
        assert "nothing will be measured" in asks
        response = client.post(f"{ADMIN}{experiment.pk}/start/")
        assert "applies from the next search" in said(response)

        page = client.get(f"{ADMIN}{experiment.pk}/change/").content.decode()
        assert "No visitor has taken part yet." in page
        assert "Running" in page
        assert 'name="days"' not in page  # what runs changes no more
        assert "No visitor has taken part yet." in client.get(ADMIN).content.decode()

        without = client.post(f"{ADMIN}{experiment.pk}/end/", {"reason": " "})
        assert "Give a reason" in said(without)
        client.post(f"{ADMIN}{experiment.pk}/end/", {"reason": "Enough."})
        experiment.refresh_from_db()
        assert (experiment.state, experiment.end_reason) == ("ended", "Enough.")

    def test_a_winner_leads_to_the_publish_page(
        self, plan: dict[str, Any], other: SearchProfile
    ) -> None:
        experiment = running.start(
            running.plan({**plan, "a": active_profile(), "b": other}, acting_user=None),
            acting_user=None,
        )
        verdict = {"verdict": "b", "sentence": "B is better.", "visitors": 9, "counts": [1, 8],
                    "at": "2026-01-01T10:00:00+00:00"}  # fmt: skip
        Experiment.objects.update(state="ended", verdict=verdict)
        page = signed_in(publisher()).get(f"{ADMIN}{experiment.pk}/change/").content.decode()
        assert reverse("admin:search_searchprofile_publish", args=(other.pk,)) in page
        assert active_profile() != other

    def test_what_makes_no_plan_is_said_in_the_form(self, plan: dict[str, Any]) -> None:
        client = signed_in(publisher())
        response = client.post(f"{ADMIN}add/", {**plan, "b": plan["a"]})
        assert "two different profiles" in str(response.context["adminform"].form.errors)
        assert not Experiment.objects.exists()

    def test_pages_cost_few_queries(
        self, plan: dict[str, Any], other: SearchProfile, django_assert_max_num_queries: Any
    ) -> None:
        for number in range(3):
            named = {**plan, "name": f"{number}", "a": active_profile(), "b": other}
            experiment = running.plan(named, acting_user=None)
        running.start(experiment, acting_user=None)
        client = signed_in(publisher())
        client.get(ADMIN)
        with django_assert_max_num_queries(10):
            client.get(ADMIN)


class TestApi:
    def test_a_search_says_that_it_takes_part(
        self, other: SearchProfile, api: APIClient, django_assert_num_queries: Any
    ) -> None:
        make_document(make_collection(), "# Leave\n\nAnnual leave is asked for in writing.")
        fields = {"name": "One", "a": active_profile(), "b": other}
        experiment = running.start(running.plan(fields, acting_user=None), acting_user=None)
        api.get("/api/v1/search/", {"q": "leave"})
        with django_assert_num_queries(4):  # the stamp, the candidates, the page, the event
            body = api.get("/api/v1/search/", {"q": "annual leave"}).json()
        trial = body["experiment"]
        assert trial["id"] == SearchEvent.objects.latest("pk").experiment == experiment.pk
        assert body["profile"] in trial["profiles"]
        assert {result["team"] for result in body["results"]} <= {"a", "b", ""}
        forced = api.get("/api/v1/search/", {"q": "leave", "profile": key(other)}).json()
        assert forced["experiment"] is None
