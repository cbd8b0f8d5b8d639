"""Hand edits on their way from one version of a document to the next.

    carry  -> each edit on its passage of the new version, before anybody can find it
    settle -> with the new version searched: edits anchored anew, those without a place listed

Until `settle` the edits keep the anchors of the version that is searched: should the new one
fail, nothing has changed.
"""

from __future__ import annotations

from django.db.models import Q

from common.jobs import Lease
from ingestion.edits.anchoring import Anchor, Fit, Place, fits
from ingestion.edits.rewriting import parsed_hash, parsed_text, patterns, rewrite
from ingestion.embedding.protocol import Tokenizer
from ingestion.models import Chunk, ChunkEdit, DocumentVersion


def carry(lease: Lease[DocumentVersion], tokenizer: Tokenizer) -> int:
    """How many of the document's edits found their passage among the version's new chunks."""
    document_id = lease.row.document_id
    edits = list(ChunkEdit.objects.filter(document=document_id).order_by("pk"))
    if not edits:
        return 0
    with lease.writing() as version:
        outcomes = fits([anchor_of(edit) for edit in edits], places_of(version))
        fitting = [outcome.ordinal for outcome in outcomes if isinstance(outcome, Fit)]
        chunks = {chunk.ordinal: chunk for chunk in version.chunks.filter(ordinal__in=fitting)}
        known = patterns()
        for edit, outcome in zip(edits, outcomes, strict=True):
            if not isinstance(outcome, Fit):
                continue
            chunk = chunks[outcome.ordinal]
            chunk.edit = edit
            chunk.save(update_fields=["edit"])
            if outcome.text:
                rewrite(chunk, outcome.text, version, tokenizer, known)
    return len(chunks)


def settle(version: DocumentVersion) -> int:
    """How many edits have no place in a version that search reads from now on.

    In the caller's transaction. They stay, listed as such.
    """
    edits = {edit.pk: edit for edit in ChunkEdit.objects.filter(document=version.document_id)}
    if not edits:
        return 0
    edited = version.chunks.filter(edit__in=edits)
    ordinals = list(edited.values_list("ordinal", flat=True))
    around = Q(ordinal__in={n + step for n in ordinals for step in (-1, 0, 1) if n + step >= 0})
    chunks = {chunk.ordinal: chunk for chunk in version.chunks.filter(around)}
    for ordinal in ordinals:
        edit = edits.pop(chunks[ordinal].edit_id or 0)
        anchor(edit, chunks[ordinal], chunks.get(ordinal - 1), chunks.get(ordinal + 1))
        edit.save()
    for edit in edits.values():
        edit.state = ChunkEdit.State.HOMELESS
        edit.reason = f"Version {version.number} has no passage that is clearly its own."
        edit.save(update_fields=["state", "reason", "updated"])
    return len(edits)


def anchor(edit: ChunkEdit, chunk: Chunk, before: Chunk | None, after: Chunk | None) -> None:
    """Ties an edit, unsaved, to the chunk that it is applied to and to what stands around."""
    edit.original = parsed_text(chunk)
    edit.text = chunk.text if chunk.original else ""
    edit.content_hash = parsed_hash(chunk)
    edit.hash_before = parsed_hash(before) if before else ""
    edit.hash_after = parsed_hash(after) if after else ""
    edit.heading_path = chunk.heading_path
    edit.ordinal = chunk.ordinal
    edit.state = ChunkEdit.State.APPLIED
    edit.reason = ""


def anchor_of(edit: ChunkEdit) -> Anchor:
    """What the edit was made on."""
    return Anchor(
        text=edit.original,
        content_hash=edit.content_hash,
        hash_before=edit.hash_before,
        hash_after=edit.hash_after,
        heading_path=tuple(edit.heading_path),
        ordinal=edit.ordinal,
        edited=edit.text,
        hides=edit.disabled,
    )


def places_of(version: DocumentVersion) -> list[Place]:
    """The version's passages as they were parsed."""
    chunks = version.chunks.order_by("ordinal").only(
        "ordinal", "text", "original", "content_hash", "heading_path", "version"
    )
    return [
        Place(chunk.ordinal, parsed_text(chunk), parsed_hash(chunk), tuple(chunk.heading_path))
        for chunk in chunks
    ]
