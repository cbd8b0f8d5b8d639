"""The workbench's page and what it asks: both rankings, the measures, saving, judging."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from common.accounts.models import User
from ingestion.models import Collection, Document, Visibility
from search import tasks
from search.engine import configuration
from search.engine.ranking import ranking_of
from search.models import SearchProfile
from search.tuning import candidate_pools as pools
from search.tuning.candidate_pool_building import build
from search.tuning.candidate_pools import Width
from search.tuning.models import EvaluationRun, GoldenQuery, Judgement, PoolBuild, ProfileChange
from tests.support.admin_client import form_data, signed_in, staff

pytestmark = pytest.mark.django_db

TUNER = (
    "view_searchprofile", "change_searchprofile", "add_judgement", "add_evaluationrun",
    "view_evaluationrun",
)  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_kept(library: SimpleNamespace, clean_cache: None) -> None:
    pools._pools.clear()
    pools._whatifs.clear()


@pytest.fixture
def tuner(library: SimpleNamespace) -> User:
    return staff("tuner", *TUNER)


@pytest.fixture
def client(tuner: User) -> Client:
    return signed_in(tuner)


@pytest.fixture
def active(library: SimpleNamespace) -> SearchProfile:
    return SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)


def page(client: Client, **parameters: str) -> Any:
    return client.get(reverse("admin:search_workbench"), parameters)


def values(client: Client, **changes: object) -> dict[str, Any]:
    """What the page's form holds, with changes."""
    held = form_data(page(client), "wb-form")
    flat = {name: value[0] if isinstance(value, list) else value for name, value in held.items()}
    return {**flat, **changes}


def ask(client: Client, name: str, body: object) -> Any:
    return client.post(
        reverse(f"admin:search_workbench_{name}"), json.dumps(body), content_type="application/json"
    )


def body(
    client: Client, profile: SearchProfile, text: str = "", **changes: object
) -> dict[str, Any]:
    return {"profile": profile.pk, "values": values(client, **changes), "text": text}


KEYWORDS = {
    f"weight-{name}-{signal}": share
    for name in ("general", "lookup", "concept", "code", "debug", "comparison")
    for signal, share in {
        "vector": 0, "keyword": 1, "title": 0, "recency": 0, "synonym": 0
    }.items()
}  # fmt: skip

MEANING = {
    name: 1 - share if name.endswith(("keyword", "vector")) else share
    for name, share in KEYWORDS.items()
}


def run_measures(run: EvaluationRun) -> dict[str, float]:
    run.refresh_from_db()
    return dict(run.measures)


def judge(client: Client, text: str, document: Document, action: str) -> Any:
    return ask(
        client, "judge", {"text": text, "document": str(document.public_id), "action": action}
    )


def undo(client: Client, step: dict[str, Any]) -> None:
    assert ask(client, "judge", {**step, "undoes": True}).status_code == 200


class TestPage:
    def test_page_has_a_control_for_every_setting(
        self, client: Client, django_assert_max_num_queries: Any
    ) -> None:
        page(client)
        with django_assert_max_num_queries(14):
            response = page(client, q="barometer")
        assert response.status_code == 200
        text = response.content.decode()
        assert 'value="barometer"' in text
        for name in ("fusion", "depth", "feedback", "confidence_threshold", "boosts"):
            assert f'data-field="{name}"' in text
        assert text.count("wb-cost") >= 18

    def test_workbench_needs_the_right_to_view_profiles(self) -> None:
        client = signed_in(staff("typist", "view_document"))
        assert page(client).status_code == 403
        for name in ("preview", "measures", "pools", "save", "judge"):
            assert ask(client, name, {}).status_code == 403
        assert client.get(reverse("admin:search_workbench_queries")).status_code == 403
        assert Client().get(reverse("admin:search_workbench")).status_code == 302

    @pytest.mark.parametrize("name", ["save", "judge"])
    def test_viewers_cannot_change_profiles(self, active: SearchProfile, name: str) -> None:
        client = signed_in(staff("viewer", "view_searchprofile"))
        assert page(client).status_code == 200
        assert ask(client, name, body(client, active)).status_code == 403


