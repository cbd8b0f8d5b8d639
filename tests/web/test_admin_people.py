"""Users, groups and tokens in the admin, the front page, and the rules of the classifier."""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from html import unescape

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags
from knox.models import AuthToken

from common.accounts.models import User
from common.admin.charts import line
from search.analytics.models import SearchEvent
from search.domain import QueryClass
from search.models import ClassRule, SearchProfile
from search.pipeline import search
from search.tuning import judging
from search.tuning.models import ProfileChange
from tests.support.admin_client import form_data, signed_in, staff
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

USERS = "/admin/accounts/user/"
LISTS = "/admin/ingestion/document/"
TOKENS = "/admin/knox/authtoken/"
RULES = "/admin/search/classrule/"


class TestUsers:
    @pytest.fixture
    def warden(self, db: None) -> User:
        return staff("warden", "view_user", "add_user", "change_user", "delete_user")

    def test_a_user_is_made_and_put_in_a_group(self, desk: Client) -> None:
        password = "a-long-enough-one-77"
        data = {"username": "anna", "password1": password, "password2": password}
        desk.post(f"{USERS}add/", {**data, "usable_password": "true"})
        anna, group = User.objects.get(username="anna"), Group.objects.create(name="insiders")
        assert anna.check_password(password)
        address = f"{USERS}{anna.pk}/change/"
        data = form_data(desk.get(address), "user_form")
        desk.post(address, {**data, "groups": [group.pk]})
        assert list(anna.groups.all()) == [group]

    def test_staff_cannot_make_themselves_superusers(self, warden: User) -> None:
        client, address = signed_in(warden), f"{USERS}{warden.pk}/change/"
        data = form_data(client.get(address), "user_form")
        client.post(address, {**data, "is_superuser": "on", "first_name": "W"})
        warden.refresh_from_db()
        assert (warden.first_name, warden.is_superuser) == ("W", False)

    def test_staff_cannot_touch_a_superuser(self, warden: User, administrator: User) -> None:
        client = signed_in(warden)
        for what in ("change", "password", "delete"):
            response = client.post(f"{USERS}{administrator.pk}/{what}/", {"post": "yes"})
            assert response.status_code == 403
        chosen = {"action": "delete_selected", "_selected_action": [administrator.pk]}
        client.post(USERS, {**chosen, "post": "yes"})
        assert User.objects.filter(pk=administrator.pk).exists()

    def test_groups_that_open_collections_are_given_by_their_members_only(
        self, warden: User, reader: User
    ) -> None:
        vault = Group.objects.create(name="vault")
        crew = Group.objects.create(name="crew")
        warden.groups.add(crew)
        reader.groups.add(vault)
        client = signed_in(warden)
        for person, kept in ((warden, {crew}), (reader, {vault, crew})):
            address = f"{USERS}{person.pk}/change/"
            page = client.get(address)
            assert "vault" not in page.content.decode()
            data = form_data(page, "user_form")
            wanted = [crew.pk, vault.pk] if person == warden else [crew.pk]
            client.post(address, {**data, "groups": wanted})
            client.post(address, {**data, "groups": [crew.pk]})
            assert set(person.groups.all()) == kept, person
        data = form_data(client.get(f"{USERS}{reader.pk}/change/"), "user_form")
        client.post(f"{USERS}{reader.pk}/change/", {**data, "groups": []})
        assert set(reader.groups.all()) == {vault}

    @pytest.mark.parametrize("more", ["group", "permission", "group's permission"])
    def test_staff_cannot_take_over_an_account_with_more_rights(
        self, warden: User, more: str
    ) -> None:
        person = staff("person", *(["add_document"] if more == "permission" else []))
        if more != "permission":
            group = Group.objects.create(name="vault")
            person.groups.add(group)
            if more == "group's permission":
                warden.groups.add(group)
                group.permissions.add(Permission.objects.get(codename="add_document"))
                group.user_set.remove(warden)
        client, address = signed_in(warden), f"{USERS}{person.pk}/"
        new = {"password1": "a-long-enough-one-77", "password2": "a-long-enough-one-77"}
        response = client.post(f"{address}password/", {**new, "usable_password": "true"})
        assert response.status_code == 403
        data = form_data(client.get(f"{address}change/"), "user_form")
        changed = {"email": "warden@example.org", "username": "mine", "first_name": "P"}
        without = {name: data[name] for name in data if name not in ("is_active", "is_staff")}
        client.post(f"{address}change/", {**without, **changed})
        person.refresh_from_db()
        assert (person.is_active, person.is_staff) == (True, True)
        assert client.post(f"{address}delete/", {"post": "yes"}).status_code == 403
        assert (person.first_name, person.username, person.email) == ("P", "person", None)
        assert person.check_password("pw-person")

    def test_staff_can_set_the_password_of_an_account_with_fewer_rights(
        self, warden: User, reader: User
    ) -> None:
        new = {"password1": "a-long-enough-one-77", "password2": "a-long-enough-one-77"}
        address = f"{USERS}{reader.pk}/password/"
        signed_in(warden).post(
            address, {**new, "usable_password": "true", "set-password": "Change password"}
        )
        reader.refresh_from_db()
        assert reader.check_password("a-long-enough-one-77")

    def test_deleting_a_user_names_no_document_that_the_reader_may_not_see(
        self, warden: User
    ) -> None:
        secret = make_collection("Zugangsliste", visibility="groups", groups=["insiders"])
        insider = staff("insider", "add_document", groups=("insiders",))
        from ingestion import services

        document = make_document(secret, "# Tresor\n\nDer Schluessel.\n")
        services.reprocess([document], acting_user=insider)
        insider.groups.clear()  # who holds more than the reader cannot be deleted by them
        insider.user_permissions.clear()
        text = signed_in(warden).get(f"{USERS}{insider.pk}/delete/").content.decode()
        assert "insider" in text
        assert "Tresor" not in text


