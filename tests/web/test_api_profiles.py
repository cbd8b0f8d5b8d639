"""All that the workbench can do, over the API: draft, measure, publish, roll back, judge."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.models import Collection, Document, Visibility
from search.tuning import judging
from search.tuning.evaluation import golden_runs
from search.tuning.models import GoldenQuery, Judgement, ProfileChange
from tests.support.golden_library import QUESTIONS, active_profile, draft_with

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "one_round")]
V1 = "/api/v1"
TITLES = {
    name: {"title": 1} for name in ("lookup", "concept", "code", "debug", "comparison", "general")
}


@pytest.fixture
def publisher(db: None) -> User:
    user = User.objects.create_user("publisher", password="pw")
    user.groups.add(Group.objects.get(name="Search publishers"))
    return user


@pytest.fixture
def api(publisher: User) -> APIClient:
    """Signed in by a publisher, who is no staff."""
    client = APIClient()
    client.force_authenticate(publisher)
    return client


def post(api: APIClient, address: str, **data: Any) -> Any:
    return api.post(f"{V1}/{address}", data, format="json")


class TestDrafts:
    def test_a_draft_is_made_edited_compared_and_deleted(
        self, api: APIClient, publisher: User
    ) -> None:
        made = post(api, "profiles/", depth=60, reason="Less is faster.")
        assert made.status_code == 201
        assert (made.json()["version"], made.json()["depth"]) == (6, 60)
        assert made.json()["weights"] == api.get(f"{V1}/profiles/default/").json()["weights"]
        address = f"{V1}/profiles/default@6/"
        weights = {"concept": {"vector": "0.5", "keyword": "0.5"}}
        edited = api.patch(address, {"weights": weights}, format="json")
        assert edited.status_code == 200
        assert edited.json()["weights"]["concept"]["keyword"] == 0.5
        assert edited.json()["fingerprint"] != made.json()["fingerprint"]
        lines = api.get(f"{address}differences/").json()["differences"]
        assert "depth: 100 → 60" in lines
        assert ProfileChange.objects.filter(user=publisher).exists()
        assert api.delete(address).status_code == 204
        assert api.delete(f"{V1}/profiles/default@5/").status_code == 409

    def test_a_change_without_a_version_is_refused_with_the_version_in_force(
        self, api: APIClient
    ) -> None:
        refused = api.patch(f"{V1}/profiles/default/", {"depth": 70}, format="json")
        said = "Name the version to change: profiles/default@5/ is the one in force."
        assert (refused.status_code, refused.json()["errors"]) == (400, {"profile": [said]})
        assert api.delete(f"{V1}/profiles/default/").json()["errors"] == {"profile": [said]}
        assert api.delete(f"{V1}/profiles/nothing/").status_code == 404

    def test_an_edit_of_a_published_profile_is_a_new_draft(self, api: APIClient) -> None:
        done = api.patch(f"{V1}/profiles/default@5/", {"depth": 70}, format="json")
        assert (done.status_code, done.json()["version"]) == (201, 6)
        assert active_profile().depth == 100

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            ({"weights": {"general": {"vector": "0.5"}}}, "sum to 1; these sum to 0.5."),
            ({"weights": {"general": {"speed": 1}}}, "no such field"),
            ({"depth": 2}, "depth"),
            ({"speed": 1}, "no such field"),
            ({"fusion": "nope"}, "Use one of: "),
            ({"fingerprint": "0" * 64, "depth": 50}, "edited since"),
        ],
    )
    def test_invalid_draft_names_the_error(
        self, api: APIClient, data: dict[str, Any], said: str
    ) -> None:
        draft = draft_with()
        done = api.patch(f"{V1}/profiles/default@{draft.version}/", data, format="json")
        assert done.status_code in (400, 409)
        assert said in done.json()["message"]


CANCELLED = {"state": "cancelled"}


class TestPublishing:
    def test_a_refusal_lists_the_queries_and_an_override_is_audited(
        self, api: APIClient, documents: dict[str, Document]
    ) -> None:
        post(api, "profiles/", weights=TITLES)
        refused = post(api, "publications/", profile="default@6")
        assert (refused.status_code, refused.json()["code"]) == (409, "gate_refused")
        assert "dough" in refused.json()["message"]
        publication = refused.json()["details"]["publication"]
        assert publication["state"] == "refused"
        run = api.get(f"{V1}/runs/{publication['run']}/").json()
        rows = {row["text"]: row for row in run["by_query"]}
        assert set(rows) == set(QUESTIONS)
        dough = rows["why does yeast make the dough of a loaf rise"]
        assert dough["was_first"] == str(documents["bread"].public_id)
        assert active_profile().version == 5

        forced = {"profile": "default@6", "override": True}
        assert post(api, "publications/", **forced).status_code == 400
        done = post(api, "publications/", **forced, reason="We want titles.")
        assert (done.status_code, done.json()["state"]) == (200, "published")
        (change,) = api.get(f"{V1}/profile-changes/", {"action": "overridden"}).json()["results"]
        assert (change["user"], change["reason"]) == ("publisher", "We want titles.")
        assert change["findings"]

    def test_publish_and_roll_back(self, api: APIClient, documents: dict[str, Document]) -> None:
        made = post(api, "profiles/", depth=60).json()
        wrong = {"fingerprint": "0" * 64}
        assert post(api, "publications/", profile="default@6", **wrong).status_code == 409
        assert post(api, "profiles/default@6/publish/", **wrong).status_code == 409  # of 0.2
        seen = {"profile": "default@6", "fingerprint": made["fingerprint"]}
        done = post(api, "publications/", **seen)
        assert (done.status_code, done.json()["state"]) == (200, "published")
        assert done.json()["findings"][0].startswith("nDCG@10 does not change on 3")
        back = post(api, "rollback/", leaving="default@6", reason="Complaints.")
        named = {"key": "default@5", "name": "default", "version": 5}
        assert (back.status_code, back.json()) == (200, named)
        assert post(api, "rollback/", leaving="default@6").status_code == 409
        assert post(api, "rollback/", to="keyword-only@1").status_code == 400
        assert post(api, "rollback/", to="default@6").json()["version"] == 6


class TestRuns:
    def test_a_run_is_started_watched_and_cancelled(
        self, api: APIClient, documents: dict[str, Document]
    ) -> None:
        started = post(api, "runs/", profile="keyword-only")
        assert (started.status_code, started.json()["state"]) == (202, "queued")
        address = f"{V1}/runs/{started.json()['id']}/"
        for body, status in (
            ({"state": "done"}, 400),
            ({}, 400),
            (CANCELLED, 200),
            (CANCELLED, 409),
        ):
            stopped = api.patch(address, body, format="json")
            assert stopped.status_code == status, stopped.json()
        again = post(api, "runs/", profile="keyword-only").json()["id"]
        golden_runs.measure(again)
        assert api.get(address).json()["state"] == "cancelled"
        done = api.get(f"{V1}/runs/{again}/").json()
        assert (done["state"], done["queries"]) == ("done", 3)
        assert done["baseline"] == {"key": "default@5", "name": "default", "version": 5}
        assert api.get(f"{V1}/runs/").json()["total"] == 2

    def test_runs_do_not_name_unreadable_documents(
        self, api: APIClient, documents: dict[str, Document], administrator: User
    ) -> None:
        judging.judge("private", ["harbour"], documents["ferry"], 3, acting_user=administrator)
        run = post(api, "runs/", profile="default").json()["id"]
        golden_runs.measure(run)
        Collection.objects.update(visibility=Visibility.GROUPS)
        rows = api.get(f"{V1}/runs/{run}/").json()["by_query"]
        assert {row["text"] for row in rows} == set(QUESTIONS)
        assert {row["first"] for row in rows} == {None}


class TestGolden:
    def test_judged_golden_query_cannot_be_deleted(
        self, api: APIClient, documents: dict[str, Document]
    ) -> None:
        first = str(documents["ferry"].public_id)
        made = post(api, "golden-queries/", text="Ferry?", must_be_first=first, note="Ask.")
        assert made.status_code == 201
        assert (made.json()["must_be_first"], made.json()["note"]) == (first, "Ask.")
        assert post(api, "golden-queries/", text="ferry?").status_code == 400
        address = f"{V1}/golden-queries/{made.json()['id']}/"
        edited = api.patch(address, {"enabled": False, "must_be_first": None}, format="json")
        assert (edited.json()["enabled"], edited.json()["must_be_first"]) == (False, None)
        judged = post(api, "judgements/", query="ferry?", document=first, grade=2)
        assert (judged.status_code, judged.json()["judge"]) == (200, "publisher")
        listed = api.get(f"{V1}/judgements/", {"query": made.json()["id"]}).json()["results"]
        assert listed == [judged.json()]
        assert api.get(address).json()["judged"] == 1
        assert api.delete(address).status_code == 409
        Judgement.objects.filter(query__public_id=made.json()["id"]).delete()
        assert api.delete(address).status_code == 204

    def test_golden_queries_neither_judge_nor_name_unreadable_documents(
        self, api: APIClient, documents: dict[str, Document]
    ) -> None:
        tides = str(documents["tides"].public_id)
        made = post(api, "golden-queries/", text="High water?", must_be_first=tides).json()
        assert post(api, "judgements/", query="x", document=tides, grade=4).status_code == 400
        Collection.objects.update(visibility=Visibility.GROUPS)
        assert post(api, "judgements/", query="x", document=tides, grade=3).status_code == 400
        shown = api.get(f"{V1}/golden-queries/{made['id']}/").json()
        assert (shown["text"], shown["must_be_first"]) == ("High water?", None)

    def test_judgement_files_are_exported_and_imported(
        self, api: APIClient, documents: dict[str, Document]
    ) -> None:
        response = api.get(f"{V1}/judgements/file/", {"to": "beir"})
        assert response.headers["Content-Disposition"] == 'attachment; filename="beir.zip"'
        GoldenQuery.objects.all().delete()
        file = SimpleUploadedFile("beir.zip", response.content)
        done = api.post(
            f"{V1}/judgements/file/", {"file": file, "file_format": "beir"}, format="multipart"
        )
        assert done.json() == {"judgements": 3, "queries": 3, "unchanged": 0, "problems": []}
        bad = SimpleUploadedFile("bad.csv", b"a,b\n")
        assert (
            api.post(f"{V1}/judgements/file/", {"file": bad}, format="multipart").status_code == 400
        )
