"""Q3: a signal's parts of the retrieval statement, and SQL helpers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet

from ingestion.models import Chunk

# Common table: the text configurations of the collections in `readable`, each once.
SEARCHED_CONFIGS = """config AS (
    SELECT text_config FROM ingestion_corpusstatistics
    WHERE collection_id IN (SELECT id FROM readable)
    UNION
    SELECT text_config FROM ingestion_corpuschange
    WHERE collection_id IN (SELECT id FROM readable)
),
"""


@dataclass(frozen=True, slots=True)
class SignalSQL:
    """One signal's part of the statement.

    `find` selects the ids of its candidates, limited to the profile's depth; None if it only
    scores. `score` is an expression over chunk `c` and document `d`, NULL if the signal cannot
    score the chunk. Both may read the common tables `term` and `question`, and the signal's own
    `tables`, which follow those. `score_params` are the parameters of all this SQL, by name.
    `embedding` is an expression for the chunk's embedding, as bytes. `join` follows the tables `c`
    and `d`; `score` and `embedding` may read it.
    """

    score: str
    find: QuerySet[Chunk, Any] | str | None = None
    score_params: Mapping[str, Any] = field(default_factory=dict)
    tables: str = ""
    embedding: str = "NULL::bytea"
    join: str = ""


def literally(text: str) -> str:
    """The text as a Postgres regular expression that matches it literally.

    Postgres treats combining marks as letters, and a backslash before a letter as an error.
    """
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


def named(queryset: QuerySet[Any, Any], prefix: str) -> tuple[str, dict[str, Any]]:
    """A queryset's SQL and its parameters by name: `prefix` and a number."""
    sql, values = queryset.query.sql_with_params()
    keys = [f"{prefix}{i}" for i in range(len(values))]
    # A literal percent sign stays doubled: the statement as a whole is formatted once more.
    text = sql.replace("%%", "%%%%") % tuple(f"%({key})s" for key in keys)
    return text, dict(zip(keys, values, strict=True))
