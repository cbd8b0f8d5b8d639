"""The cells of the document list that change while a document is on its way."""

from __future__ import annotations

from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from ingestion.models import Document, DocumentVersion, State

SHORT_ERROR_CHARS = 80
VARIANTS = {
    State.QUEUED: "",
    State.PARSING: "info",
    State.CHUNKING: "info",
    State.EMBEDDING: "info",
    State.READY: "success",
    State.FAILED: "danger",
    State.SUPERSEDED: "",
}


def live(document: Document, name: str, content: Any) -> SafeString:
    """`content`, marked so that the page can replace it while the document is unfinished."""
    latest = document.latest
    return format_html(
        '<span class="sy-live" data-document="{}" data-cell="{}"{}>{}</span>',
        document.pk,
        name,
        SafeString(" data-unfinished") if latest and latest.is_unfinished else "",
        content,
    )


def state(document: Document) -> SafeString:
    return live(document, "state", state_label(document.latest, brief=True))


def state_label(version: DocumentVersion | None, *, brief: bool = False) -> SafeString:
    """The state as a coloured label, with a bar while there is work to do.

    `brief` adds the beginning of the error: all of it stands on the document's page.
    """
    context = {
        "version": version,
        "text": version.get_state_display() if version else "No file",
        "variant": VARIANTS[State(version.state)] if version else "",
        "percent": round(version.progress * 100) if version else 0,
        "error": Truncator(version.error).chars(SHORT_ERROR_CHARS) if version and brief else "",
    }
    return SafeString(render_to_string("admin/steelyard/state.html", context))


def chunks(document: Document) -> SafeString:
    """The chunks that search reads; while the first version is on its way, those made so far."""
    shown = document.current or document.latest
    return live(document, "chunks", intcomma(shown.chunk_count) if shown else 0)


def title(document: Document) -> SafeString:
    return live(document, "title", document.title)


CELLS = {"title": title, "state": state, "chunks": chunks}