class TestPreview:
    def test_preview_shows_moves_with_reasons(self, client: Client, active: SearchProfile) -> None:
        questions = ("a line for the harbour at night", "day of the flood", "rule of the pump")
        answers = [
            ask(client, "preview", body(client, active, text, **weights)).json()
            for text in questions
            for weights in (KEYWORDS, MEANING)
        ]
        html = "".join(answer["html"] for answer in answers)
        assert any(answer["changed"] for answer in answers)
        assert all(f"<h3>Draft of {active}</h3>" in answer["html"] for answer in answers)
        assert "than in the active ranking" in html or "Not among the results of the active" in html
        assert "Contribution" in html  # the table of readers' “Why here?”
        # Both columns say of a result what the draft does to it.
        pattern = r'Rank \d+: [^"]*; ((?:up|down) \d+ ranks?)[^"]*"[^>]* data-document="([^"]+)"'
        for answer in answers:
            spoken = re.findall(pattern, answer["html"])
            assert len(set(spoken)) == len({document for _, document in spoken})
        assert len(re.findall(pattern, html)) > len(set(re.findall(pattern, html)))

    def test_names_the_profile_until_a_setting_is_changed(self, client: Client) -> None:
        for profile in SearchProfile.objects.all():
            form = form_data(page(client, profile=str(profile.pk)), "wb-form")
            asked = {"profile": profile.pk, "values": form, "text": "day of the flood"}
            assert f"<h3>{profile}</h3>" in ask(client, "preview", asked).json()["html"]

    def test_slider_move_reranks_cached_candidates(
        self,
        client: Client,
        active: SearchProfile,
        monkeypatch: pytest.MonkeyPatch,
        django_assert_max_num_queries: Any,
    ) -> None:
        ranked: list[str] = []

        def counting(*args: Any) -> Any:
            ranked.append(args[1].profile.name)
            return ranking_of(*args)

        monkeypatch.setattr("search.tuning.workbench_preview.ranking_of", counting)
        asked = body(client, active, "barometer", **KEYWORDS)
        assert ask(client, "preview", asked).status_code == 200
        assert len(ranked) == 2
        monkeypatch.setattr("search.presentation.results.read_rows", None)
        monkeypatch.setattr("search.tuning.workbench_preview.candidates_of", None)
        with django_assert_max_num_queries(10):
            ask(client, "preview", asked)
        for change in ({"feedback": "0.1"}, {"fusion": "rrf"}):
            moved = body(client, active, "barometer", **change, **KEYWORDS)
            assert ask(client, "preview", moved).status_code == 200
        assert len(ranked) == 4

    @pytest.mark.parametrize(
        "change",
        [{"depth": "4"}, {"feedback": "3"}, {"boosts": "[1]"}, {"weight-general-vector": "0.99"}],
        ids=str,
    )
    def test_invalid_value_is_reported_beside_its_control(
        self, client: Client, active: SearchProfile, change: dict[str, str]
    ) -> None:
        response = ask(client, "preview", body(client, active, "barometer", **change))
        assert response.status_code == 422
        assert set(response.json()["problems"]) == set(change)

    def test_closed_collection_disappears_at_the_next_move(
        self, client: Client, active: SearchProfile, library: SimpleNamespace
    ) -> None:
        asked = body(client, active, "barometer")
        shown = str(library.logbook.public_id)
        assert shown in ask(client, "preview", asked).json()["html"]
        Collection.objects.filter(pk=library.logbook.collection_id).update(
            visibility=Visibility.GROUPS
        )
        assert shown not in ask(client, "preview", asked).json()["html"]

    def test_preview_shows_readable_documents_only(
        self, tuner: User, active: SearchProfile, library: SimpleNamespace, client: Client
    ) -> None:
        hidden = str(library.secret.public_id)
        asked = body(client, active, "zanzibar harbour")
        assert hidden not in ask(client, "preview", asked).json()["html"]
        tuner.groups.add(Group.objects.get(name="insiders"))
        assert hidden in ask(client, "preview", asked).json()["html"]

    @pytest.mark.parametrize("said", [b"no json", b"[]", b"{}"])
    def test_invalid_request_is_refused(self, client: Client, said: bytes) -> None:
        address = reverse("admin:search_workbench_preview")
        response = client.post(address, said, content_type="application/json")
        assert response.status_code in (400, 404)