class TestGroups:
    GROUPS = "/admin/auth/group/"

    @pytest.fixture
    def keeper(self, db: None) -> User:
        return staff("keeper", "view_group", "add_group", "change_group", "delete_group")

    def test_groups_get_only_permissions_of_their_editor(self, keeper: User) -> None:
        held, other = (
            Permission.objects.get(codename=name) for name in ("view_group", "add_document")
        )
        group = Group.objects.create(name="crew")
        group.permissions.add(other)
        keeper.groups.add(group)
        other.group_set.clear()  # the keeper must not hold it by way of the group
        elsewhere = Permission.objects.get(codename="delete_document")
        client, address = signed_in(keeper), f"{self.GROUPS}{group.pk}/change/"
        client.post(address, {"name": "crew", "permissions": [elsewhere.pk]})
        assert not group.permissions.exists()
        client.post(address, {"name": "crew", "permissions": [held.pk]})
        assert list(group.permissions.all()) == [held]

    def test_foreign_groups_are_changed_by_superusers_only(
        self, keeper: User, desk: Client
    ) -> None:
        group = Group.objects.create(name="vault")
        client, address = signed_in(keeper), f"{self.GROUPS}{group.pk}/"
        assert client.post(f"{address}change/", {"name": "everyone"}).status_code == 403
        assert client.post(f"{address}delete/", {"post": "yes"}).status_code == 403
        chosen = {"action": "delete_selected", "_selected_action": [group.pk], "post": "yes"}
        client.post(self.GROUPS, chosen)
        assert Group.objects.filter(name="vault").exists()

        wanted = Permission.objects.get(codename="add_document")
        data = {"name": "safe", "permissions": [wanted.pk]}
        desk.post(f"{self.GROUPS}{group.pk}/change/", data)
        group.refresh_from_db()
        assert (group.name, list(group.permissions.all())) == ("safe", [wanted])


