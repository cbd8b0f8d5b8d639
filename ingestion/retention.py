"""Which stored files and texts are kept: those that a version names, of so many versions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from django.conf import settings
from django.db import transaction

from ingestion import storage
from ingestion.models import Document, DocumentVersion

StoredName = tuple[str, str]


def remove_unused(files: Iterable[StoredName]) -> None:
    """Removes stored files that no version names any longer; `files` are names with hashes."""
    for name, sha256 in files:
        with transaction.atomic():
            # Whoever is storing these bytes just now names them before this goes on.
            storage.hold(sha256)
            if name and not DocumentVersion.objects.filter(file=name).exists():
                storage.remove(name)


def trim(document_id: int) -> int:
    """How many older versions of a document gave up their file and text; their rows stay.

    The newest VERSIONS_KEPT files are kept, each counted once however often it was processed,
    and what is searched or under way always is.
    """
    with transaction.atomic():
        rows = Document.objects.select_for_update(of=("self",)).filter(pk=document_id)
        document = rows.first()
        if document is None:
            return 0
        surplus = list(_surplus(document))
        files = {(str(version.file.name), version.sha256) for version in surplus}
        pks = [version.pk for version in surplus]
        count = DocumentVersion.objects.filter(pk__in=pks).update(file="", text="")
        transaction.on_commit(partial(remove_unused, files))
    return count


def _surplus(document: Document) -> Iterable[DocumentVersion]:
    needed = {document.current_id, document.latest_id}
    seen: set[str] = set()
    for version in document.versions.defer("text").order_by("-number"):
        seen.add(version.sha256)
        is_needed = version.pk in needed or version.is_unfinished
        if len(seen) > settings.VERSIONS_KEPT and not is_needed and version.file:
            yield version
