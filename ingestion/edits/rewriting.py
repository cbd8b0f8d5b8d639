"""Replace a chunk's text and everything derived from it, in the caller's transaction.

Callers update lexemes and vectors: with all other chunks while a version is being processed, at
once for a searchable version.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingestion.edits.anchoring import text_hash
from ingestion.embedding.protocol import Tokenizer
from ingestion.identifiers import Pattern, placed_forms
from ingestion.lexical.signatures import signature
from ingestion.models import Chunk, DocumentVersion, Identifier, IdentifierPattern

HEADING_PLACE = 1
REWRITTEN = ("text", "original", "tokens", "content_hash", "signature")


def patterns() -> list[Pattern]:
    """The enabled identifier patterns."""
    return [row.as_pattern() for row in IdentifierPattern.objects.filter(enabled=True)]


def names_of(version: DocumentVersion, ordinal: int) -> str:
    """The text in which identifiers count as in the title; with the file name for chunk 0."""
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
    known: Sequence[Pattern],
) -> None:
    """Set the text of a stored chunk with its token count, hash, signature and identifiers.

    The parsed text is kept as `original` if it differs. Offsets still refer to the parsed text.
    """
    original = parsed_text(chunk)
    chunk.original = "" if text == original else original
    chunk.text = text
    chunk.tokens = tokenizer.count(text)
    chunk.content_hash = text_hash(text)
    chunk.signature = signature(text)
    chunk.save(update_fields=[*REWRITTEN])
    _identify(chunk, version, known)


def _identify(chunk: Chunk, version: DocumentVersion, known: Sequence[Pattern]) -> None:
    placed = placed_forms(names_of(version, chunk.ordinal), chunk.heading_path, chunk.text, known)
    # Small sections share a chunk: only the parser knew which forms were in their headings.
    in_headings = set(chunk.identifiers.filter(place=HEADING_PLACE).values_list("form", flat=True))
    chunk.identifiers.all().delete()
    Identifier.objects.bulk_create(
        Identifier(
            chunk=chunk,
            form=form,
            strength=strength,
            place=min(place, HEADING_PLACE) if form in in_headings else place,
        )
        for form, (place, strength) in placed.items()
    )
