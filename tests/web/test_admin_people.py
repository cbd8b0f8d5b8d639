"""Users, groups and tokens in the admin, the front page, and the rules of the classifier."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission
from knox.models import AuthToken

from common.accounts.models import User
from search.domain import QueryClass
from search.models import ClassRule
from search.pipeline import search
from tests.support.admin_client import form_data, signed_in, staff
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

USERS = "/admin/accounts/user/"
TOKENS = "/admin/knox/authtoken/"
RULES = "/admin/search/classrule/"


class TestUsers:
    @pytest.fixture
    def warden(self, db: None) -> User:
        return staff("warden", "view_user", "add_user", "change_user", "delete_user")

    def test_a_user_is_made_and_put_in_a_group(self, administrator: User) -> None:
        client = signed_in(administrator)
        password = "a-long-enough-one-77"
        data = {"username": "anna", "password1": password, "password2": password}
        client.post(f"{USERS}add/", {**data, "usable_password": "true"})
        anna, group = User.objects.get(username="anna"), Group.objects.create(name="insiders")
        assert anna.check_password(password)
        address = f"{USERS}{anna.pk}/change/"
        data = form_data(client.get(address), "user_form")
        client.post(address, {**data, "groups": [group.pk]})
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
    def test_nobody_takes_over_an_account_that_may_more(self, warden: User, more: str) -> None:
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

    def test_a_password_of_somebody_who_may_no_more_is_set(
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

    def test_get_permissions_that_their_giver_holds(self, keeper: User) -> None:
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

    def test_of_others_are_not_changed_renamed_or_deleted(self, keeper: User) -> None:
        group = Group.objects.create(name="vault")
        client, address = signed_in(keeper), f"{self.GROUPS}{group.pk}/"
        assert client.post(f"{address}change/", {"name": "everyone"}).status_code == 403
        assert client.post(f"{address}delete/", {"post": "yes"}).status_code == 403
        chosen = {"action": "delete_selected", "_selected_action": [group.pk], "post": "yes"}
        client.post(self.GROUPS, chosen)
        assert Group.objects.filter(name="vault").exists()

    def test_superusers_change_all(self, administrator: User) -> None:
        group = Group.objects.create(name="vault")
        wanted = Permission.objects.get(codename="add_document")
        data = {"name": "safe", "permissions": [wanted.pk]}
        signed_in(administrator).post(f"{self.GROUPS}{group.pk}/change/", data)
        group.refresh_from_db()
        assert (group.name, list(group.permissions.all())) == ("safe", [wanted])


class TestTokens:
    def test_are_listed_without_their_key_and_can_be_revoked(self, administrator: User) -> None:
        token, key = AuthToken.objects.create(administrator)
        client = signed_in(administrator)
        text = client.get(TOKENS).content.decode()
        assert "administrator" in text
        assert "1 API token " in " ".join(text.split())
        assert "Knox" not in text
        assert key not in text
        assert token.token_key not in text
        chosen = {"action": "delete_selected", "_selected_action": [token.pk]}
        asked = client.post(TOKENS, chosen).content.decode()
        assert "token of 20" in asked
        assert token.token_key not in asked
        client.post(TOKENS, {**chosen, "post": "yes"})
        assert not AuthToken.objects.exists()

    def test_cannot_be_made_or_changed_here(self, administrator: User) -> None:
        token, _ = AuthToken.objects.create(administrator)
        client = signed_in(administrator)
        assert client.get(f"{TOKENS}add/").status_code == 403
        assert client.post(f"{TOKENS}{token.pk}/change/", {"expiry_0": ""}).status_code == 403


class TestFrontPage:
    def test_counts_what_the_reader_may_see(self, administrator: User) -> None:
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

    def test_shows_nothing_to_those_without_rights(self) -> None:
        response = signed_in(staff("nobody")).get("/admin/")
        assert response.status_code == 200
        assert "library" not in response.context
        assert "ranking" not in response.context

    def test_the_sidebar_holds_what_the_reader_may_open(self) -> None:
        text = signed_in(staff("looker", "view_document")).get("/admin/").content.decode()
        assert "/admin/ingestion/document/" in text
        assert "/admin/accounts/user/" not in text


class TestRules:
    def data(self, **changes: str) -> dict[str, str]:
        return {
            "name": "asks for a price",
            "pattern": r"\bprice of\b",
            "query_class": "lookup",
            "confidence": "0.9",
            "position": "1",
            "enabled": "on",
            **changes,
        }

    def test_a_new_rule_acts_on_the_next_search(self, administrator: User) -> None:
        assert search("price of rope", viewer=None).classification.query_class == "general"
        signed_in(administrator).post(f"{RULES}add/", self.data())
        found = search("price of rope", viewer=None).classification
        assert (found.query_class, found.rule) == (QueryClass.LOOKUP, "asks for a price")

    @pytest.mark.parametrize("changes", [{"pattern": "(unclosed"}, {"confidence": "2"}])
    def test_a_rule_that_cannot_work_is_not_saved(
        self, administrator: User, changes: dict[str, str]
    ) -> None:
        response = signed_in(administrator).post(f"{RULES}add/", self.data(**changes))
        assert set(response.context["adminform"].form.errors) == set(changes)
        assert not ClassRule.objects.filter(name="asks for a price").exists()

    def test_examples_are_checked_when_it_is_saved(self, administrator: User) -> None:
        client = signed_in(administrator)
        data = self.data(examples="price of rope\r\nthe cost, of rope", counter_examples="rope")
        response = client.post(f"{RULES}add/", data)
        (message,) = response.context["adminform"].form.errors["examples"]
        assert message == "The rule does not match its example “the cost, of rope”."
        client.post(f"{RULES}add/", {**data, "examples": "price of rope, please"})
        rule = ClassRule.objects.get(name="asks for a price")
        assert (rule.examples, rule.counter_examples) == (["price of rope, please"], ["rope"])

    def test_a_predicate_stands_in_place_of_a_pattern(self, administrator: User) -> None:
        client = signed_in(administrator)
        both = client.post(f"{RULES}add/", self.data(predicate="is_short"))
        assert "one of the two" in both.context["adminform"].form.errors["pattern"][0]
        client.post(f"{RULES}add/", self.data(pattern="", predicate="is_short"))
        found = search("rope", viewer=None).classification
        assert found.rule == "asks for a price"

    def test_rows_can_be_dragged(self, administrator: User) -> None:
        text = signed_in(administrator).get(RULES).content.decode()
        assert 'data-ordering-field="position"' in text
        assert "The query is one identifier" in text

    def test_order_and_use_are_edited_in_the_list(self, administrator: User) -> None:
        client = signed_in(administrator)
        response = client.get(RULES)
        positions = [rule.position for rule in response.context["cl"].result_list]
        assert positions == sorted(positions)
        data = form_data(response, "changelist-form")
        rule = ClassRule.objects.get(pk=data["form-0-id"])
        data.pop("form-0-enabled")
        client.post(RULES, {**data, "form-0-position": "999", "_save": "Save"})
        rule.refresh_from_db()
        assert (rule.position, rule.enabled) == (999, False)
