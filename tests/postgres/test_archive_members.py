"""Parts: members of archives and attachments of messages are documents of their own."""

from __future__ import annotations

import io

import pytest

from common.accounts.models import User
from common.jobs import Lease
from ingestion import services
from ingestion.documents import archive_members as parts_module
from ingestion.documents import processing_steps
from ingestion.domain import Part
from ingestion.lexical import bm25_weights
from ingestion.models import Document, DocumentVersion, Lane, SourceKind, State
from tests.samples import builders
from tests.samples.outlook import Attachment, Letter, make_msg
from tests.support.factories import make_collection, make_document, upload
from tests.support.shown_results import titles

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers", "clean_cache")]

PUMPS = "# Bilge pumps\n\nThe bilge pump is greased at noon, whatever the weather may be.\n"
SAILS = "# Sails\n\nThe mizzen sail is mended in the evening by two hands.\n"
ROPES = "# Ropes\n\nEvery halyard is spliced before the voyage begins.\n"
FIRST = {"deck/pumps.md": PUMPS, "sails.md": SAILS}


def work() -> None:
    """Every version that waits, and those that these make, brought to their end."""
    while waiting := DocumentVersion.objects.filter(state=State.QUEUED).order_by("pk").first():
        assert processing_steps.advance(waiting.pk)
    bm25_weights.fold()


def members(whole: Document) -> dict[str, Document]:
    kept = Document.objects.undeleted().filter(parent=whole).select_related("latest")
    return {part.part_path: part for part in kept}


@pytest.fixture
def whole() -> Document:
    receipt = services.receive(
        make_collection(),
        io.BytesIO(builders.make_zip(FIRST)),
        file_name="ship.zip",
        language="en",
        lane=Lane.BULK,
        acting_user=None,
    )
    work()
    receipt.document.refresh_from_db()
    return receipt.document


def test_archive_members_are_searchable_by_their_own_titles(whole: Document) -> None:
    found = members(whole)
    assert sorted(found) == ["deck/pumps.md", "sails.md"]
    pumps = found["deck/pumps.md"]
    assert pumps.latest is not None
    assert (pumps.source_kind, pumps.collection_id) == (SourceKind.PART, whole.collection_id)
    assert (pumps.language, pumps.language_given) == ("en", True)
    assert (pumps.latest.lane, pumps.latest.state) == (Lane.BULK, State.READY)
    assert pumps.latest.file_name == "pumps.md"
    assert titles("who greases the bilge pump")[0] == "Bilge pumps"
    assert "ship" in titles("deck/pumps.md")  # by its listing


def test_new_archive_version_touches_only_changed_members(whole: Document) -> None:
    before = members(whole)
    second = {"sails.md": SAILS + "Now by four.\n", "ropes.md": ROPES, "copy/pumps.md": PUMPS}
    content = io.BytesIO(builders.make_zip(second))
    services.replace(whole, content, file_name="ship.zip", acting_user=None)
    work()
    after = members(whole)
    assert sorted(after) == ["copy/pumps.md", "ropes.md", "sails.md"]
    assert after["sails.md"].pk == before["sails.md"].pk
    assert after["sails.md"].latest is not None
    assert after["sails.md"].latest.number == 2
    gone = Document.objects.get(pk=before["deck/pumps.md"].pk)
    assert gone.deleted_at is not None
    assert titles("halyard spliced")[0] == "Ropes"


def test_processing_again_leaves_equal_parts_alone(whole: Document) -> None:
    services.reprocess([whole], acting_user=None)
    work()
    found = members(whole)
    assert [part.latest.number for part in found.values() if part.latest] == [1, 1]
    assert Document.objects.filter(parent=whole).count() == 2


