"""The audit trail: sign-ins, rights, exports and deletions, read by superusers, exported."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone
from django.utils.html import strip_tags

from common.accounts import tokens
from common.accounts.models import User
from common.audit import trail
from common.audit.models import Event, Kind
from search.analytics.models import Gap, GapStep
from search.models import SearchProfile
from search.tuning.models import ProfileChange
from tests.support.admin_client import form_data, signed_in, staff
from tests.support.factories import make_collection

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

EVENTS = "/admin/audit/event/"
RIGHT = {"username": "reader", "password": "pw-reader"}


def noted(kind: Kind) -> list[Event]:
    return list(Event.objects.filter(kind=kind).order_by("pk"))


class TestSigningIn:
    def test_sign_in_is_recorded_with_its_address(self, reader: User) -> None:
        client = Client(REMOTE_ADDR="203.0.113.9")
        client.post("/login/", RIGHT)
        client.post("/logout/")

        [came], [went] = noted(Kind.SIGNED_IN), noted(Kind.SIGNED_OUT)
        assert (came.user, came.username, came.address) == (reader, "reader", "203.0.113.9")
        assert went.username == "reader"

    def test_failed_sign_in_is_recorded_without_the_input(self, reader: User) -> None:
        Client().post("/login/", {**RIGHT, "password": "hunter2"})
        Client().post("/login/", {"username": "my-password-77", "password": ""})
        Client().post("/login/", {"username": "my-password-77", "password": "x"})

        assert [event.subject for event in noted(Kind.SIGN_IN_FAILED)] == ["reader", ""]
        stored = json.dumps(list(Event.objects.values("subject", "username", "details")))
        assert "hunter2" not in stored
        assert "my-password-77" not in stored

    def test_lock_is_recorded(self, reader: User, settings: Any) -> None:
        settings.AXES_FAILURE_LIMIT = 2
        for _ in range(2):
            Client().post("/login/", {**RIGHT, "password": "guessed"})
        assert [event.subject for event in noted(Kind.LOCKED_OUT)] == ["reader"]

    def test_the_deleted_users_name_remains(self, reader: User) -> None:
        Client().post("/login/", RIGHT)
        reader.delete()
        [event] = noted(Kind.SIGNED_IN)
        event.refresh_from_db()
        assert event.username == "reader"


class TestRights:
    def test_changed_rights_of_a_user_are_recorded(self, desk: Client, reader: User) -> None:
        group = Group.objects.create(name="insiders")
        client, address = desk, f"/admin/accounts/user/{reader.pk}/change/"
        data = form_data(client.get(address), "user_form")
        client.post(address, {**data, "groups": [group.pk], "is_staff": "on"})

        events = noted(Kind.RIGHTS)[-2:]
        assert {event.username for event in events} == {"administrator"}
        assert [event.subject for event in events] == ["reader", "reader"]
        assert [event.details for event in events] == [{"is_staff": True}, {"add": ["insiders"]}]

    def test_passwords_and_tokens_are_recorded_without_secrets(self, reader: User) -> None:
        _, token = tokens.make(reader, name="Robot", scopes=["read"])
        reader.set_password("another-long-one-77")
        reader.save()

        events = noted(Kind.CREDENTIALS)
        assert events[0].details["token_made"] == "Robot"
        assert {"changed": ["password"], "by": "command"} in [event.details for event in events]
        stored = json.dumps(list(Event.objects.values("subject", "details")))
        assert token not in stored
        assert reader.password not in stored

    def test_deleted_group_is_recorded(self, desk: Client) -> None:
        group = Group.objects.create(name="insiders")
        desk.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"})
        [event] = noted(Kind.DELETED)
        assert (event.username, event.subject) == ("administrator", "insiders")

    def test_an_unchanged_user_leaves_no_event(self, reader: User) -> None:
        before = Event.objects.count()
        reader.first_name = "R"
        reader.save()
        assert Event.objects.count() == before


class TestExports:
    def test_exports_of_a_collection_and_own_data_are_recorded(self, desk: Client) -> None:
        make_collection("Handbook")
        b"".join(desk.get("/api/v1/collections/handbook/export/").streaming_content)  # type: ignore[arg-type]
        desk.get("/me/export/")
        assert [event.subject for event in noted(Kind.EXPORTED)] == ["Handbook", "administrator"]


class TestTheTrail:
    def test_superusers_read_and_export_the_audit_trail(self, desk: Client) -> None:
        desk.post("/admin/auth/group/add/", {"name": "crew"})
        page = desk.get(EVENTS).content.decode()
        assert "Export all as JSON lines" in page
        response = desk.get(f"{EVENTS}export/")
        text = b"".join(response.streaming_content).decode()  # type: ignore[arg-type]

        rows = [json.loads(line) for line in text.splitlines()]
        assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
        found = {(row["kind"], row["subject"], row["user"]) for row in rows}
        assert ("added", "crew", "administrator") in found
        assert ("exported", "audit trail", "administrator") in found

    @pytest.mark.parametrize(
        ("details", "words"),
        [
            ({"changed": ["password"], "by": "command"}, "Password changed from the command line"),
            ({"is_staff": False, "is_superuser": True}, "Staff: no; superuser: yes"),
            ({"added": True, "is_active": True}, "Account added; active: yes"),
            ({"add": ["editors", "judges"]}, "Added: editors, judges"),
            ({"token_made": "x", "scopes": ["read"], "limited": False},
             "Scopes: read; limited: no; token “x” made"),
            ({}, "-"),
        ],
    )  # fmt: skip
    def test_details_are_words(self, desk: Client, details: Any, words: str) -> None:
        Event.objects.create(kind=Kind.RIGHTS, subject="anna", details=details)
        page = desk.get(EVENTS, {"q": "anna"}).content.decode()
        (cell,) = re.findall(r'(?s)<td class="field-excerpt.*?</td>', page)
        assert unescape(strip_tags(cell)).strip() == words

    def test_audit_trail_is_read_by_superusers_only_and_never_changed(self, desk: Client) -> None:
        client = signed_in(staff("looker", "view_event", "delete_event"))
        assert client.get(EVENTS).status_code == 403
        assert client.get(f"{EVENTS}export/").status_code == 403

        event = Event.objects.create(kind=Kind.SIGNED_IN)
        assert desk.post(f"{EVENTS}add/", {}).status_code == 403
        assert desk.post(f"{EVENTS}{event.pk}/delete/", {"post": "yes"}).status_code == 403
        desk.post(
            EVENTS, {"action": "delete_selected", "_selected_action": [event.pk], "post": "yes"}
        )
        assert Event.objects.filter(pk=event.pk).exists()

    def test_audit_trail_includes_histories_of_profiles_and_gaps(self, administrator: User) -> None:
        profile = SearchProfile.objects.first()
        ProfileChange.objects.create(
            profile=profile, action="published", user=administrator, reason="Better."
        )
        gap = Gap.objects.create(note="Where is the canary?")
        GapStep.objects.create(gap=gap, kind="closed", user=administrator)
        text = "".join(trail.lines())
        rows = {row["kind"]: row for row in map(json.loads, text.splitlines())}
        published = rows["profile_published"]
        assert (published["user"], published["subject"]) == ("administrator", str(profile))
        assert published["details"]["reason"] == "Better."
        assert rows["gap_closed"]["subject"] == f"gap {gap.pk}"
        assert "canary" not in text

    def test_old_audit_events_are_deleted(self, settings: Any) -> None:
        settings.AUDIT_DAYS = 30
        now = timezone.now()
        for days in (29, 31):
            Event.objects.create(kind=Kind.SIGNED_IN, at=now - timedelta(days=days))
        assert trail.forget(now=now) == 1