class TestTokens:
    def test_tokens_are_listed_without_key_and_can_be_revoked(
        self, administrator: User, desk: Client
    ) -> None:
        token, key = AuthToken.objects.create(administrator)
        text = desk.get(TOKENS).content.decode()
        assert "administrator" in text
        assert "1 API token " in " ".join(text.split())
        assert "Knox" not in text
        assert key not in text
        assert token.token_key not in text
        assert desk.get(f"{TOKENS}add/").status_code == 403
        assert desk.post(f"{TOKENS}{token.pk}/change/", {"expiry_0": ""}).status_code == 403
        chosen = {"action": "delete_selected", "_selected_action": [token.pk]}
        asked = desk.post(TOKENS, chosen).content.decode()
        assert "token of 20" in asked
        assert token.token_key not in asked
        desk.post(TOKENS, {**chosen, "post": "yes"})
        assert not AuthToken.objects.exists()


class TestFrontPage:
    def test_front_page_counts_readable_documents_only(self, administrator: User) -> None:
        make_document(make_collection("Handbook"), "# One\n\nA chunk.\n")
        secret = make_collection("Zugangsliste", visibility="groups", groups=["insiders"])
        make_document(secret, "# Two\n\nA chunk.\n")
        make_document(secret, b"%PDF-1.4\ntorn", file_name="Tresor.pdf")
        for user, counts in (
            (administrator, (2, 1, 2)),
            (staff("looker", "view_document"), (1, 0, 1)),
            (staff("insider", "view_document", groups=("insiders",)), (2, 1, 2)),
        ):
            response = signed_in(user).get("/admin/")
            library = response.context["library"]
            assert (library["ready"], library["failed"], library["chunks"]) == counts
            assert ("Tresor" in response.content.decode()) == bool(counts[1])

    def test_front_page_shows_only_permitted_sections(self) -> None:
        response = signed_in(staff("nobody")).get("/admin/")
        assert response.status_code == 200
        assert "library" not in response.context
        assert "ranking" not in response.context

        text = signed_in(staff("looker", "view_document")).get("/admin/").content.decode()
        assert "/admin/ingestion/document/" in text
        assert "/admin/accounts/user/" not in text


class TestRules:
    def data(self, **changes: str) -> dict[str, str]:
        return {
            "name": "asks for a price", "pattern": r"\bprice of\b", "query_class": "lookup",
            "confidence": "0.9", "position": "1", "enabled": "on", **changes,
        }  # fmt: skip

    def test_a_new_rule_acts_on_the_next_search(self, desk: Client) -> None:
        assert search("price of rope", viewer=None).classification.query_class == "general"
        desk.post(f"{RULES}add/", self.data())
        found = search("price of rope", viewer=None).classification
        assert (found.query_class, found.rule) == (QueryClass.LOOKUP, "asks for a price")

    def test_the_list_is_dragged_and_edited_in_place(self, desk: Client) -> None:
        text = desk.get(RULES).content.decode()
        assert 'data-ordering-field="position"' in text
        assert "The query is one identifier" in text

        response = desk.get(RULES)
        positions = [rule.position for rule in response.context["cl"].result_list]
        assert positions == sorted(positions)
        data = form_data(response, "changelist-form")
        rule = ClassRule.objects.get(pk=data["form-0-id"])
        data.pop("form-0-enabled")
        desk.post(RULES, {**data, "form-0-position": "999", "_save": "Save"})
        rule.refresh_from_db()
        assert (rule.position, rule.enabled) == (999, False)


# --- What the admin's pages share: sidebar, overviews, empty lists, how dates are written --------


def test_every_list_is_reached_by_an_entry_or_a_tab(desk: Client) -> None:
    entries = desk.get("/admin/").context["sidebar_navigation"][0]["items"]
    assert len(entries) <= 16
    assert [str(each["title"]) for each in entries if each["active"]] == ["Overview"]
    reached = [str(each["link"]) for each in entries]
    for entry in entries:
        page = desk.get(entry["link"], follow=True)
        assert page.status_code == 200
        items = [each for group in page.context["tab_list"] for each in group["items"]]
        first = [str(each["link"]) for each in items if each["active"]]
        assert first == ([entry["link"]] if items else [])
        reached += [str(each["link"]) for each in items[1:]]
    assert len(reached) == len(set(reached))
    # The only row of a model is its page.
    lists = {link.removesuffix("1/change/") for link in reached}
    registered = {
        reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        for model in admin.site._registry
    }
    assert registered - lists == set()