def test_crash_between_members_doubles_no_member(monkeypatch: pytest.MonkeyPatch) -> None:
    receipt = upload(make_collection(), builders.make_zip(FIRST), file_name="ship.zip")
    take = parts_module._take_one
    taken: list[str] = []

    def dies(lease: Lease[DocumentVersion], part: Part) -> None:
        take(lease, part)
        taken.append(part.path)
        raise SystemExit

    monkeypatch.setattr(parts_module, "_take_one", dies)
    with pytest.raises(SystemExit):
        processing_steps.advance(receipt.version.pk)
    assert len(members(receipt.document)) == len(taken) == 1
    monkeypatch.undo()
    DocumentVersion.objects.update(not_before=None)
    processing_steps.advance(receipt.version.pk)
    work()
    assert sorted(members(receipt.document)) == ["deck/pumps.md", "sails.md"]
    assert DocumentVersion.objects.filter(document__parent=receipt.document).count() == 2


def test_parts_go_to_the_bin_with_their_whole_and_come_back(whole: Document) -> None:
    services.delete([whole], acting_user=None)
    assert members(whole) == {}
    assert titles("bilge pump") == []
    services.restore([whole], acting_user=None)
    assert sorted(members(whole)) == ["deck/pumps.md", "sails.md"]
    assert titles("who greases the bilge pump")[0] == "Bilge pumps"


def test_a_part_that_a_person_deleted_stays_deleted(whole: Document, administrator: User) -> None:
    services.delete([members(whole)["sails.md"]], acting_user=administrator)
    services.reprocess([whole], acting_user=None)
    work()
    assert list(members(whole)) == ["deck/pumps.md"]


def test_unread_members_are_warnings_of_the_archive() -> None:
    content = builders.make_zip({**FIRST, "photo.gif": b"GIF89a"})
    document = make_document(make_collection(), content, file_name="ship.zip")
    assert document.latest is not None
    (warning,) = document.latest.warnings
    assert "photo.gif" in warning


def test_failed_member_has_its_own_error_and_fails_no_other(whole: Document) -> None:
    broken = {**FIRST, "broken.docx": builders.make_docx()[:900]}
    services.replace(
        whole, io.BytesIO(builders.make_zip(broken)), file_name="ship.zip", acting_user=None
    )
    work()
    states = {path: part.latest.state for path, part in members(whole).items() if part.latest}
    assert states["broken.docx"] == State.FAILED
    assert states["sails.md"] == State.READY


def test_nesting_of_archives_is_limited() -> None:
    content: bytes = PUMPS.encode()
    name = "pumps.md"
    for number in range(5):
        content = make_msg(Letter(f"Letter {number}", attachments=[Attachment(name, content)]))
        name = f"letter-{number}.msg"
    upload(make_collection(), content, file_name=name)
    work()
    depths = []
    for document in Document.objects.all():
        depth, above = 0, document.parent
        while above is not None:
            depth, above = depth + 1, above.parent
        depths.append(depth)
    assert max(depths) == parts_module.DEEPEST
    deepest = Document.objects.get(parent__parent__parent__isnull=False)
    assert deepest.latest is not None
    assert deepest.latest.warnings == [
        "Not read, since they are nested too deeply in other files: letter-0.msg. Upload them "
        "separately."
    ]


def test_members_of_nested_archives_share_one_limit(settings: object) -> None:
    inner = {f"{n}.md": f"{PUMPS}{n}" for n in range(4)}
    letter = Letter(attachments=[Attachment("inner.zip", builders.make_zip(inner))])
    outer = builders.make_zip({"a.msg": make_msg(letter)})
    limits = {**settings.PARSE_LIMITS, "PARSE_ARCHIVE_FILES": 5}  # type: ignore[attr-defined]
    settings.PARSE_LIMITS = limits  # type: ignore[attr-defined]
    upload(make_collection(), outer, file_name="outer.zip")
    work()
    # The message, the archive in it, and three of the four files in that.
    assert Document.objects.exclude(parent=None).count() == 5
    version = DocumentVersion.objects.get(file_name="inner.zip")
    (warning,) = version.warnings
    assert "too many" in warning
    assert "3.md" in warning
