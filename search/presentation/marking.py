"""Q7: a chunk's text with the words marked that Postgres matches in the chunk's configuration."""

from __future__ import annotations

from typing import Any

from django.db.models import TextField
from django.db.models.expressions import RawSQL

from ingestion.lexical.ngrams import tidied_sql
from search.presentation.snippets import MARK_END, MARK_START, mark_runs, restored

_OPTIONS = f"HighlightAll=true, StartSel={MARK_START}, StopSel={MARK_END}"
_PARTED = "\ue002"  # private use: like MARK_START it never occurs in a text
_MARKED = """
ts_headline(ingestion_chunk.text_config::regconfig, {text}, {question}, %s)
|| '{parted}' || ingestion_chunk.text
"""


class _MarkedText(TextField):  # type: ignore[type-arg]  # Django's takes none
    """A marked text, completed: Postgres ignores runs of letters, and marks a tidied text."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words

    def from_db_value(self, value: str, *_: Any) -> str:
        headline, text = value.split(_PARTED, 1)
        return mark_runs(restored(headline, text), self.words)


def marked(question: str, *params: str) -> RawSQL:
    """The whole text, each match between MARK_START and MARK_END, for `snippet` or `highlight`.

    `question` is trusted SQL for a tsquery over `ingestion_chunk`; `params` are its values.
    """
    sql = _MARKED.format(parted=_PARTED, text=tidied_sql("ingestion_chunk.text"), question=question)
    return RawSQL(sql, (*params, _OPTIONS), output_field=_MarkedText(" ".join(params)))
