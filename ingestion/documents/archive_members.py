"""The members of an archive and the attachments of a message become documents of their own.

A part is identified by its path in the whole. Each is ingested in its own transaction, under the
lease of the whole's version: an attempt that crashes leaves its finished parts, and the next one
finds them unchanged (docs/adr/0022-intake.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from django.conf import settings
from django.db import transaction
from django.db.models import Q, Sum
from django.utils.translation import gettext

from common.jobs import Lease, LeaseLost
from ingestion.documents import deletion
from ingestion.documents.versions import add_version
from ingestion.domain import Completeness, Part, Unit, Why
from ingestion.errors import FileTooLarge, RefusedUpload
from ingestion.files import storage
from ingestion.models import Document, DocumentVersion, Lane, SourceKind
from ingestion.parsing.file_titles import title_from_file_name
from ingestion.parsing.limits import ParseLimits

DEEPEST = 3
"""The maximum nesting depth: an archive in a message in an archive. A guess."""

_MAX_NAMES = 20


def take_in(
    lease: Lease[DocumentVersion], parts: Sequence[Part], completeness: Completeness
) -> list[str]:
    """Make these the parts of the document `whole`; return warnings for people, and note the gaps.

    A new part becomes a document, a changed one gets a new version, an unchanged one is left
    alone, and a document whose part is gone moves to the bin. Raises LeaseLost.
    """
    try:
        whole = lease.row.document
    except Document.DoesNotExist:  # erased while its file was read
        raise LeaseLost(lease) from None
    fitting, warnings = _fitting(whole, parts)
    completeness.add(Unit.FILE, Why.LIMIT, [part.path for part in parts[len(fitting) :]])
    for part in fitting:
        try:
            _take_one(lease, part)
        except RefusedUpload as error:
            is_large = isinstance(error, FileTooLarge)
            completeness.add(Unit.FILE, Why.LIMIT if is_large else Why.UNSUPPORTED, [part.path])
            warnings.append(f"Not read: {part.path}. {error}")
    _drop_others(lease, {part.path for part in parts})
    return warnings


def _take_one(lease: Lease[DocumentVersion], part: Part) -> None:
    whole = lease.row.document
    with part.file.open("rb") as file:
        examined = storage.examine(file, PurePosixPath(part.path).name)
        with transaction.atomic():
            # Lock the bytes before the rows, as every upload does.
            storage.hold(examined.sha256)
            with lease.writing() as version:
                document = _known(whole, part.path)
                if document is None and _was_deleted(whole, part.path, examined.sha256):
                    return
                if document is not None and document.content_hash == examined.sha256:
                    return
                stored = storage.store(file, examined)
                document = document or _create(whole, part.path, stored)
                add_version(document, stored, lane=Lane(version.lane))


def _known(whole: Document, path: str) -> Document | None:
    rows = Document.objects.undeleted().select_for_update(of=("self",))
    return rows.filter(parent=whole, part_path=path).first()


def _was_deleted(whole: Document, path: str, sha256: str) -> bool:
    """Whether a person deleted this part: it stays in the bin until its bytes change."""
    binned = whole.parts.filter(part_path=path, content_hash=sha256, deleted_at__isnull=False)
    return binned.exclude(deleted_by=None).exists()


def _create(whole: Document, path: str, stored: storage.StoredFile) -> Document:
    return Document.objects.create(
        collection_id=whole.collection_id,
        audience_id=whole.audience_id,
        parent=whole,
        part_path=path,
        source_kind=SourceKind.PART,
        title=title_from_file_name(stored.file_name)[:500],
        language=whole.language if whole.language_given else "",
        language_given=whole.language_given,
        metadata=whole.metadata,
        content_hash=stored.sha256,
        added_by_id=whole.added_by_id,
    )


def _drop_others(lease: Lease[DocumentVersion], paths: set[str]) -> None:
    """Move parts to the bin that are no longer in the file of `whole`."""
    parts = lease.row.document.parts.filter(deleted_at=None)
    removed = [part for part in parts.only("pk", "part_path") if part.part_path not in paths]
    if removed:
        lease.update(progress=0)  # raises LeaseLost
        deletion.delete(removed, acting_user=None)


def _fitting(whole: Document, parts: Sequence[Part]) -> tuple[list[Part], list[str]]:
    """The parts within the limits, and a warning about the others.

    The parser limits each file. This limits what one upload expands to through nested files.
    """
    above = _above(whole)
    if not parts or not above:
        return list(parts), []
    if len(above) >= DEEPEST:
        return [], [_left_out(parts, gettext("they are nested too deeply in other files"))]
    limits = ParseLimits.of(settings.PARSE_LIMITS)
    count, size = _grown(above[-1], whole)
    for index, part in enumerate(parts):
        count, size = count + 1, size + part.size
        if count > limits.archive_entries or size > limits.archive_bytes:
            reason = gettext("the files within one upload are too many, or too large together")
            return list(parts[:index]), [_left_out(parts[index:], reason)]
    return list(parts), []


def _above(document: Document) -> list[Document]:
    """The document's ancestors, nearest first, at most DEEPEST."""
    above: list[Document] = []
    while document.parent is not None and len(above) < DEEPEST:
        document = document.parent
        above.append(document)
    return above


def _grown(root: Document, whole: Document) -> tuple[int, int]:
    """The number of files in the upload `root`, and the bytes of those below its own parts.

    The parts of `whole` are not counted, as they are about to be ingested again.
    """
    below = Q(parent__parent=root) | Q(parent__parent__parent=root)
    inside = Document.objects.filter(deleted_at=None).exclude(parent=whole)
    count = inside.filter(Q(parent=root) | below).count()
    size = inside.filter(below).aggregate(bytes=Sum("latest__size", default=0))["bytes"]
    return count, int(size)


def _left_out(parts: Sequence[Part], reason: str) -> str:
    names = ", ".join(part.path for part in parts[:_MAX_NAMES])
    if len(parts) > _MAX_NAMES:
        more = f"{len(parts) - _MAX_NAMES:,}"
        names = gettext("%(names)s and %(count)s more") % {"names": names, "count": more}
    return gettext("Not read, since %(reason)s: %(names)s. Upload them separately.") % {
        "reason": reason,
        "names": names,
    }
