"""Carry hand edits over from one version of a document to the next, and rewrite the edited chunks.

carry  -> apply each edit to its passage of the new version, before it becomes searchable
settle -> once it is searchable: update the anchors, list edits without a passage
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from django.db.models import Q
from django.utils.translation import gettext

from common.jobs import Lease
from ingestion.chunking.sections import moved
from ingestion.documents.hand_edit_matching import Anchor, ChunkPlace, Fit, fits
from ingestion.domain import SectionPlace
from ingestion.embedding.protocol import Tokenizer
from ingestion.identifiers import Pattern, placed_forms
from ingestion.lexical.near_duplicates import signature
from ingestion.models import Chunk, ChunkEdit, DocumentVersion, Identifier, IdentifierPattern


def carry(lease: Lease[DocumentVersion], tokenizer: Tokenizer) -> int:
    """Apply the document's edits to the version's new chunks; return how many could be placed."""
    document_id = lease.row.document_id
    edits = list(ChunkEdit.objects.filter(document=document_id).order_by("pk"))
    if not edits:
        return 0
    with lease.writing() as version:
        outcomes = fits([anchor_of(edit) for edit in edits], places_of(version))
        fitting = [outcome.ordinal for outcome in outcomes if isinstance(outcome, Fit)]
        chunks = {chunk.ordinal: chunk for chunk in version.chunks.filter(ordinal__in=fitting)}
        all_patterns = patterns()
        for edit, outcome in zip(edits, outcomes, strict=True):
            if not isinstance(outcome, Fit):
                edit.reason = outcome.reason  # shown if the version becomes the searchable one
                edit.save(update_fields=["reason"])
                continue
            chunk = chunks[outcome.ordinal]
            chunk.edit = edit
            chunk.save(update_fields=["edit"])
            if outcome.text:
                rewrite(chunk, outcome.text, version, tokenizer, all_patterns)
    return len(chunks)


def settle(version: DocumentVersion) -> int:
    """Re-anchor the edits to a version that is now current; return how many have no passage.

    Runs in the caller's transaction. Edits without a passage are kept as unplaced.
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
        edit.reason = edit.reason or gettext("No passage matches it unambiguously.")
        edit.save(update_fields=["state", "reason", "updated"])
    return len(edits)


def anchor(edit: ChunkEdit, chunk: Chunk, before: Chunk | None, after: Chunk | None) -> None:
    """Anchor an edit, without saving it, to its chunk and the neighbouring chunks."""
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
    """The anchor of an edit: the passage that it was made on."""
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


def places_of(version: DocumentVersion) -> list[ChunkPlace]:
    """The passages of the version, with their parsed texts."""
    chunks = version.chunks.order_by("ordinal").only(
        "ordinal", "text", "original", "content_hash", "heading_path", "version"
    )
    return [
        ChunkPlace(chunk.ordinal, parsed_text(chunk), parsed_hash(chunk), tuple(chunk.heading_path))
        for chunk in chunks
    ]


REWRITTEN = ("text", "original", "tokens", "content_hash", "signature", "sections")


def patterns() -> list[Pattern]:
    """The enabled identifier patterns."""
    return [row.as_pattern() for row in IdentifierPattern.objects.filter(enabled=True)]


def names_of(version: DocumentVersion, ordinal: int) -> str:
    """The text whose identifiers count like those of the title; chunk 0 adds the file name."""
    return version.title if ordinal else f"{version.title}\n{version.file_name}"


def parsed_text(chunk: Chunk) -> str:
    """The parsed text of the chunk."""
    return chunk.original or chunk.text


def parsed_hash(chunk: Chunk) -> str:
    """The hash of the parsed text of the chunk."""
    return text_hash(chunk.original) if chunk.original else chunk.content_hash


def rewrite(
    chunk: Chunk,
    text: str,
    version: DocumentVersion,
    tokenizer: Tokenizer,
    all_patterns: Sequence[Pattern],
) -> None:
    """Set the text of a stored chunk with its token count, hash, signature and identifiers.

    The parsed text is kept as `original` if it differs. Offsets still refer to the parsed text.
    """
    original = parsed_text(chunk)
    chunk.original = "" if text == original else original
    chunk.sections = [list(place) for place in moved(chunk.sections, text)]
    chunk.text = text
    chunk.tokens = tokenizer.count(text)
    chunk.content_hash = text_hash(text)
    chunk.signature = signature(text)
    chunk.save(update_fields=[*REWRITTEN])
    chunk.identifiers.all().delete()
    Identifier.objects.bulk_create(identifiers(chunk, version, all_patterns))


def identifiers(
    chunk: Chunk, version: DocumentVersion, all_patterns: Sequence[Pattern]
) -> Iterator[Identifier]:
    """One row for each identifier form in the chunk, at its best place."""
    own = [SectionPlace(*place) for place in chunk.sections]
    placed = placed_forms(
        names_of(version, chunk.ordinal), chunk.heading_path, chunk.text, all_patterns, own
    )
    for form, (place, strength) in placed.items():
        yield Identifier(chunk=chunk, form=form, strength=strength, place=place)


def text_hash(text: str) -> str:
    """The hash that identifies equal texts, as in ChunkDraft."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
