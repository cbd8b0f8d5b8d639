"""A chunk's text by hand: all that is derived from a text follows it, in the caller's transaction.

Its lexemes and vectors are the callers' matter: a version on its way gets them with all its other
chunks, a searched one at once.
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
    """The identifier patterns in force."""
    return [row.as_pattern() for row in IdentifierPattern.objects.filter(enabled=True)]


def names_of(version: DocumentVersion, ordinal: int) -> str:
    """Where an identifier stands as in a title; for the first chunk the file name, too."""
    return version.title if ordinal else f"{version.title}\n{version.file_name}"


def parsed_text(chunk: Chunk) -> str:
    """The chunk's text as it was parsed."""
    return chunk.original or chunk.text


def parsed_hash(chunk: Chunk) -> str:
    """The hash of that."""
    return text_hash(chunk.original) if chunk.original else chunk.content_hash


def rewrite(
    chunk: Chunk,
    text: str,
    version: DocumentVersion,
    tokenizer: Tokenizer,
    known: Sequence[Pattern],
) -> None:
    """Gives a stored chunk `text` with its count, hash, signature and identifiers.

    The parsed text is kept beside it while it is another. Offsets stay those of the parsed text.
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
    # Small sections share a chunk. That a form stands in the heading of one only the parser saw.
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