class TestMeasures:
    @pytest.fixture(autouse=True)
    def judged(self, tuner: User, library: SimpleNamespace) -> None:
        client = signed_in(tuner)
        for text, name in (
            ("barometer on day seventeen", "logbook"),
            ("how long does a connection hang", "connections"),
            ("what to do when the draught stops", "regions"),
        ):
            assert judge(client, text, getattr(library, name), "3").status_code == 200

    def test_measures_name_missing_pools(self, client: Client, active: SearchProfile) -> None:
        answer = ask(client, "measures", body(client, active)).json()
        assert not answer["complete"]
        assert "0 of 3 golden queries" in answer["html"]
        assert 'data-do="pools"' in answer["summary"]
        build(Width.of(active.as_profile()))
        answer = ask(client, "measures", body(client, active)).json()
        assert answer["complete"]
        assert "All 3 golden queries" in answer["html"]
        judge(client, "one more", Judgement.objects.all()[0].document, "3")
        answer = ask(client, "measures", body(client, active)).json()
        assert "on 3 of 4 golden queries" in answer["summary"]

    def test_measures_list_winners_and_losers(self, client: Client, active: SearchProfile) -> None:
        build(Width.of(active.as_profile()))
        html = ask(client, "measures", body(client, active, **MEANING)).json()["html"]
        assert "nDCG@10" in html
        assert "Winners" in html

    def test_measures_hide_questions_about_unreadable_documents(
        self, client: Client, active: SearchProfile, library: SimpleNamespace
    ) -> None:
        query = GoldenQuery.objects.create(text="zanzibar lights", collections=["zanzibar"])
        Judgement.objects.create(
            query=query, document=library.secret, reference=library.secret.public_id,
            grade=3, judge_name="other",
        )  # fmt: skip
        build(Width.of(active.as_profile()))
        html = ask(client, "measures", body(client, active, **KEYWORDS)).json()["html"]
        assert "All 4 golden queries" in html
        assert "zanzibar lights" not in html
        listed = client.get(reverse("admin:search_workbench_queries"), {"tab": "golden"})
        assert "zanzibar lights" not in listed.content.decode()

    def test_a_worker_finds_candidates(self, client: Client, active: SearchProfile) -> None:
        assert ask(client, "pools", body(client, active)).json() == {"building": 0.0}
        answer = ask(client, "measures", body(client, active)).json()
        assert answer["building"] == 0.0
        assert "3 queries wait for a worker" in answer["summary"]
        assert tasks.build_pools.name == PoolBuild.TASK
        assert tasks.build_pools(PoolBuild.objects.get().pk) == 3
        assert ask(client, "measures", body(client, active)).json()["complete"]

    def test_badly_ranked_questions_are_listed_as_failing(
        self, client: Client, active: SearchProfile, library: SimpleNamespace
    ) -> None:
        judge(client, "a connection that is refused", library.urlaub, "3")
        judge(client, "vier Wochen Urlaub", library.logbook, "first")
        build(Width.of(active.as_profile()))
        listed = client.get(reverse("admin:search_workbench_queries"), {"tab": "failing"})
        text = listed.content.decode()
        assert "ranks badly" in text
        missed, low = text.index("vier Wochen Urlaub"), text.index("a connection that is refused")
        assert missed < low
        assert "must-be-first document is not first" in text
        html = ask(client, "measures", body(client, active)).json()["html"]
        assert "1 golden query has no document that answers" in html
        assert "draught" not in text

    def test_workbench_opens_on_the_longest_of_the_most_judged_questions(
        self, client: Client, library: SimpleNamespace
    ) -> None:
        judge(client, "how long does a connection hang", library.regions, "0")
        for document in (library.logbook, library.regions):
            judge(client, "DRAUGHT", document, "1")
        listed = client.get(reverse("admin:search_workbench_queries"), {"tab": "golden"})
        opens = re.findall(r'data-text="([^"]+)" [^>]*data-opens>', listed.content.decode())
        assert opens == ["how long does a connection hang"]

    @pytest.mark.parametrize("tab", ["golden", "recent", "failing", "nonsense"])
    def test_questions_can_be_picked(self, client: Client, tab: str) -> None:
        listed = client.get(reverse("admin:search_workbench_queries"), {"tab": tab})
        assert listed.status_code == 200
        assert ("draught" in listed.content.decode()) == (tab == "golden")
        GoldenQuery.objects.all().delete()
        empty = client.get(reverse("admin:search_workbench_queries"), {"tab": tab}).content.decode()
        texts = {"golden": "No golden queries yet", "recent": "Nobody has searched yet"}
        assert texts.get(tab, "No question is known to fail") in empty


