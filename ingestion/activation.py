"""U5: how a version ends: it becomes what search reads, it fails, or another takes its place."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from ingestion import terms
from ingestion.errors import IngestionError
from ingestion.leases import Lease, LeaseLost
from ingestion.models import Document, DocumentVersion, State
from ingestion.titles import with_file_name


def activate(lease: Lease) -> None:
    """Makes a fully embedded version the one that search reads, in one transaction.

    The chunks of the version before it go in the same moment: a search sees the one or the
    other, never half. Raises LeaseLost when the version was superseded or deleted meanwhile.
    """
    with transaction.atomic():
        # The document first, as everywhere: two orders of locking could wait on each other.
        rows = Document.objects.select_for_update(of=("self",))
        document = rows.filter(pk=lease.version.document_id).first()
        if document is None:
            raise LeaseLost
        with lease.writing() as version:
            before = document.current
            if before is not None:
                terms.count_out(before.pk)
                before.chunks.all().delete()
                DocumentVersion.objects.filter(pk=before.pk).update(state=State.SUPERSEDED)
            version.chunks.update(searchable=True)
            terms.count_in(version.pk)
            _show_as(document, version)
            finish(version, State.READY, progress=1, error="", error_code="")


def fail(lease: Lease, error: IngestionError) -> None:
    """Marks a version failed with the error's words; what search reads stays as it is."""
    with lease.writing() as version:
        version.chunks.all().delete()
        finish(version, State.FAILED, error=str(error), error_code=error.code)


def finish(version: DocumentVersion, state: State, **fields: Any) -> None:
    """Ends a version in `state` and lets go of its lease."""
    fields |= {"state": state, "finished": timezone.now(), "lease": None, "leased_until": None}
    DocumentVersion.objects.filter(pk=version.pk).update(**fields)


def _show_as(document: Document, version: DocumentVersion) -> None:
    """Gives the document the version's text, title and language, and the title its lexemes."""
    document.current = version
    document.title = version.title
    document.language = version.language
    document.save(update_fields=["current", "title", "language", "updated"])
    named = with_file_name(version.title, version.file_name)
    terms.read_title(document.pk, named, version.language)
