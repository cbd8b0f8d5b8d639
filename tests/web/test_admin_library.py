"""Collections and identifier patterns in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.test import Client

from common.accounts.models import User
from ingestion.models import Chunk, Collection, Document, IdentifierPattern
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.database import statements
from tests.support.factories import make_collection, make_document, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

COLLECTIONS = "/admin/ingestion/collection/"
PATTERNS = "/admin/ingestion/identifierpattern/"
NEW = {"name": "New", "visibility": "public", "chunk_tokens": "200", "overlap_tokens": "20"}


def errors(response: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = response.context["adminform"].form.errors
    return found


class TestCollections:
    def test_a_collection_is_made_with_a_slug_and_groups(self, desk: Client) -> None:
        group = Group.objects.create(name="insiders")
        named = {"name": "Field notes", "visibility": "groups", "groups": [group.pk]}
        desk.post(f"{COLLECTIONS}add/", {**NEW, **named})
        made = Collection.objects.get()
        assert (made.slug, list(made.groups.all())) == ("field-notes", [group])

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"chunk_tokens": "10"}, "chunk_tokens"),
            ({"chunk_tokens": "9000"}, "chunk_tokens"),
            ({"overlap_tokens": "150"}, "__all__"),
            ({"visibility": "groups"}, "groups"),
            ({"language": "klingon"}, "language"),
            ({"name": ""}, "name"),
        ],
    )
    def test_what_cannot_be_is_refused_with_a_reason(
        self, desk: Client, changes: dict[str, str], field: str
    ) -> None:
        response = desk.post(f"{COLLECTIONS}add/", {**NEW, **changes})
        assert field in errors(response)
        assert not Collection.objects.exists()

    def test_staff_cannot_lock_themselves_out(self) -> None:
        keeper = staff("keeper", "view_collection", "change_collection", groups=("keepers",))
        collection = make_collection()
        other = Group.objects.create(name="others")
        client, address = signed_in(keeper), f"{COLLECTIONS}{collection.pk}/change/"
        data = form_data(client.get(address), "collection_form")
        data |= {"visibility": "groups", "groups": [other.pk]}
        assert "lose access" in str(errors(client.post(address, data)))
        client.post(address, {**data, "groups": [other.pk, keeper.groups.get().pk]})
        collection.refresh_from_db()
        assert collection.visibility == "groups"

    def test_the_list_counts_documents_chunks_and_what_needs_a_look(self, desk: Client) -> None:
        collection = make_collection()
        make_document(collection, "# One\n\nA chunk.\n")
        make_document(collection, b"%PDF-1.4\ntorn", file_name="torn.pdf")
        upload(collection, "# Waiting\n", file_name="waiting.md")
        (row,) = desk.get(COLLECTIONS).context["cl"].result_list
        counts = (row.document_count, row.chunk_count, row.failed_count, row.waiting_count)
        assert counts == (3, 1, 1, 1)

    def test_the_list_asks_no_more_queries_for_more_collections(self, desk: Client) -> None:
        make_collection("First", visibility="groups", groups=["insiders"])
        desk.get(COLLECTIONS)
        few = statements(lambda: desk.get(COLLECTIONS))
        for number in range(8):
            make_collection(f"Other {number}", visibility="groups", groups=["insiders"])
        assert statements(lambda: desk.get(COLLECTIONS)) == few

    def test_new_chunk_sizes_say_that_documents_keep_their_chunks(self, desk: Client) -> None:
        collection = make_collection()
        document = make_document(collection, "# One\n\nA chunk.\n")
        client, address = desk, f"{COLLECTIONS}{collection.pk}/change/"
        data = form_data(client.get(address), "collection_form")
        response = client.post(address, {**data, "chunk_tokens": "100"})
        assert "keeps its passages" in said(response)
        document.refresh_from_db()
        assert document.versions.count() == 1

        response = client.post(
            COLLECTIONS, {"action": "reprocess_all", "_selected_action": [collection.pk]}
        )
        assert "1 document was queued" in said(response)
        assert document.versions.count() == 2

    def test_deletion_names_the_counts_and_goes_through_the_service(
        self, administrator: User, desk: Client
    ) -> None:
        collection = make_collection()
        make_document(collection, "# One\n\nA chunk.\n")
        client, address = desk, f"{COLLECTIONS}{collection.pk}/delete/"
        counts = dict(client.get(address).context["model_count"])
        assert counts == {"collections": 1, "documents": 1, "chunks": 1}
        client.post(address, {"post": "yes"})
        assert not Document.objects.visible_to(administrator).exists()
        assert not Chunk.objects.visible_to(administrator).exists()
        assert LogEntry.objects.filter(object_repr="Handbook").count() == 1

    def test_deletion_with_documents_needs_the_right_to_delete_documents(self) -> None:
        keeper = staff("keeper", "view_collection", "delete_collection")
        collection = make_collection()
        upload(collection, "# One\n")
        client, address = signed_in(keeper), f"{COLLECTIONS}{collection.pk}/delete/"
        assert client.post(address, {"post": "yes"}).status_code == 403
        assert Collection.objects.exists()


class TestIdentifierPatterns:
    def data(self, **changes: str) -> dict[str, str]:
        return {
            "name": "Ticket",
            "regex": r"TCK-[0-9]{3,6}",
            "normaliser": "code",
            "examples": "TCK-100\nTCK-23456",
            "counter_examples": "TICK-1",
            "position": "5",
            "enabled": "on",
            **changes,
        }

    def test_examples_are_lines_and_the_page_says_what_a_change_reaches(self, desk: Client) -> None:
        response = desk.post(f"{PATTERNS}add/", self.data())
        assert response.status_code == 302, errors(response)
        pattern = IdentifierPattern.objects.get(name="Ticket")
        assert pattern.examples == ["TCK-100", "TCK-23456"]
        assert "after they are reprocessed" in said(response)

    @pytest.mark.parametrize(
        "changes",
        [
            {"examples": "ABC-1"},
            {"counter_examples": "TCK-123"},
            {"regex": "TCK-["},
            {"examples": ""},
            {"normaliser": "none of them"},
        ],
    )
    def test_a_pattern_that_contradicts_itself_is_not_saved(
        self, desk: Client, changes: dict[str, str]
    ) -> None:
        response = desk.post(f"{PATTERNS}add/", self.data(**changes))
        assert errors(response)
        assert not IdentifierPattern.objects.filter(name="Ticket").exists()

    def test_it_is_tried_before_it_is_saved(self, desk: Client) -> None:
        data = {**self.data(), "question": "Is TCK-4711 done?"}
        shown = desk.post(f"{PATTERNS}try/", data).content.decode()
        assert "tck4711" in shown
        assert "<td>Ticket</td><td>Code</td>" in shown  # a shipped pattern would have it, too
        assert not IdentifierPattern.objects.filter(name="Ticket").exists()
        wrong = desk.post(f"{PATTERNS}try/", self.data(examples="ABC-1")).content.decode()
        assert "cannot be saved" in wrong
        assert (
            signed_in(staff("looker", "view_identifierpattern"))
            .post(f"{PATTERNS}try/", data)
            .status_code
            == 403
        )

    def test_what_it_finds_in_prose_is_said(self, desk: Client) -> None:
        plain = {"regex": "[0-9]{4}", "normaliser": "lower", "examples": "1234"}
        data = self.data(**plain, counter_examples="", position="900")
        response = desk.post(f"{PATTERNS}add/", data)
        assert "in ordinary prose" in said(response)

    def test_a_shipped_pattern_survives_being_saved(self, desk: Client) -> None:
        for pattern in IdentifierPattern.objects.all():
            address = f"{PATTERNS}{pattern.pk}/change/"
            response = desk.post(address, form_data(desk.get(address), "identifierpattern_form"))
            assert response.status_code == 302, errors(response)
            again = IdentifierPattern.objects.get(pk=pattern.pk)
            assert again.as_pattern() == pattern.as_pattern()

    def test_the_list_is_ordered_by_position_and_edited_in_place(self, desk: Client) -> None:
        response = desk.get(PATTERNS)
        positions = [pattern.position for pattern in response.context["cl"].result_list]
        assert positions == sorted(positions)
        data = form_data(response, "changelist-form")
        first = IdentifierPattern.objects.get(pk=data["form-0-id"])
        desk.post(PATTERNS, {**data, "form-0-position": "999", "_save": "Save"})
        first.refresh_from_db()
        assert first.position == 999
