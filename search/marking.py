"""Q7: a chunk's text with words marked, as Postgres finds them under the chunk's configuration."""

from __future__ import annotations

from django.db.models import TextField
from django.db.models.expressions import RawSQL

from search.snippets import MARK_END, MARK_START

_OPTIONS = f"HighlightAll=true, StartSel={MARK_START}, StopSel={MARK_END}"


def marked(question: str, *params: str) -> RawSQL:
    """The whole text, each match between MARK_START and MARK_END, for `snippet` or `highlight`.

    `question` is SQL of ours for a tsquery over `ingestion_chunk`; `params` are its values.
    """
    return RawSQL(
        "ts_headline(ingestion_chunk.text_config::regconfig, ingestion_chunk.text,"
        f" {question}, %s)",
        (*params, _OPTIONS),
        output_field=TextField(),
    )