def test_pages_are_named_as_in_the_menu(desk: Client) -> None:
    for address, name in (
        ("socialaccount/socialaccount/", "Sign-ons"),
        ("ingestion/document/", "Documents"),
        ("search/searchprofile/?shipped=1", "Other systems' rankings"),
        ("ingestion/document/review/", "Due for review"),
    ):
        page = desk.get(f"/admin/{address}")
        (title,) = re.findall(r"(?s)<title>(.*?)</title>", page.content.decode())
        assert unescape(title).split(" | ")[0].strip() == name
        assert page.context["sidebar_navigation"][0]["items"]
    (heading,) = re.findall(r"(?s)<h1.*?</h1>", desk.get(LISTS).content.decode())
    assert strip_tags(heading).split() == ["Documents"]
    # A page below another's path is a place of its own.
    entries = desk.get("/admin/ingestion/document/review/").context["sidebar_navigation"]
    assert [str(each["title"]) for each in entries[0]["items"] if each["active"]] == [
        "Due for review"
    ]


def test_the_menu_leads_staff_to_the_pages_that_they_may_see() -> None:
    helper = signed_in(staff("helper", "view_gap", "view_pin", "change_classrule"))
    page = helper.get("/admin/")
    entries = page.context["sidebar_navigation"][0]["items"]
    assert {str(each["title"]): str(each["link"]) for each in entries} == {
        "Overview": "/admin/",
        "Searches": "/admin/analytics/gap/",
        "Rules": "/admin/search/pin/",
    }
    (tabs,) = helper.get("/admin/search/classrule/").context["tab_list"]
    assert [(str(tab["title"]), tab["active"]) for tab in tabs["items"]] == [
        ("Pins", False),
        ("Classifier rules", True),
    ]
    assert helper.get("/admin/analytics/gap/").context["tab_list"] == []


def test_missing_pages_of_the_admin_keep_its_frame(desk: Client, reader: User) -> None:
    page = desk.get("/admin/nothing/")
    assert page.status_code == 404
    assert 'href="/admin/ingestion/document/"' in page.content.decode()
    for client, address in ((desk, "/nothing/"), (signed_in(reader), "/admin/nothing/")):
        page = client.get(address)
        assert page.status_code in (302, 404)
        assert "/admin/ingestion/" not in page.content.decode()


def test_headings_keep_the_letters_of_data(desk: Client, administrator: User) -> None:
    document = make_document(make_collection("Handbook"), "# Tides\n\nHigh water.\n")
    grade = judging.judge("submarine monsters", [], document, 0, acting_user=administrator)
    page = desk.get(f"/admin/tuning/goldenquery/{grade.query_id}/change/").content.decode()
    (heading,) = re.findall(r"(?s)<h1.*?</h1>", page)
    assert "submarine monsters" in strip_tags(heading)


def test_a_wrong_password_is_said_in_plain_words(client: Client, reader: User) -> None:
    page = client.post("/login/", {"username": "reader", "password": "Pw-reader"})
    assert "The user name or password is wrong. (Capitals count.)" in page.content.decode()


def test_a_document_has_the_name_of_its_file_beside_its_title(desk: Client) -> None:
    handbook = make_collection("Handbook")
    make_document(handbook, "# Tides\n\nHigh water.\n", file_name="low_water.md")
    make_document(handbook, "# Low water\n\nAn ebb.\n", file_name="Low_water.md")
    rows = re.findall(r'(?s)<th class="field-titled.*?</th>', desk.get(LISTS).content.decode())
    assert [" ".join(strip_tags(row).split()) for row in rows] == [
        "Low water",
        "Tides low_water.md",
    ]


