"""The columns of passages that a page of results shows: one query.

Its statement is kept by shape and prepared, like that of the retrieval
(`search.retrieval.prepared`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import BooleanField, F, IntegerField, TextField
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast
from psycopg.pq import Format

from common.database import named
from ingestion.lexical.bigrams import spaced
from ingestion.models import Chunk
from ingestion.models.visibility import Viewer
from search.domain import TermStatistic
from search.presentation.snippets import completed, marked, unmarked_sql
from search.retrieval.filters import readable_to
from search.retrieval.phrases import quoted
from search.retrieval.prepared import Shapes, run, with_constants

Rows = dict[int, Callable[[], Mapping[str, Any]]]
"""The columns of passages by chunk, read when they are asked for: of most folded ones none is."""

_COLUMNS = (
    "pk", "ordinal", "text", "marked", "words", "kind", "heading_path", "page",
    "document__language", "document__public_id", "document__part_path", "document__title",
    "document__created", "document__metadata", "document__valid_from",
    "collection_id", "document__collection__name", "document__collection__slug",
    "version__media_type", "version__file_name", "version__completeness", "original", "layout",
    "sections", "version__file_modified", "version__file_created", "version__created",
)  # fmt: skip
_JSON = ("document__metadata", "layout", "sections", "version__completeness")
_shapes = Shapes()


def read_rows(
    chunks: Iterable[int],
    viewer: Viewer,
    terms: Sequence[TermStatistic],
    question: str,
    *,
    plain: Collection[int] = (),
    uncounted: Collection[int] = (),
) -> Rows:
    """The displayed columns of the chunks that the viewer may read, by chunk.

    `words` has the number of different words of `question` in the passage, and their total; NULL
    for `uncounted` chunks. The `plain` ones have no marks: both cost Postgres another reading of
    the text, which took most of a page's time for passages that are only named.
    """
    is_staff = viewer is not None and bool(getattr(viewer, "is_staff", False))
    columns = (*_COLUMNS, "edit__note") if is_staff else _COLUMNS
    readable, values = readable_to(viewer, "readable")
    shape = (readable, is_staff, bool(terms))
    statement = _shapes.get(shape, lambda: _statement(readable, columns, is_marked=bool(terms)))
    values |= {
        "chunks": list(chunks),
        "plain": list(plain),
        "uncounted": list(uncounted),
        "question": " | ".join(quoted(term.lexeme) for term in terms),
        "spaced": spaced(question),
    }
    rows = run(statement, values, form=Format.BINARY)
    return {row[0]: partial(_row, columns, row, values["question"]) for row in rows}


def _row(columns: Sequence[str], row: Sequence[Any], question: str) -> Mapping[str, Any]:
    """One row by column, with the types of its fields."""
    values = dict(zip(columns, row, strict=True))
    if values["words"] is None:
        values["words"] = (0, 0)
    if values["marked"] is None:
        values |= {"marked": values["text"], "layout": ()}
    elif question:
        values["marked"] = completed(values["marked"], question)
    return values | {n: json.loads(values[n]) for n in _JSON if isinstance(values[n], str)}


def _statement(readable: str, columns: Sequence[str], *, is_marked: bool) -> str:
    """The statement of a shape. `readable` is the SQL of the collections' ids."""
    among = RawSQL("ingestion_chunk.id = ANY(%(chunks)s::bigint[])", (), BooleanField())
    rows = (
        Chunk.objects.visible_within_statement()
        .filter(among)
        .order_by()
        .annotate(
            marked=_unless("plain", _marked()) if is_marked else F("text"),
            words=_unless(
                "uncounted",
                RawSQL(_WORD_COUNTS, (), ArrayField(IntegerField())),  # noqa: S611  # ours
            ),
        )
        .values_list(*(Cast(each, TextField()) if each in _JSON else each for each in columns))
    )
    text, constants = named(rows, "row")
    return with_constants(f"WITH readable(id) AS MATERIALIZED ({readable}) {text}", constants)


def _unless(among: str, column: RawSQL) -> RawSQL:
    """The column, NULL for the passages of the parameter `among`."""
    sql = f"CASE WHEN ingestion_chunk.id <> ALL(%({among})s::bigint[]) THEN ({column.sql}) END"
    return RawSQL(sql, column.params, output_field=column.output_field)  # noqa: S611


def _marked() -> RawSQL:
    """The marked text; the plain text, read only once, if no word of the question is in it."""
    question = "%(question)s::tsquery"
    marked_sql = marked(question)
    sql = (
        f"CASE WHEN ingestion_chunk.lexemes @@ {question} THEN {marked_sql.sql}"
        f" ELSE {unmarked_sql('ingestion_chunk.text')} END"
    )
    return RawSQL(sql, marked_sql.params, output_field=marked_sql.output_field)  # noqa: S611  # ours


# The number of the question's different words that a passage contains, and of all its words, under
# the passage's own configuration.
_WORD_COUNTS = """
(SELECT ARRAY[count(*) FILTER (WHERE lexeme = ANY(held.lexemes)), count(*)]
 FROM (SELECT tsvector_to_array(ingestion_chunk.lexemes) AS lexemes OFFSET 0) held,
      unnest(to_tsvector(ingestion_chunk.text_config::regconfig, %(spaced)s)))
"""
