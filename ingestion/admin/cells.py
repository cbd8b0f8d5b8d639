"""The cells of the document list that are updated while a document is processed."""

from __future__ import annotations

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from common.admin import progress
from ingestion.models import Document, DocumentVersion, State

VARIANTS = {
    State.QUEUED: "",
    State.PARSING: "info",
    State.CHUNKING: "info",
    State.EMBEDDING: "info",
    State.READY: "success",
    State.FAILED: "danger",
    State.SUPERSEDED: "",
}


def live(document: Document, name: str, content: object) -> SafeString:
    """`content`, marked so that the page can update it while the document is unfinished."""
    latest = document.latest
    return progress.live(document, name, content, unfinished=bool(latest and latest.is_open))


def state(document: Document) -> SafeString:
    return live(document, "state", version_label(document.latest, is_brief=True))


def version_label(version: DocumentVersion | None, *, is_brief: bool = False) -> SafeString:
    """The state as a coloured label, with a progress bar while it is unfinished.

    `is_brief` adds the beginning of the error, which the document's page shows in full.
    """
    if version is None:
        return progress.state_label(gettext("No file"))
    return progress.state_label(
        version.get_state_display(),
        VARIANTS[State(version.state)],
        percent=round(version.progress * 100) if version.is_open else None,
        error=version.error if is_brief else "",
        is_brief=is_brief,
    )


def chunks(document: Document) -> SafeString:
    """The number of searchable chunks; of a first version in progress, those made so far."""
    shown = document.current or document.latest
    return live(document, "chunks", intcomma(shown.chunk_count) if shown else 0)


def title(document: Document) -> SafeString:
    return live(document, "title", document.title)
