"""Documents in the admin: who sees which, how far they are, and what can be done about them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from common.accounts.models import User
from ingestion import services
from ingestion.documents import steps
from ingestion.lexical import terms
from ingestion.models import Chunk, Collection, Document, DocumentVersion, State
from search.pipeline import search
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.factories import make_collection, make_document, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

LIST = "/admin/ingestion/document/"
ALL_RIGHTS = ("view_document", "add_document", "change_document", "delete_document")


def page(document: Document, what: str = "change") -> str:
    return f"{LIST}{document.pk}/{what}/"


@pytest.fixture
def handbook(db: None) -> Collection:
    return make_collection("Handbook")


@pytest.fixture
def secrets(db: None) -> Collection:
    return make_collection("Zugangsliste", visibility="groups", groups=["insiders"], language="de")


@pytest.fixture
def broken(handbook: Collection) -> Document:
    return make_document(handbook, b"%PDF-1.4\ntorn", file_name="Incident report.pdf")


def set_state(document: Document, state: State, **fields: Any) -> None:
    DocumentVersion.objects.filter(pk=document.latest_id).update(state=state, **fields)


class TestList:
    def test_shows_title_collection_state_chunks_and_size(
        self, handbook: Collection, administrator: User
    ) -> None:
        text_of_35_bytes = "# Quorums\n\nA majority of the nodes."
        make_document(handbook, text_of_35_bytes)
        text = signed_in(administrator).get(LIST).content.decode()
        for shown in ("Quorums", "Handbook", "Ready", "35\xa0bytes"):
            assert shown in text

    def test_shows_the_beginning_of_the_error(self, broken: Document, administrator: User) -> None:
        text = signed_in(administrator).get(LIST).content.decode()
        assert "Failed" in text
        assert "This PDF is damaged and cannot be opened." in text

    def test_asks_as_many_queries_for_many_documents_as_for_few(
        self, handbook: Collection, administrator: User
    ) -> None:
        client = signed_in(administrator)

        def queries() -> int:
            with CaptureQueriesContext(
                connection,
            ) as captured:
                assert client.get(LIST).status_code == 200
            return len(captured)

        for number in range(2):
            upload(handbook, f"# One of few {number}\n", file_name=f"few{number}.md")
        queries()  # what a process asks only once
        few = queries()
        for number in range(10):
            upload(handbook, f"# One of many {number}\n", file_name=f"many{number}.md")
        assert queries() == few

    def test_reads_no_text_of_any_version(self, handbook: Collection, administrator: User) -> None:
        make_document(handbook, "# Long\n\nA very long text.\n")
        client = signed_in(administrator)
        for address in (LIST, page(Document.objects.get()), f"{LIST}progress/?id=1"):
            with CaptureQueriesContext(connection) as captured:
                client.get(address)
            asked = "\n".join(query["sql"] for query in captured.captured_queries)
            assert 'ingestion_documentversion"."text"' not in asked
            assert '."text",' not in asked

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("state=failed", {"Incident report"}),
            ("state=ready", {"Vacation"}),
            ("state=unfinished", {"halfway"}),
            ("state=embedding", {"halfway"}),
            ("collection=zugangsliste", {"Vacation"}),
            ("language=de", {"Vacation"}),
            ("type=application/pdf", {"Incident report"}),
            ("q=halfway", {"halfway"}),
        ],
    )
    def test_filters_and_searches(
        self,
        handbook: Collection,
        secrets: Collection,
        broken: Document,
        administrator: User,
        query: str,
        expected: set[str],
    ) -> None:
        make_document(secrets, "# Vacation\n\nDer Urlaub beginnt am Montag.\n")
        halfway = upload(handbook, "# x\n", file_name="halfway.md").document
        set_state(halfway, State.EMBEDDING)
        response = signed_in(administrator).get(f"{LIST}?{query}")
        assert {row.title for row in response.context["cl"].result_list} == expected


class TestVisibility:
    @pytest.fixture
    def hidden(self, secrets: Collection) -> Document:
        return make_document(secrets, "# Tresor\n\nDer Schluessel liegt unten.\n")

    @pytest.fixture
    def librarian(self, db: None) -> User:
        return staff("librarian", *ALL_RIGHTS, "view_collection", "change_collection")

    def test_staff_without_membership_find_no_trace(
        self, hidden: Document, librarian: User
    ) -> None:
        client = signed_in(librarian)
        for address in (
            LIST, f"{LIST}?q=Tres", f"{LIST}?collection=zugangsliste", f"{LIST}add/", "/admin/",
            "/admin/ingestion/collection/",
        ):  # fmt: skip
            text = client.get(address).content.decode()
            assert not [trace for trace in ("Tresor", "Zugangsliste") if trace in text]
        assert "German" not in client.get(LIST).content.decode()  # nor a filter's choice

    @pytest.mark.parametrize("what", ["change", "delete", "history"])
    def test_its_pages_answer_as_if_it_did_not_exist(
        self, hidden: Document, librarian: User, what: str
    ) -> None:
        client = signed_in(librarian)
        there, nowhere = client.get(page(hidden, what)), client.get(f"{LIST}987654/{what}/")
        assert there.status_code == nowhere.status_code == 302
        assert there.headers["Location"] == nowhere.headers["Location"] == "/admin/"

    def test_nothing_can_be_done_to_it(self, hidden: Document, librarian: User) -> None:
        client = signed_in(librarian)
        for what in ("retry", "reprocess"):
            assert client.post(page(hidden, what)).status_code == 404
        for action in ("retry_selected", "reprocess_selected", "delete_selected"):
            client.post(LIST, {"action": action, "_selected_action": [hidden.pk], "post": "yes"})
        assert hidden.versions.count() == 1
        assert client.get(f"{LIST}progress/?id={hidden.pk}").json() == {"rows": []}

    def test_a_member_sees_it(self, hidden: Document) -> None:
        insider = staff("insider", "view_document", groups=("insiders",))
        text = signed_in(insider).get(f"{LIST}?language=de").content.decode()
        assert "Tresor" in text
        assert "Zugangsliste" in text
        assert "German" in text


class TestPage:
    def test_says_what_went_wrong_and_what_to_do(
        self, broken: Document, administrator: User
    ) -> None:
        text = signed_in(administrator).get(page(broken)).content.decode()
        assert broken.latest is not None
        assert broken.latest.error in text
        assert "correct the file, upload it" in text
        assert page(broken, "retry") in text

    def test_lists_the_versions_and_links_to_the_text(
        self, handbook: Collection, administrator: User
    ) -> None:
        document = make_document(handbook, "# Quorums\n\nA majority.\n", file_name="quorums.md")
        client = signed_in(administrator)
        client.post(page(document, "reprocess"))
        response = client.get(page(document))
        assert [row.version.number for row in response.context["status"].versions] == [2, 1]
        assert [row.is_current for row in response.context["status"].versions] == [False, True]
        assert document.get_absolute_url() in response.content.decode()

    def test_a_version_that_failed_is_not_offered_as_the_current_one(
        self, handbook: Collection, administrator: User
    ) -> None:
        document = make_document(handbook, "# Quorums\n\nA majority.\n", file_name="quorums.md")
        client = signed_in(administrator)
        torn = SimpleUploadedFile("quorums.pdf", b"%PDF-1.4\ntorn")
        client.post(page(document, "new-version"), {"file": torn})
        steps.advance(document.versions.get(number=2).pk)
        failed, current = client.get(page(document)).context["status"].versions
        assert (failed.version.state, current.is_current) == (State.FAILED, True)
        assert not failed.can_come_back
        document.versions.filter(number=2).update(state=State.READY)
        read, _ = client.get(page(document)).context["status"].versions
        assert read.can_come_back

    def test_a_reader_may_look_and_not_touch(self, broken: Document) -> None:
        client = signed_in(staff("looker", "view_document"))
        response = client.get(page(broken))
        assert response.status_code == 200
        assert page(broken, "retry") not in response.content.decode()
        assert client.post(page(broken, "retry")).status_code == 403
        assert client.post(page(broken), {"title": "Mine"}).status_code == 403
        broken.refresh_from_db()
        assert broken.title == "Incident report"


class TestProgress:
    def test_tells_how_far_each_visible_document_is(
        self, handbook: Collection, administrator: User
    ) -> None:
        document = upload(handbook, "# Half\n", file_name="half.md").document
        set_state(document, State.EMBEDDING, progress=0.42)
        address = f"{LIST}progress/?id={document.pk}&id=nonsense&id=-3"
        (row,) = signed_in(administrator).get(address).json()["rows"]
        assert "data-unfinished" in row["cells"]["state"]
        assert "42%" in row["cells"]["state"]
        assert "Embedding" in row["cells"]["state"]
        set_state(document, State.QUEUED)
        steps.advance(document.latest_id)  # type: ignore[arg-type]
        (row,) = signed_in(administrator).get(address).json()["rows"]
        assert "data-unfinished" not in row["cells"]["state"]
        assert "Ready" in row["cells"]["state"]
        assert "Half" in row["cells"]["title"]

    def test_is_refused_without_the_right_to_see_documents(self) -> None:
        assert signed_in(staff("nobody")).get(f"{LIST}progress/").status_code == 403


class TestActions:
    def test_retry_queues_what_failed_and_leaves_the_rest(
        self, handbook: Collection, broken: Document, administrator: User
    ) -> None:
        ready = make_document(handbook, "# Fine\n\nAll is well.\n")
        response = signed_in(administrator).post(
            LIST, {"action": "retry_selected", "_selected_action": [broken.pk, ready.pk]}
        )
        assert "1 document was queued again" in said(response)
        states = {d.title: d.latest.state for d in Document.objects.all() if d.latest}
        assert states == {"Incident report": State.QUEUED, "Fine": State.READY}

    def test_retry_of_nothing_says_so(self, handbook: Collection, administrator: User) -> None:
        ready = make_document(handbook, "# Fine\n\nAll is well.\n")
        assert "nothing to retry" in said(signed_in(administrator).post(page(ready, "retry")))

    def test_reprocess_keeps_the_present_chunks_until_the_new_are_ready(
        self, handbook: Collection, administrator: User
    ) -> None:
        document = make_document(handbook, "# Fine\n\nAll is well.\n")
        response = signed_in(administrator).post(
            LIST, {"action": "reprocess_selected", "_selected_action": [document.pk]}
        )
        assert "until then, search uses its current passages" in said(response)
        document.refresh_from_db()
        assert document.latest_id != document.current_id
        assert Chunk.objects.visible_to(None).filter(version=document.current_id).exists()

    @pytest.mark.parametrize("what", ["retry", "reprocess"])
    def test_a_link_alone_does_nothing(
        self, broken: Document, administrator: User, what: str
    ) -> None:
        assert signed_in(administrator).get(page(broken, what)).status_code == 405

    def test_delete_asks_with_the_counts_and_removes_everything(
        self, handbook: Collection, administrator: User
    ) -> None:
        document = make_document(handbook, "# Gone\n\nSoon gone.\n")
        assert document.latest is not None
        stored = document.latest.file.name
        client = signed_in(administrator)
        asked = client.get(page(document, "delete"))
        assert asked.context["model_count"]
        assert dict(asked.context["model_count"])["chunks"] == 1
        client.post(page(document, "delete"), {"post": "yes"})
        assert not Document.objects.kept().exists()
        assert not Chunk.objects.filter(searchable=True).exists()
        terms.fold()
        assert not search("soon gone", viewer=None).results
        entries = LogEntry.objects.filter(object_repr="Gone", user=administrator)
        assert [entry.change_message for entry in entries] == ["Put in the bin"]
        assert default_storage.exists(stored)  # until the transaction of this test would end

    @pytest.mark.django_db(transaction=True)
    def test_delete_of_a_selection_removes_the_stored_files(
        self, handbook: Collection, administrator: User
    ) -> None:
        documents = [upload(handbook, f"# {n}\n", file_name=f"{n}.md").document for n in range(2)]
        names = [document.latest.file.name for document in documents if document.latest]
        signed_in(administrator).post(
            LIST,
            {
                "action": "delete_selected",
                "_selected_action": [document.pk for document in documents],
                "post": "yes",
            },
        )
        assert not Document.objects.kept().exists()
        with override_settings(DELETION_GRACE_DAYS=0):
            services.purge_bin()
        assert not Document.objects.exists()
        assert [name for name in names if default_storage.exists(name)] == []

    def test_delete_needs_the_right(self, broken: Document) -> None:
        client = signed_in(staff("editor", "view_document", "change_document"))
        assert client.post(page(broken, "delete"), {"post": "yes"}).status_code == 403
        client.post(
            LIST, {"action": "delete_selected", "_selected_action": [broken.pk], "post": "yes"}
        )
        assert Document.objects.filter(pk=broken.pk).exists()


class TestTitleAndLanguage:
    def save(self, user: User, document: Document, **changes: str) -> Any:
        client = signed_in(user)
        data = form_data(client.get(page(document)), "document_form")
        return client.post(page(document), {**data, **changes})

    def test_a_new_title_is_shown_at_once_and_found_once_processed(
        self, handbook: Collection, administrator: User
    ) -> None:
        document = make_document(handbook, "# Notes\n\nA majority of the nodes.\n")
        self.save(administrator, document, title="Palaver")
        document.refresh_from_db()
        assert (document.title, document.title_given) == ("Palaver", True)
        assert document.latest_id != document.current_id
        assert not [r.title for r in search("palaver", viewer=None).results if not r.text]
        steps.advance(document.latest_id)  # type: ignore[arg-type]
        terms.fold()
        assert [r.title for r in search("palaver", viewer=None).results] == ["Palaver"]

    def test_a_version_under_way_does_not_bring_the_old_title_back(
        self, handbook: Collection, administrator: User
    ) -> None:
        document = upload(handbook, "# Notes\n\nA majority.\n").document
        first = document.latest_id
        self.save(administrator, document, title="Palaver")
        assert not steps.advance(first)  # type: ignore[arg-type]
        document.refresh_from_db()
        steps.advance(document.latest_id)  # type: ignore[arg-type]
        document.refresh_from_db()
        assert document.title == "Palaver"
        assert document.latest is not None
        assert document.latest.state == State.READY

    def test_an_empty_title_gives_the_files_own_back(
        self, handbook: Collection, administrator: User
    ) -> None:
        document = make_document(handbook, "# Notes\n\nA majority.\n", title="Palaver")
        self.save(administrator, document, title="")
        document.refresh_from_db()
        assert (document.title, document.title_given) == ("note", False)
        steps.advance(document.latest_id)  # type: ignore[arg-type]
        document.refresh_from_db()
        assert document.title == "Notes"

    def test_a_given_language_decides_how_words_match(
        self, handbook: Collection, administrator: User
    ) -> None:
        document = make_document(handbook, "# Urlaub\n\nZwei Häuser am See.\n")
        self.save(administrator, document, language="de")
        document.refresh_from_db()
        steps.advance(document.latest_id)  # type: ignore[arg-type]
        configs = Chunk.objects.filter(document=document, searchable=True)
        assert set(configs.values_list("text_config", flat=True)) == {"german"}

    def test_saving_without_a_change_processes_nothing(
        self, handbook: Collection, administrator: User
    ) -> None:
        document = make_document(handbook, "# Notes\n\nA majority.\n")
        self.save(administrator, document)
        document.refresh_from_db()
        assert document.versions.count() == 1
        assert not document.title_given
        assert not document.language_given

    def test_the_change_is_in_the_history(self, handbook: Collection, administrator: User) -> None:
        document = make_document(handbook, "# Notes\n\nA majority.\n")
        self.save(administrator, document, title="Palaver", language="de")
        text = signed_in(administrator).get(page(document, "history")).content.decode()
        assert text.count("Changed title and language") == 1


def test_the_list_is_where_reverse_says() -> None:
    assert reverse("admin:ingestion_document_changelist") == LIST
