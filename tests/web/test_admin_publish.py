"""The way of a profile in the admin: gate, refusal, override, rollback, audit; golden queries."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from common.accounts.models import User
from ingestion.models import Collection, Document, Visibility
from search.models import SearchProfile
from search.tuning import drafts, gate_runs, judging, publications
from search.tuning.evaluation import golden_runs
from search.tuning.models import (
    EvaluationRun,
    GoldenQuery,
    Judgement,
    ProfileChange,
    Publication,
    PublishGate,
)
from tests.support.admin_client import form_data, signed_in, staff
from tests.support.golden_library import TITLE_ONLY, active_profile, draft_with

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "one_round")]
ADMIN = "/admin/tuning"
DOUGH = "why does yeast make the dough of a loaf rise"


@pytest.fixture
def client(administrator: User) -> Client:
    return signed_in(administrator)


def text_of(response: Any) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


def test_audit_records_refusal_override_and_rollback(
    client: Client, documents: dict[str, Document]
) -> None:
    before, draft = active_profile(), draft_with(TITLE_ONLY)
    publish = f"/admin/search/searchprofile/{draft.pk}/publish/"
    assert "on <strong>3 golden queries</strong>" in text_of(client.get(publish))

    asked = client.post(publish, form_data(client.get(publish), "publish_form"), follow=True)
    page = text_of(asked)
    assert "Reasons for refusal" in page
    assert DOUGH in page
    assert "2 questions lost" in page or "1 question lost" in page
    assert "Baking" in page
    assert active_profile() == before

    refused = Publication.objects.get()
    form = form_data(asked, "override_form")
    without = client.post(publish, form, follow=True)
    assert "give a reason" in text_of(without)
    client.post(publish, {**form, "reason": "Titles are enough here."})
    assert active_profile() == draft
    publication = Publication.objects.latest("pk")
    assert publication.run == refused.run
    published = text_of(client.get(f"{ADMIN}/publication/{publication.pk}/change/"))
    assert "overriding the gate" in published
    assert f">Roll back to {before}</a>" in published
    assert "sy-panel-failed" not in published
    assert "override_form" not in text_of(client.get(f"{ADMIN}/publication/{refused.pk}/change/"))
    column = '<td class="field-overridden'
    cells = text_of(client.get(f"{ADMIN}/publication/")).split(column)[1:]
    assert [">yes" in "".join(cell.split("</td>")[0].split()) for cell in cells] == [True, False]

    profiles = text_of(client.get("/admin/search/searchprofile/"))
    assert f"Roll back to {before}" in profiles.partition('id="content-main"')[2]
    back = f"/admin/search/searchprofile/{before.pk}/rollback/"
    form = form_data(client.get(back), "rollback_form")
    rolled = client.post(back, {**form, "reason": "It was not."}, follow=True)
    assert f"{before} is active again" in text_of(rolled)
    assert active_profile() == before
    again = client.post(back, form, follow=True)
    assert f"{before} is active now" in text_of(again)
    assert "(rolled back to)." in text_of(client.get("/admin/"))

    audit = text_of(client.get(f"{ADMIN}/profilechange/"))
    for line in ("Publishing refused", "Published over the gate’s refusal", "Rolled back to",
                 "Titles are enough here.", "It was not.", "nDCG@10 falls"):  # fmt: skip
        assert line in audit


def test_a_saved_draft_is_published_through_the_gate(
    client: Client, documents: dict[str, Document]
) -> None:
    before = active_profile()
    address = f"/admin/search/searchprofile/{before.pk}/change/"
    data = form_data(client.get(address), "searchprofile_form")
    for name in [name for name in data if name.startswith("weight-")]:
        data[name] = "1" if name.endswith("-title") else "0"
    draft = client.post(address, data).headers["Location"]
    response = client.post(draft.replace("/change/", "/publish/"))
    publication = Publication.objects.get()
    assert response.headers["Location"] == f"{ADMIN}/publication/{publication.pk}/change/"
    assert publication.state == "refused"
    assert active_profile() == before
    workbench = text_of(client.get("/admin/search/workbench/"))
    assert f"You are looking at draft v{publication.profile.version}, <a" in workbench
    assert f">refused on {timezone.localtime(publication.decided):%Y-%m-%d %H:%M}</a>" in workbench


def test_a_long_measurement_can_be_stopped(client: Client, documents: dict[str, Document]) -> None:
    gate_runs.gate_row()
    PublishGate.objects.update(background_above=1)
    draft = draft_with(depth=60)
    publish = f"/admin/search/searchprofile/{draft.pk}/publish/"
    GoldenQuery.objects.create(text="which bread first", must_be_first=documents["bread"])
    page = text_of(client.get(publish))
    assert "by a worker" in page
    assert "on <strong>3 golden queries</strong>" in page
    assert "1 golden query has no document that answers" in page
    page = text_of(client.post(publish, follow=True))
    assert 'http-equiv="refresh"' in page
    assert "Measured: 0%" in page
    waiting = Publication.objects.get()
    stopped = client.post(f"{ADMIN}/publication/{waiting.pk}/cancel/", follow=True)
    assert "Nothing was published" in text_of(stopped)

    client.post(publish)
    latest = publications.carry_out(Publication.objects.latest("pk").pk)
    assert active_profile() == draft
    shown = text_of(client.get(f"{ADMIN}/publication/{latest.pk}/change/"))
    assert "http-equiv" not in shown.replace('http-equiv="X-UA', "")
    assert "became active" in shown


def test_the_gates_settings_have_a_history(client: Client, administrator: User) -> None:
    address = f"{ADMIN}/publishgate/1/change/"
    assert client.get(f"{ADMIN}/publishgate/").headers["Location"] == address
    data = form_data(client.get(address), "publishgate_form")
    client.post(address, {**data, "margin": "0.05"})
    assert PublishGate.objects.get().margin == 0.05
    (entry,) = LogEntry.objects.all()
    assert (entry.user, entry.change_message) == (administrator, "Margin: 0.01 → 0.05")
    assert client.post(address, {**data, "margin": "7"}).status_code == 200
    assert PublishGate.objects.get().margin == 0.05


class TestRuns:
    def test_evaluation_run_is_started_and_shown(
        self, client: Client, documents: dict[str, Document]
    ) -> None:
        draft = draft_with(TITLE_ONLY)
        started = client.post(f"{ADMIN}/evaluationrun/start/", {"profile": draft.pk}, follow=True)
        assert "Measured: 0%" in text_of(started)
        assert b'http-equiv="refresh"' in client.get(f"{ADMIN}/evaluationrun/").content
        run = EvaluationRun.objects.get()
        stopped = client.post(f"{ADMIN}/evaluationrun/{run.pk}/cancel/", follow=True)
        assert f"evaluationrun/start/?profile={draft.pk}" in text_of(stopped)
        run = golden_runs.start(draft, acting_user=None)
        golden_runs.measure(run.pk)
        page = text_of(client.get(f"{ADMIN}/evaluationrun/{run.pk}/change/"))
        assert "95% interval" in page
        assert DOUGH in page
        listed = client.get(f"{ADMIN}/evaluationrun/")
        assert "Golden queries" in text_of(listed)
        assert b'http-equiv="refresh"' not in listed.content


class TestGoldenQueries:
    def test_golden_query_is_edited_and_judged(
        self, client: Client, harbour: dict[str, Document]
    ) -> None:
        data = {"text": "Ferry in fog?", "collections": ["harbour"], "must_be_first": "Crossing",
                "enabled": "on", "query_class": "", "note": ""}  # fmt: skip
        added = client.post(f"{ADMIN}/goldenquery/add/", data, follow=True)
        assert "No judgements yet" in text_of(added) or added.redirect_chain
        query = GoldenQuery.objects.get()
        assert (query.collections, query.must_be_first) == (["harbour"], harbour["ferry"])
        page = f"{ADMIN}/goldenquery/{query.pk}/change/"
        wrong = client.post(page, {**data, "must_be_first": "Nothing"})
        assert "No document has the id" in text_of(wrong)
        client.post(page, {**data, "must_be_first": "", "note": "Asked often."})
        query.refresh_from_db()
        assert (query.must_be_first, query.note) == (None, "Asked often.")

        data = {**data, "must_be_first": ""}
        lost = client.post(page, {**data, "document": "no.md", "new_grade": "2"})
        assert "No document has the id" in text_of(lost)
        assert 'value="no.md"' in lost.content.decode()
        client.post(page, {**data, "document": "ferry.md", "new_grade": "3"})
        held = Judgement.objects.get()
        assert (held.grade, held.judge_name) == (3, "administrator")
        client.post(page, {**data, f"grade-{held.reference}": "1"})
        held.refresh_from_db()
        assert held.grade == 1
        delete = f"{ADMIN}/goldenquery/{query.pk}/delete/"
        assert client.post(delete, {"post": "yes"}).status_code == 403
        client.post(page, {**data, f"grade-{held.reference}": ""})
        client.post(delete, {"post": "yes"})
        assert not GoldenQuery.objects.exists()

    def test_judgements_of_others_are_read_only(
        self, documents: dict[str, Document], administrator: User
    ) -> None:
        judge = staff("judy", "view_goldenquery", "change_goldenquery", "add_judgement",
                      "view_judgement")  # fmt: skip
        query = GoldenQuery.objects.get(text=DOUGH)
        page = text_of(signed_in(judge).get(f"{ADMIN}/goldenquery/{query.pk}/change/"))
        assert "2: Answers" in page
        assert f"grade-{documents['bread'].public_id}" not in page
        judging.judge(DOUGH, [], documents["bread"], 0, acting_user=judge)
        page = text_of(signed_in(judge).get(f"{ADMIN}/goldenquery/{query.pk}/change/"))
        assert f"grade-{documents['bread'].public_id}" in page

    def test_golden_queries_and_runs_hide_unreadable_documents(
        self, documents: dict[str, Document], administrator: User
    ) -> None:
        judging.set_must_be_first(DOUGH, [], documents["bread"], acting_user=administrator)
        run = golden_runs.create(active_profile(), acting_user=administrator)
        golden_runs.measure(run.pk)
        Collection.objects.update(visibility=Visibility.GROUPS)
        seeing = ("view_goldenquery", "view_judgement", "view_evaluationrun")
        judging_too = (*seeing, "change_goldenquery", "add_judgement")
        query = GoldenQuery.objects.get(text=DOUGH)
        rows = (f"goldenquery/{query.pk}/change/", f"evaluationrun/{run.pk}/change/")
        for name, rights in (("looker", seeing), ("judge", judging_too)):
            client = signed_in(staff(name, *rights))
            for address in (*rows, "goldenquery/", "goldenquery/export/"):
                assert "Baking" not in text_of(client.get(f"{ADMIN}/{address}")), (name, address)
        changed = {"text": DOUGH, "note": "Hidden.", "enabled": "on", "must_be_first": "River"}
        client.post(f"{ADMIN}/goldenquery/{query.pk}/change/", changed)
        query.refresh_from_db()
        assert (query.must_be_first, query.note) == (documents["bread"], "Hidden.")


def test_a_note_alone_reaches_the_audit_and_the_publication(administrator: User) -> None:
    active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
    draft = drafts.edit(active, {"depth": 60}, {}, acting_user=administrator, reason="Deeper.")
    client = signed_in(administrator)
    publish = f"/admin/search/searchprofile/{draft.profile.pk}/publish/"
    assert ">Deeper.</textarea>" in client.get(publish).content.decode()
    drafts.edit(draft.profile, {}, {}, acting_user=administrator, reason="Agreed with Ada.")
    assert ProfileChange.objects.filter(profile=draft.profile).first().reason == "Agreed with Ada."  # type: ignore[union-attr]
    assert ">Agreed with Ada.</textarea>" in client.get(publish).content.decode()
    unchanged = drafts.edit(draft.profile, {}, {}, acting_user=administrator)
    assert unchanged.changes == ()