def test_pages_are_found_by_words(desk: Client) -> None:
    def links(client: Client, words: str) -> list[str]:
        page = client.get("/admin/search/", {"s": words, "extended": "1"})
        return re.findall(r'href="([^"]+)"', page.content.decode())

    assert links(desk, "Golden") == ["/admin/tuning/goldenquery/"]
    assert links(desk, "people sees") == ["/admin/who-sees/"]
    assert "/admin/search/hide/" in links(desk, "rules")
    assert links(signed_in(staff("helper", "view_gap")), "golden") == []
    assert desk.get("/admin/search/").context["app_label"] == "search"


def test_sign_in_leads_to_the_page_of_the_role(
    client: Client, administrator: User, reader: User
) -> None:
    staff("newcomer")
    for name, place in (("administrator", "/admin/"), ("reader", "/"), ("newcomer", "/")):
        form = {"username": name, "password": f"pw-{name}"}
        assert client.post("/login/", form).headers["Location"] == place, name
        asked = client.post("/login/", {**form, "next": "/threads/"})
        assert asked.headers["Location"] == "/threads/"


def test_the_admin_has_the_sign_in_page_of_the_site(client: Client, reader: User) -> None:
    page = client.get("/admin/ingestion/document/", follow=True)
    assert page.redirect_chain[-1][0] == "/login/?next=/admin/ingestion/document/"
    client.force_login(reader)
    page = client.get("/admin/ingestion/document/", follow=True)
    assert "You are signed in as reader, whose account lacks access" in page.content.decode()


class TestFirstSteps:
    def test_first_steps_are_offered_until_they_are_done(
        self, administrator: User, desk: Client
    ) -> None:
        def steps() -> list[bool]:
            return [step.is_done for step in desk.get("/admin/").context["steps"]]

        assert steps() == [False, False, False, False]
        document = make_document(make_collection("Handbook"), "# Tides\n\nHigh water.\n")
        assert steps() == [True, False, False, False]
        SearchEvent.objects.create(query="tides", folded="tides", total=1, milliseconds=1.0)
        judging.judge("tides", [], document, 3, acting_user=administrator)
        assert steps() == [True, True, True, False]
        profile = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        published = ProfileChange.Action.PUBLISHED
        row = ProfileChange.objects.create(profile=profile, action=published, user=administrator)
        assert steps() == [True, True, True, True]
        row.at -= timedelta(days=8)
        row.save()
        assert steps() == []

    def test_first_steps_need_their_permissions(self) -> None:
        looker = staff("looker", "view_document")
        assert signed_in(looker).get("/admin/").context["steps"] == []

    def test_front_page_shows_the_chosen_period(self, desk: Client) -> None:
        event = SearchEvent.objects.create(query="t", folded="t", total=1, milliseconds=1.0)
        assert desk.get("/admin/").context["searching"]["charts"] == []  # of fewer than seven days
        SearchEvent.objects.filter(pk=event.pk).update(at=timezone.now() - timedelta(days=8))
        page = desk.get("/admin/?days=90")
        assert "in the 90 days since" in page.content.decode()
        assert 'href="?days=90" aria-current="true"' in page.content.decode()
        charts = page.context["searching"]["charts"]
        assert {len(chart.rows) for chart in charts} == {90}
        assert all(chart.y_axis["beginAtZero"] for chart in charts)
        # On the first day there is a single figure, through which no line can be drawn.
        days = [(date(2026, 1, at), x) for at, x in enumerate((0.5, None, None, 0.4, 0.2), 1)]
        drawn = json.loads(line("Share", days).data)["datasets"][0]["pointRadius"]
        assert drawn == [3, 0, 0, 0, 0]
        assert "in the 30 days since" in (desk.get("/admin/?days=1e9").content.decode())


def test_empty_list_explains_its_purpose(desk: Client) -> None:
    text = desk.get("/admin/ingestion/watchedfolder/").content.decode()
    assert "Nothing here yet" in text
    assert "The files of a watched folder become documents" in text
    assert "Add watched folder" in text

    text = desk.get("/admin/search/pin/?q=anchor").content.decode()
    assert "No pin matches “anchor”" in text
    assert "Show all" in text
    assert "Nothing here yet" not in text