class TestSaving:
    def test_saving_makes_a_draft(self, tuner: User, active: SearchProfile, client: Client) -> None:
        saved = ask(client, "save", body(client, active, reason="keywords", **KEYWORDS)).json()
        assert saved["is_new"]
        draft = SearchProfile.objects.get(pk=saved["profile"])
        assert draft.is_draft
        assert {row.keyword for row in draft.class_weights.all()} == {1}
        assert ProfileChange.objects.filter(profile=draft, user=tuner, reason="keywords").exists()
        assert configuration.current().profile().version == active.version

    def test_saving_does_not_overwrite_a_concurrent_edit(
        self, active: SearchProfile, client: Client
    ) -> None:
        pk = ask(client, "save", body(client, active, **KEYWORDS)).json()["profile"]
        draft = SearchProfile.objects.get(pk=pk)
        mine = body(client, draft, depth="60")
        theirs = body(client, draft, depth="70")
        assert ask(client, "save", theirs).status_code == 200
        refused = ask(client, "save", mine)
        assert refused.status_code == 422
        assert "was saved after you opened it" in str(refused.json()["problems"])
        assert SearchProfile.objects.get(pk=pk).depth == 70

    def test_the_draft_is_measured_by_real_searches(
        self, tuner: User, active: SearchProfile, client: Client
    ) -> None:
        start = f"{reverse('admin:tuning_evaluationrun_start')}?profile={active.pk}"
        assert f'href="{start}"' in page(client).content.decode()
        assert client.post(start, {"profile": active.pk}).status_code == 302
        run = EvaluationRun.objects.get()
        assert (run.profile, run.user, run.state) == (active, tuner, "queued")


class TestJudging:
    def test_grades_show_and_are_undone(
        self, client: Client, active: SearchProfile, library: SimpleNamespace
    ) -> None:
        other = signed_in(staff("other", *TUNER))
        text = "barometer"
        first = judge(client, text, library.logbook, "3").json()["undo"]
        judge(other, text, library.logbook, "0")
        html = ask(client, "preview", body(client, active, text)).json()["html"]
        assert "judges disagree" in html
        second = judge(client, text, library.logbook, "1").json()["undo"]
        Judgement.objects.filter(grade=1).update(note="By day only.")
        third = judge(client, text, library.logbook, "clear").json()["undo"]
        held = Judgement.objects.filter(query__text=text).order_by("judge_name")
        for step, mine in (
            (third, [("tuner", 1, "By day only.")]),
            (second, [("tuner", 3, "")]),
            (first, []),
        ):
            undo(client, step)
            rows = held.values_list("judge_name", "grade", "note")
            assert list(rows) == [("other", 0, ""), *mine]

    def test_a_question_that_was_made_by_a_wrong_key_goes_with_it(
        self, client: Client, tuner: User, active: SearchProfile, library: SimpleNamespace
    ) -> None:
        undo(client, judge(client, "barometer", library.logbook, "3").json()["undo"])
        undo(client, judge(client, "lamp", library.logbook, "first").json()["undo"])
        assert not GoldenQuery.objects.exists()
        GoldenQuery.objects.create(text="lamp", note="Asked each day.", added_by=tuner)
        undo(client, judge(client, "lamp", library.logbook, "3").json()["undo"])
        assert not Judgement.objects.exists()
        assert GoldenQuery.objects.exists()

    def test_undo_restores_the_required_first_document(
        self, client: Client, active: SearchProfile, library: SimpleNamespace
    ) -> None:
        steps = [
            judge(client, "lamp", document, action).json()["undo"]
            for document, action in (
                (library.logbook, "first"),
                (library.regions, "first"),
                (library.regions, "not-first"),
            )
        ]
        html = ask(client, "preview", body(client, active, "lamp")).json()["html"]
        assert "must be first" not in html
        for document in (library.regions, library.logbook):
            undo(client, steps.pop())
            assert GoldenQuery.objects.get().must_be_first == document
        html = ask(client, "preview", body(client, active, "lamp")).json()["html"]
        assert "must be first" in html
        undo(client, steps.pop())
        assert not GoldenQuery.objects.exists()

    def test_undo_keeps_what_another_person_requires_first_since(
        self, client: Client, active: SearchProfile, library: SimpleNamespace
    ) -> None:
        step = judge(client, "lamp", library.logbook, "first").json()["undo"]
        other = signed_in(staff("other", *TUNER))
        judge(other, "lamp", library.regions, "first")
        assert "was kept" in ask(client, "judge", {**step, "undoes": True}).json()["said"]
        assert GoldenQuery.objects.get().must_be_first == library.regions
