"""A document's state in the admin: progress, errors, advice, facts; updated while it changes."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.humanize.templatetags.humanize import intcomma
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from common.admin import live_cells as progress
from ingestion import spaces
from ingestion.admin.versions import version_rows
from ingestion.documents import completeness, currency
from ingestion.files.filetypes import TYPE_LABELS
from ingestion.models import ChunkEdit, Document, DocumentVersion, State
from ingestion.models.collections import language_name
from ingestion.models.documents import MISSING
from ingestion.models.visibility import Viewer
from ingestion.parsing.file_titles import title_from_file_name

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


VARIANTS = {
    State.QUEUED: "", State.PARSING: "info", State.CHUNKING: "info", State.EMBEDDING: "info",
    State.READY: "success", State.FAILED: "danger", State.SUPERSEDED: "",
}  # fmt: skip


def live(document: Document, name: str, content: object) -> SafeString:
    """`content`, marked so that the page can update it while the document is unfinished."""
    latest = document.latest
    return progress.live(document, name, content, unfinished=bool(latest and latest.is_open))


@admin.display(description=_("state"), ordering="latest__state")
def state(document: Document) -> SafeString:
    return live(document, "state", version_label(document.latest, is_brief=True))


@admin.display(description=_("missing"), ordering=MISSING)
def missing(document: Document) -> SafeString:
    """The share of the document that is not searchable; empty if all is."""
    stored: completeness.Stored = document.current.completeness if document.current else {}
    if stored is None:
        return live(document, "missing", gettext("unknown"))
    share = stored.get("missing", 0)
    return live(document, "missing", f"{max(1, round(share * 100))}%" if share else "")


def version_label(version: DocumentVersion | None, *, is_brief: bool = False) -> SafeString:
    """The state as a coloured label, with a progress bar while it is unfinished.

    `is_brief` adds the beginning of the error, which the document's page shows in full, or a note
    that not all of it is searchable.
    """
    if version is None:
        return progress.state_label(gettext("No file"))
    gap = completeness.note(version.completeness) if version.state == State.READY else ""
    return progress.state_label(
        version.get_state_display(),
        "warning" if gap else VARIANTS[State(version.state)],
        note=gap if is_brief else "",
        percent=round(version.progress * 100) if version.is_open else None,
        error=version.error if is_brief else "",
        is_brief=is_brief,
    )


@admin.display(description=_("passages"), ordering="current__chunk_count")
def chunks(document: Document) -> SafeString:
    """The number of searchable chunks; of a first version in progress, those made so far."""
    version = document.current or document.latest
    return live(document, "chunks", intcomma(version.chunk_count) if version else 0)


def title(document: Document) -> SafeString:
    return live(document, "title", document.title)


def file_name(document: Document) -> SafeString:
    """The name of the file; empty if the title was made of it."""
    name = document.latest.file_name if document.latest else ""
    if document.title in (name, title_from_file_name(name)):
        return SafeString()
    return format_html('<span class="sy-muted">{}</span>', name)


def links(document: Document) -> SafeString:
    """Where the document can be read and searched, a note if not all of it can, and its error."""
    latest = document.latest
    error = latest.error if latest else ""
    content = format_html('<span class="sy-error">{}</span>', error) if error else SafeString()
    if lacks_ocr := _LACKS_OCR.search(error):  # the page says once how to install it
        content = format_html(
            '<span class="sy-error" data-install="{}">{}</span>',
            lacks_ocr["command"],
            gettext("It needs text recognition (OCR)."),
        )
    if document.current is not None:
        said = completeness.note(document.current.completeness), edition(document), content
        content = format_html(
            '· <a class="text-link" href="{}">{}</a> · <a class="text-link" href="{}">{}</a>{}',
            document.get_absolute_url(),
            gettext("Read it"),
            reverse("search:page", query={"document": str(document.public_id)}),
            gettext("Search it"),
            format_html_join("", " · {}", ((each,) for each in said if each)),
        )
    return live(document, "links", content)


def edition(document: Document) -> SafeString:
    """A link to the review queue if the document may be a new edition of another; otherwise empty.

    Of a document alone that all of its own readers may read.
    """
    older = document.edition_of
    if older is None or older.deleted_at or older.collection_id != document.collection_id:
        return SafeString()
    if older.audience_id not in (None, document.audience_id):
        return SafeString()
    text = gettext("Perhaps a new edition of another document: decide")
    address = reverse("admin:ingestion_document_review")
    return format_html('<a class="text-link" href="{}#editions">{}</a>', address, text)


def reprocessing(count: int) -> str:
    """The sentence about documents that were queued for reprocessing."""
    return ngettext(
        "%(count)s document was queued for reprocessing; until then, search uses its current "
        "passages.",
        "%(count)s documents were queued for reprocessing; until then, search uses their current "
        "passages.",
        count,
    ) % {"count": f"{count:,}"}


# `ocr` writes it into the error of a scan.
_LACKS_OCR = re.compile(r"OCR is not installed.*?\(on Debian: (?P<command>[^)]+)\)")


def status_of(document: Document, viewer: Viewer) -> dict[str, Any]:
    """The context of the document's page besides the form. Runs two queries: versions and edits.

    `facts` are pairs of a name and a value.
    """
    latest = document.latest
    state = currency.currency_of(document, viewer)
    failed = latest is not None and latest.state == State.FAILED
    versions = list(
        document.versions.select_related("restored_from").defer("text", "restored_from__text")
    )
    edits = Counter(document.edits.values_list("state", flat=True))
    return {
        "document": document,
        "label": live(document, "state", version_label(latest)),
        "searchable": completeness.summary(latest.completeness, with_places=True)
        if latest is not None and latest.state == State.READY
        else "",
        "not_current": currency.label(state),
        "successor": currency.as_data(state)["successor"],
        "edition": edition(document),
        "vectors_from": spaces.active_space()
        if latest is not None and latest.state == State.EMBEDDING
        else None,
        "still_found": document.current_id is not None
        and document.current_id != document.latest_id,
        "can_retry": failed,
        "can_reprocess": latest is not None and not latest.is_open,
        "versions": version_rows(document, versions, version_label),
        "edits": sum(edits.values()),
        "homeless": edits[ChunkEdit.State.HOMELESS],
        "facts": _facts(document, document.current or latest),
    }


def _whole(document: Document) -> SafeString | str:
    """A link to the document's container, and the path in it; empty if it is not a part."""
    if document.parent is None:
        return ""
    address = reverse("admin:ingestion_document_change", args=(document.parent.pk,))
    return format_html(
        '<a href="{}">{}</a>, {}', address, document.parent.title, document.part_path
    )


