"""Q7: the columns of passages that a page of results shows: one query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import F, IntegerField
from django.db.models.expressions import RawSQL

from ingestion.lexical.ngrams import spaced
from ingestion.models import Chunk
from ingestion.models.library import Viewer
from search.domain import TermStatistic
from search.presentation.snippets import marked

Rows = dict[int, Mapping[str, Any]]


def read_rows(
    chunks: Iterable[int], viewer: Viewer, terms: Sequence[TermStatistic], question: str
) -> Rows:
    """The displayed columns of the chunks that the viewer may read, by chunk.

    `words` is how many of the different words of `question` the passage holds, and how many there
    are.
    """
    rows = (
        Chunk.objects.visible_to(viewer)
        .filter(pk__in=list(chunks))
        .annotate(marked=_marked(terms), words=_held_words(question))
        .values(
            "pk", "ordinal", "text", "marked", "words", "kind", "heading_path", "page",
            "document__language", "document__public_id", "document__part_path", "document__title",
            "document__created", "document__metadata",
            "collection_id", "collection__name", "collection__slug",
            "version__media_type", "version__file_name", "original", *_for_staff(viewer),
        )
    )  # fmt: skip
    return {row["pk"]: row for row in rows}


def _for_staff(viewer: Viewer) -> tuple[str, ...]:
    """The columns that only staff see."""
    return ("edit__note",) if viewer is not None and getattr(viewer, "is_staff", False) else ()


def _marked(terms: Sequence[TermStatistic]) -> F | RawSQL:
    """The chunk's text with the query's words marked, under the chunk's own configuration."""
    if not terms:
        return F("text")
    question = " | ".join(_quoted(term.lexeme) for term in terms)
    return marked("%s::tsquery", question)


# Of the different words of a question, under a passage's own configuration: how many it holds, and
# how many there are.
_HELD_WORDS = """
(SELECT ARRAY[count(*) FILTER (WHERE lexeme = ANY(tsvector_to_array(ingestion_chunk.lexemes))),
              count(*)]
 FROM unnest(to_tsvector(ingestion_chunk.text_config::regconfig, %s)))
"""


def _held_words(question: str) -> RawSQL:
    return RawSQL(_HELD_WORDS, (spaced(question),), output_field=ArrayField(IntegerField()))  # noqa: S611  # ours


def _quoted(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
