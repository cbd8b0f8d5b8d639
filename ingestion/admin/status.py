"""What a document's page says about its state: how far, what went wrong, what to do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from ingestion.admin.cells import live, version_label
from ingestion.admin.fields import language_name
from ingestion.admin.filters import TYPE_LABELS
from ingestion.admin.versions import VersionRow, version_rows
from ingestion.models import ChunkEdit, Document, DocumentVersion, State

# For each error code what a person can do besides reading the message; `services` keeps the codes.
ADVICE = {
    "embedding_unavailable": "The embedding model could not be reached. It is tried again by "
    "itself; when the model is back, “Retry” saves the wait.",
    "embedding_rejected": "The embedding model refused the text. Check EMBEDDER and its settings, "
    "then retry.",
    "no_text": "If it is a scan, install text recognition (OCR) or name its language in "
    "OCR_LANGUAGES, and retry. Otherwise check that the right file was uploaded.",
    "repeated_crash": "Read the worker's log, then retry.",
}
FILE_ADVICE = (
    "Trying the same file again will end the same way: correct it and upload it again, "
    "then delete this one."
)


@dataclass(frozen=True, slots=True)
class Status:
    """All that the page shows besides the form. `facts` are pairs of a name and a value."""

    document: Document
    label: SafeString
    advice: str
    still_found: bool
    can_retry: bool
    retry_helps: bool
    can_reprocess: bool
    versions: tuple[VersionRow, ...]
    edits: int
    homeless: int
    facts: tuple[tuple[str, object], ...]


def status_of(document: Document) -> Status:
    """The page's view of a document: two more queries, for its versions and its hand edits."""
    latest = document.latest
    failed = latest is not None and latest.state == State.FAILED
    versions = list(
        document.versions.select_related("restored_from").defer("text", "restored_from__text")
    )
    edits = Counter(document.edits.values_list("state", flat=True))
    return Status(
        document=document,
        label=live(document, "state", version_label(latest)),
        advice=ADVICE.get(latest.error_code, FILE_ADVICE) if latest and failed else "",
        still_found=document.current_id is not None and document.current_id != document.latest_id,
        can_retry=failed,
        retry_helps=latest is not None and latest.error_code in ADVICE,
        can_reprocess=latest is not None and not latest.is_open,
        versions=version_rows(document, versions, version_label),
        edits=sum(edits.values()),
        homeless=edits[ChunkEdit.State.HOMELESS],
        facts=_facts(document, latest),
    )


def _whole(document: Document) -> SafeString | str:
    """A link to what the document is a part of, and its path there."""
    if document.parent is None:
        return ""
    address = reverse("admin:ingestion_document_change", args=(document.parent.pk,))
    return format_html(
        '<a href="{}">{}</a>, {}', address, document.parent.title, document.part_path
    )


def _parts(document: Document) -> SafeString | str:
    """A link to the documents that stand in this one."""
    count = document.parts.filter(deleted_at=None).count()
    if not count:
        return ""
    address = f"{reverse('admin:ingestion_document_changelist')}?parent={document.pk}"
    noun = "document" if count == 1 else "documents"
    return format_html('<a href="{}">{} {}</a>', address, f"{count:,}", noun)


def _facts(document: Document, latest: DocumentVersion | None) -> tuple[tuple[str, object], ...]:
    """What is known of the file, without what it does not state."""
    if latest is None:
        return ()
    language = language_name(document.language) if document.language else ""
    facts: tuple[tuple[str, object], ...] = (
        ("Collection", document.collection),
        ("File", latest.file_name),
        ("Type", TYPE_LABELS.get(latest.media_type, latest.media_type)),
        ("Language", f"{language} ({'given' if document.language_given else 'detected'})"
         if language else ""),
        ("Title", "given by a person" if document.title_given else "from the file"),
        ("Author", latest.author),
        ("Pages", latest.page_count),
        ("Written", latest.file_created),
        ("Changed", latest.file_modified),
        ("Parser", latest.parser),
        ("Source", document.source),
        ("Part of", _whole(document)),
        ("Holds", _parts(document)),
        ("Added", document.created),
        ("Added by", document.added_by),
        ("SHA-256", latest.sha256),
    )  # fmt: skip
    return tuple((name, value) for name, value in facts if value not in (None, ""))