def _parts(document: Document) -> SafeString | str:
    """A link to the document's parts; empty if it has none."""
    count = document.parts.filter(deleted_at=None).count()
    if not count:
        return ""
    address = f"{reverse('admin:ingestion_document_changelist')}?parent={document.pk}"
    label = ngettext("%(count)s document", "%(count)s documents", count) % {"count": f"{count:,}"}
    return format_html('<a href="{}">{}</a>', address, label)


def _facts(
    document: Document, version: DocumentVersion | None
) -> tuple[tuple[StrOrPromise, object], ...]:
    """The known properties of the version's file, without empty ones."""
    if version is None:
        return ()
    facts: tuple[tuple[StrOrPromise, object], ...] = (
        (_("Collection"), document.collection), (_("File"), version.file_name),
        (_("Type"), TYPE_LABELS.get(version.media_type, version.media_type)),
        (_("Language"), _language(document)),
        (_("Title"), _("set by hand") if document.title_given else _("from the file")),
        (_("Author"), version.author), (_("Pages"), version.page_count),
        (_("Created"), version.file_created), (_("Modified"), version.file_modified),
        (_("Parser"), version.parser), (_("Source"), document.source),
        (_("Part of"), _whole(document)), (_("Contains"), _parts(document)),
        (_("Added"), document.created), (_("Added by"), document.added_by),
        ("SHA-256", version.sha256),
    )  # fmt: skip
    return tuple((name, value) for name, value in facts if value not in (None, ""))


def _language(document: Document) -> str:
    if not document.language:
        return ""
    given, detected = gettext("%(name)s (set by hand)"), gettext("%(name)s (detected)")
    template = given if document.language_given else detected
    return template % {"name": language_name(document.language)}
