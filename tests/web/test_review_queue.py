"""What waits for a review: the queue and its decisions, mail and feed, and new editions offered."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from smtplib import SMTPDataError, SMTPRecipientsRefused
from typing import Any
from unittest.mock import patch

import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.core.management import call_command
from django.test import Client
from django.utils.html import strip_tags
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion import services
from ingestion.admin import status
from ingestion.documents import processing_steps
from ingestion.documents.currency import declare
from ingestion.documents.restricted_readers import Readers
from ingestion.exporting import restoring, writing
from ingestion.models import Collection, Document
from search.answers.models import AnswerSource
from search.answers.old_sources import old_sources
from search.readers import reviews
from tests.samples.builders import make_zip
from tests.support.admin_client import form_data, said, signed_in, staff
from tests.support.factories import make_collection, make_document, upload
from tests.web.test_currency import DAY, NEW, OLD, TODAY

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "one_day")]

LIST, QUEUE = "/admin/ingestion/document/", "/admin/ingestion/document/review/"


@pytest.fixture
def old(handbook: Collection) -> Document:
    return make_document(handbook, OLD, file_name="policy.md")


@pytest.fixture
def ann(db: None) -> User:
    user = staff("ann", "view_document")
    User.objects.filter(pk=user.pk).update(email="ann@example.org")
    return User.objects.get(pk=user.pk)


def waiting(desk: Client) -> dict[str, list[str]]:
    lists = desk.get(QUEUE).context["lists"]
    return {kind: [each.title for each in rows] for kind, _, _, rows in lists if rows}


def decide(desk: Client, document: Document, do: str, **fields: Any) -> str:
    return said(desk.post(f"{LIST}{document.pk}/decide/", {"do": do, **fields}))


def test_queue_lists_documents_and_records_decisions(
    handbook: Collection, desk: Client, administrator: User, ann: User, old: Document
) -> None:
    assert waiting(desk) == {}
    assert "to review within a month" not in desk.get("/admin/").content.decode()
    declare(old, acting_user=None, review_by=TODAY + DAY, owner=ann)
    assert waiting(desk) == {"due": ["Travel policy"]}
    assert "to review within a month" in desk.get("/admin/").content.decode()
    declare(old, acting_user=None, review_by=TODAY - DAY, owner=None)
    assert waiting(desk) == {"overdue": ["Travel policy"], "unowned": ["Travel policy"]}
    assert "overdue review" in desk.get("/admin/").content.decode()

    assert "not a date" in decide(desk, old, "right", review_by="soon")
    assert "after today" in decide(desk, old, "right", review_by=TODAY)
    assert "Noted" in decide(desk, old, "right", review_by=TODAY + 90 * DAY)
    old.refresh_from_db()
    assert (old.reviewed, old.reviewed_by) == (TODAY, administrator)
    assert waiting(desk) == {"unowned": ["Travel policy"]}

    new = make_document(handbook, NEW, file_name="rules.md")
    assert "not the title of one document" in decide(desk, old, "superseded", newer="Travel\0")
    decide(desk, old, "superseded", newer=f"http://x/documents/{new.public_id}/?q=1")
    old.refresh_from_db()
    assert (old.superseded_by, old.review_by) == (new, None)
    declare(old, acting_user=None, review_by=TODAY)
    services.delete([new], acting_user=None)
    assert waiting(desk)["due"] == ["Travel policy"]  # as it is current again
    services.restore([new], acting_user=None)
    decide(desk, new, "expired")
    new.refresh_from_db()
    assert new.valid_until == TODAY - DAY
    assert waiting(desk) == {}
    assert "Choose what is to be done" in decide(desk, old, "")


def test_viewers_cannot_decide(ann: User, old: Document) -> None:
    client = signed_in(ann)
    declare(old, acting_user=None, review_by=TODAY)
    page = client.get(QUEUE).content.decode()
    assert "Travel policy" in page
    assert "Still right" not in page
    assert client.post(f"{LIST}{old.pk}/decide/", {"do": "expired"}).status_code == 403
    assert signed_in(staff("bob", "view_collection")).get(QUEUE).status_code == 403


def test_document_page_sets_currency_fields(desk: Client, ann: User, old: Document) -> None:
    new = make_document(old.collection, NEW, file_name="rules.md")
    address = f"{LIST}{new.pk}/change/"
    fields = form_data(desk.get(address), "document_form")
    fields |= {"supersedes": [old.pk], "owner": "ann", "review_by": "2199-01-31"}
    assert "was saved" in said(desk.post(address, fields))
    new.refresh_from_db()
    assert (list(new.supersedes.all()), new.owner, str(new.review_by)) == ([old], ann, "2199-01-31")
    assert new.latest is not None
    assert new.latest.number == 1  # nothing is read again
    page = desk.get(f"{LIST}{old.pk}/change/").content.decode()
    assert "Superseded by a newer document" in page
    again = form_data(desk.get(address), "document_form")
    assert (again["owner"], again["supersedes"]) == ("ann", str(old.pk))
    fields = form_data(desk.get(f"{LIST}{old.pk}/change/"), "document_form")
    refused = desk.post(f"{LIST}{old.pk}/change/", {**fields, "supersedes": [new.pk]})
    assert "supersedes this document, so this cannot" in refused.content.decode()
    days = {"valid_from": "2026-02-01", "valid_until": "2026-01-01"}
    assert "before its first" in desk.post(address, {**again, **days}).content.decode()


def test_owners_are_mailed_twice_and_have_a_feed(client: Client, ann: User, old: Document) -> None:
    declare(old, acting_user=None, review_by=TODAY + 5 * DAY, owner=ann)
    assert [reviews.remind(), reviews.remind()] == [1, 0]
    (message,) = mail.outbox
    assert message.to == ["ann@example.org"]
    assert "Travel policy" in message.body
    assert old.get_absolute_url() in message.body
    Document.objects.update(review_by=TODAY - DAY, reminded=TODAY - 20 * DAY)
    assert [reviews.remind(), reviews.remind()] == [1, 0]
    assert "overdue since" in mail.outbox[1].body
    feed = reviews.feed_of(ann)
    assert "Travel policy" in client.get(feed).content.decode()
    cabin = make_collection("Cabin", visibility="groups", groups=["insiders"])
    Document.objects.update(collection=cabin, reminded=None)
    assert reviews.remind() == 0
    assert "Travel policy" not in client.get(feed).content.decode()
    reviews.renew_feed(ann)
    assert client.get(feed).status_code == 404
    ann.refresh_from_db()
    feed = reviews.feed_of(ann)
    assert client.get(feed).status_code == 200
    ann.set_password("another")
    ann.save()
    assert client.get(feed).status_code == 404
    assert client.get(f"{feed[:-8]}x/feed/").status_code == 404


@pytest.mark.parametrize(
    ("error", "tries"),
    [(TimeoutError(), 1), (SMTPRecipientsRefused({}), 2), (SMTPDataError(554, b"spam"), 2)],
)
def test_mail_server_that_fails_is_tried_once_and_a_refused_mail_stops_nobody(
    ann: User, old: Document, error: Exception, tries: int
) -> None:
    other = User.objects.create_user("other", email="other@example.org")
    for owner, file_name in ((ann, "first.md"), (other, "second.md")):
        document = make_document(old.collection, f"{NEW}\n{file_name}\n", file_name=file_name)
        declare(document, acting_user=None, review_by=TODAY + 5 * DAY, owner=owner)
    with patch.object(EmailMessage, "send", side_effect=error) as sent:
        assert reviews.remind() == 0
    assert sent.call_count == tries
    assert reviews.remind() == 2


def test_the_queue_gives_the_feed_another_address(desk: Client, old: Document) -> None:
    def feed() -> str:
        (address,) = re.findall(r'href="(/me/reviews/[^"]+)"', desk.get(QUEUE).content.decode())
        return str(address)

    before = feed()
    desk.post("/me/reviews/renew/")
    assert [desk.get(address).status_code for address in (before, feed())] == [404, 200]


def test_front_matter_sets_currency_and_wrong_values_are_warnings(
    handbook: Collection, ann: User, old: Document
) -> None:
    front = "---\nsupersedes: policy.md\nvalid_from: 2026-01-31\nreview_by: soon\nowner: bob\n---\n"
    new = make_document(handbook, front + NEW, file_name="rules.md", source="rules")
    assert new.current is not None
    assert list(new.supersedes.all()) == [old]
    assert (str(new.valid_from), new.review_by, new.owner) == ("2026-01-31", None, None)
    said_of = " ".join(new.current.warnings)
    assert "“review_by: soon” is not a date. Write 2026-01-31" in said_of
    assert "There is no user “bob”" in said_of
    # What a person sets stays when the file is read again, and when another one states the same.
    declare(new, acting_user=None, valid_from=None, supersedes=[])
    services.reprocess([new], acting_user=None)
    again = make_document(handbook, front + NEW + "\nMore.\n", file_name="rules.md", source="rules")
    assert (again.pk, again.valid_from, again.supersedes.count()) == (new.pk, None, 0)
    toml = '+++\nvalid_until = 2026-02-28\nsupersedes = ["nothing.md"]\n+++\n'
    last = make_document(handbook, toml + NEW, file_name="rules.md", source="rules")
    assert last.current is not None
    assert str(last.valid_until) == "2026-02-28"
    assert "nothing.md" in last.current.warnings[0]


def test_superseding_needs_the_right_to_change(handbook: Collection, old: Document) -> None:
    adder = staff("adder", "add_document")
    front = "---\nsupersedes: policy.md\n---\n"
    new = make_document(handbook, front + NEW, file_name="rules.md", user=adder)  # type: ignore[arg-type]
    assert new.supersedes.count() == 0
    assert new.edition_of == old
    assert new.current is not None
    assert "only a person who may change documents" in new.current.warnings[0]
    # Nor does what comes in an archive or with a message, whoever files that.
    packed = upload(handbook, make_zip({"rules.md": f"{front}Packed.\n"}), file_name="all.zip")
    processing_steps.advance(packed.version.pk)
    part = packed.document.parts.get()
    processing_steps.advance(part.latest_id or 0)
    part.refresh_from_db()
    assert (part.current is None, part.edition_of, part.supersedes.count()) == (False, old, 0)


@pytest.mark.usefixtures("no_worker")
def test_manifest_sets_currency(tmp_path: Path, ann: User, old: Document) -> None:
    (tmp_path / "rules.md").write_text("---\nvalid_from: 2020-01-01\n---\n" + NEW)
    row = {"path": "rules.md", "valid_from": "2026-01-31", "supersedes": ["Travel policy"],
           "owner": "ann@example.org", "valid_until": "31.1.2027", "room": 7}  # fmt: skip
    manifest = tmp_path / "all.jsonl"
    manifest.write_text(json.dumps(row))
    call_command("import_documents", str(manifest), collection="Handbook", stdout=StringIO())
    new = Document.objects.get(title="Travel rules")
    assert (str(new.valid_from), new.owner, new.valid_until) == ("2026-01-31", ann, None)
    assert list(new.supersedes.all()) == [old]
    assert new.metadata == {"room": 7, "owner": "ann@example.org"}
    assert new.current is not None
    assert "“valid_until: 31.1.2027” is not a date" in new.current.warnings[0]
    manifest.write_text(json.dumps(row | {"valid_from": "2026-03-01"}))
    call_command("import_documents", str(manifest), collection="Handbook", stdout=StringIO())
    new.refresh_from_db()
    assert str(new.valid_from) == "2026-03-01"
    # The same list again undoes nothing that a person has decided since.
    declare(new, acting_user=None, valid_from=None, supersedes=[])
    call_command("import_documents", str(manifest), collection="Handbook", stdout=StringIO())
    new.refresh_from_db()
    assert (new.valid_from, new.supersedes.count()) == (None, 0)


class TestEditions:
    def test_document_of_the_same_title_is_only_suggested_as_an_edition(
        self, desk: Client, old: Document
    ) -> None:
        again = make_document(old.collection, OLD.replace("20", "25"), file_name="policy-2.md")
        assert (again.edition_of, old.superseded_by_id) == (old, None)
        assert waiting(desk) == {"editions": ["Travel policy"]}
        for page in (f"{again.pk}/change/", f"progress/?id={again.pk}"):  # and of the upload's
            assert "Perhaps a new edition" in desk.get(f"{LIST}{page}").content.decode()
        assert " · Search it · Perhaps a new edition" in strip_tags(status.links(again))
        assert "perhaps a new edition" in desk.get("/admin/").content.decode()
        queue = desk.get(QUEUE).content.decode()
        assert re.findall(r'<section class="sy-panel" id="(\w+)"', queue)[0] == "editions"
        decide(desk, again, "edition")
        old.refresh_from_db()
        assert (old.superseded_by, waiting(desk)) == (again, {})

    def test_titles_that_differ_in_a_year_or_a_mark_are_suggested_whichever_comes_first(
        self, desk: Client, handbook: Collection, shelf: Collection
    ) -> None:
        def add(title: str, collection: Collection = handbook) -> Document:
            text = f"# {title}\n\nIts own words, {' '.join(reversed(title.split()))}.\n"
            return make_document(collection, text, file_name="a.md", source=f"{title}.md")

        newest = add("Rental terms 2026")
        assert newest.edition_of is None
        oldest = add("Rental terms 2021")
        newest.refresh_from_db()
        assert (newest.edition_of, oldest.edition_of) == (oldest, None)
        middle = add("Rental terms 2023")
        newest.refresh_from_db()
        assert (newest.edition_of, middle.edition_of) == (middle, oldest)
        old, final = add("Car policy (old)"), add("Car policy, final")
        assert final.edition_of == old
        assert add("Rental terms 2027", shelf).edition_of is None
        assert add("Minutes 2026-03-01").edition_of is add("Minutes 2026-04-01").edition_of is None
        titles = [newest.title, middle.title, final.title]
        assert sorted(waiting(desk)["editions"]) == sorted(titles)

    def test_files_of_one_title_are_no_editions_of_each_other(
        self, desk: Client, handbook: Collection
    ) -> None:
        for number in (1, 2, 3):
            text = f"---\ndate: 2026-01-0{number}\n---\n# Read me\n\nOf folder {number}.\n"
            make_document(handbook, text, file_name="readme.md", source=f"{number}/readme.md")
        assert waiting(desk) == {"editions": ["Read me"]}  # the second, of exactly one other

    def test_a_long_series_is_no_row_of_editions(self, desk: Client, handbook: Collection) -> None:
        for number in range(1, 7):
            make_document(
                handbook, f"# Chapter {number}\n\nOf {number} things.\n", file_name=f"{number}.md"
            )
        assert waiting(desk) == {}

    def test_suggestion_can_be_rejected(self, desk: Client, old: Document) -> None:
        again = make_document(old.collection, OLD.replace("20", "25"), file_name="policy-2.md")
        decide(desk, again, "apart")
        again.refresh_from_db()
        assert (again.edition_of, waiting(desk)) == (None, {})

    def test_unreadable_older_edition_is_not_suggested(self, desk: Client, old: Document) -> None:
        services.restrict([old], Readers(), acting_user=None)
        again = make_document(old.collection, OLD.replace("20", "25"), file_name="policy-2.md")
        assert again.edition_of == old
        blind = signed_in(staff("blind", "change_document"))
        for address in (f"{LIST}{again.pk}/change/", "/admin/", QUEUE):
            page = blind.get(address).content.decode()
            assert "erhaps a new edition" not in page
            assert "which is older" not in page
        declare(again, acting_user=None, supersedes=[old])  # which decides it as well
        assert waiting(desk) == {}

    def test_similar_text_is_suggested_as_an_edition(self, handbook: Collection) -> None:
        words = " ".join(f"word{i} of the long text about scales" for i in range(60))
        first = make_document(handbook, f"# First\n\n{words}.\n", file_name="a.md")
        make_document(handbook, NEW, file_name="b.md")
        later = make_document(handbook, f"# Second\n\n{words} again.\n", file_name="c.md")
        assert later.edition_of == first

    def test_other_texts_and_collections_are_not_suggested(
        self, shelf: Collection, old: Document
    ) -> None:
        assert make_document(old.collection, NEW, file_name="rules.md").edition_of is None
        for more in ("More", "Even more"):  # in another collection; as two files of one folder
            assert make_document(shelf, f"{OLD}\n{more}.\n", source=more).edition_of is None
        make_document(old.collection, OLD + "\nA.\n", file_name="a.md", title="Other")
        make_document(old.collection, OLD + "\nB.\n", file_name="b.md", title="Other two")
        third = make_document(old.collection, "# Other\n\nIt says something else.\n")
        assert third.edition_of is not None


def test_exports_contain_currency(ann: User, old: Document, tmp_path: Path) -> None:
    new = make_document(old.collection, NEW, file_name="rules.md")
    declare(new, acting_user=None, supersedes=[old], valid_from=TODAY, owner=ann, review_by=TODAY)
    path = tmp_path / "handbook.zip"
    path.write_bytes(b"".join(writing.export(old.collection)))
    services.purge([old, new])
    restoring.restore(path)
    again = Document.objects.get(public_id=new.public_id)
    assert (again.valid_from, again.review_by, again.owner) == (TODAY, TODAY, ann)
    assert [each.public_id for each in again.supersedes.all()] == [old.public_id]


def test_old_documents_that_most_answers_cite_are_listed(
    desk: Client, api: APIClient, handbook: Collection, administrator: User
) -> None:
    def add(title: str, words: str) -> Document:
        return make_document(handbook, f"# {title}\n\n{words}.\n", file_name="a.md")

    lamps = add("Lamps 2019", "The lamps of the harbour burn for 40 hours")
    ropes = add("Ropes 2021", "The ropes of the harbour are tarred twice a year")
    add("Boats 2026", "The boats of the harbour are painted blue")
    asked = ("How long do the lamps burn?", "Which lamps burn at the harbour?", "ropes tarred",
             "boats painted")  # fmt: skip
    for question in asked:
        assert api.post("/api/v1/answers/", {"q": question}, "json").json()["state"] == "done"
    listed = old_sources(administrator)
    assert [(each.document, each.date.value) for each in listed] == [
        (lamps, "2019"),
        (ropes, "2021"),
    ]
    # A second cited passage of one answer counts no further answer.
    second = AnswerSource.objects.filter(document=lamps, cited=True).latest("pk")
    second.pk, second.number = None, second.number + 10
    second.save()
    page = desk.get(QUEUE).content.decode()
    assert f"2019 · cited by {listed[0].answers} answers" in " ".join(page.split())
    decide(desk, lamps, "right")
    declare(ropes, acting_user=None, valid_until=TODAY - DAY)
    assert "Old, and much cited" not in desk.get(QUEUE).content.decode()
