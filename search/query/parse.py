"""Q1: string -> Query."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from ingestion.identifiers import Pattern, index_forms, is_single_identifier, query_identifiers
from search.domain import Query, QueryIdentifier
from search.errors import QueryTooLong

MAX_QUERY_CHARS = 500  # S5-01
QUOTES = " `'\"“”‘’«»?!.,"


def parse(text: str, patterns: Sequence[Pattern]) -> Query:
    """The query that `text` states; an empty Query for white space. Raises QueryTooLong."""
    clean = clean_text(text)
    if len(clean) > MAX_QUERY_CHARS:
        raise QueryTooLong(
            f"The query has {len(clean)} characters; the limit is {MAX_QUERY_CHARS}. "
            "Ask in fewer words, or paste only the telling part."
        )
    found = query_identifiers(clean, patterns)
    identifiers = tuple(
        QueryIdentifier(match.text, match.kind, index_forms(match)) for match in found
    )
    return Query(
        text=clean,
        identifiers=identifiers,
        is_identifier=len(found) == 1 and found[0].text == clean.strip(QUOTES),
        needs_no_embedding=is_single_identifier(clean, patterns),
    )


def clean_text(text: str) -> str:
    """`text` in NFC without control characters, lone surrogates or runs of white space."""
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    normal = unicodedata.normalize("NFC", encodable)
    kept = "".join(" " if unicodedata.category(c) in {"Cc", "Cs"} else c for c in normal)
    return " ".join(kept.split())
