"""What a document's page says about its state: how far, what went wrong, what to do."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.safestring import SafeString

from ingestion.admin.cells import live, state_label
from ingestion.admin.fields import language_name
from ingestion.admin.filters import TYPE_LABELS
from ingestion.models import Document, DocumentVersion, State

# For each error code what a person can do besides reading the message; `services` keeps the codes.
ADVICE = {
    "embedding_unavailable": "The embedding model could not be reached. It is tried again by "
    "itself; when the model is back, “Retry” saves the wait.",
    "embedding_rejected": "The embedding model refused the text. Check EMBEDDER and its settings, "
    "then retry.",
    "repeated_crash": "Read the worker's log, then retry.",
}
FILE_ADVICE = (
    "Trying the same file again will end the same way: correct it and upload it again, "
    "then delete this one."
)


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One line of the table of versions."""

    version: DocumentVersion
    label: SafeString
    is_current: bool


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
    facts: tuple[tuple[str, object], ...]


def status_of(document: Document) -> Status:
    """The page's view of a document: one more query, for its versions."""
    latest = document.latest
    failed = latest is not None and latest.state == State.FAILED
    versions = document.versions.defer("text")
    return Status(
        document=document,
        label=live(document, "state", state_label(latest)),
        advice=ADVICE.get(latest.error_code, FILE_ADVICE) if latest and failed else "",
        still_found=document.current_id is not None and document.current_id != document.latest_id,
        can_retry=failed,
        retry_helps=latest is not None and latest.error_code in ADVICE,
        can_reprocess=latest is not None and not latest.is_unfinished,
        versions=tuple(
            VersionRow(version, state_label(version), version.pk == document.current_id)
            for version in versions
        ),
        facts=_facts(document, latest),
    )


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
        ("Added", document.created),
        ("Added by", document.added_by),
        ("SHA-256", latest.sha256),
    )  # fmt: skip
    return tuple((name, value) for name, value in facts if value not in (None, ""))
