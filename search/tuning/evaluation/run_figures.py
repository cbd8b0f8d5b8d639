"""A run's figures by query, restricted to what its viewer may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from ingestion.models import Document
from ingestion.models.library import Viewer
from search.tuning.models import EvaluationRun, GoldenQuery


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A run's figures for one query. Documents are public ids; None: missing or not visible.

    `query` is its public id, `titles` those of the documents that the viewer may see.
    """

    pk: int
    query: UUID
    text: str
    query_class: str
    measures: Mapping[str, float]
    was: Mapping[str, float]
    first: str | None
    was_first: str | None
    must_be_first: str | None
    titles: Mapping[str, str]

    def change(self, measure: str) -> float | None:
        """The change of the measure; None without a baseline."""
        if measure not in self.measures or measure not in self.was:
            return None
        return self.measures[measure] - self.was[measure]

    @property
    def breaks(self) -> bool:
        """Whether a must-be-first document that was first no longer is."""
        must = self.must_be_first
        return must is not None and self.first != must

    def title(self, document: str | None) -> str:
        return self.titles.get(document or "", "")


def query_rows(run: EvaluationRun, *, viewer: Viewer) -> list[QueryRow]:
    """The run's queries that still exist and `viewer` may see, in two database queries."""
    queries = GoldenQuery.objects.visible_to(viewer).filter(
        pk__in=[int(key) for key in run.by_query]
    )
    named = {
        str(row[name])
        for row in run.by_query.values()
        for name in ("first", "was_first", "must")
        if row.get(name)
    }
    seen = Document.objects.visible_to(viewer).filter(public_id__in=named)
    titles = {str(public_id): title for public_id, title in seen.values_list("public_id", "title")}

    def document(row: Mapping[str, str], name: str) -> str | None:
        return row[name] if row.get(name) in titles else None

    found = []
    for query in queries.order_by("folded", "pk"):
        row = run.by_query[str(query.pk)]
        found.append(
            QueryRow(
                pk=query.pk,
                query=query.public_id,
                text=row.get("text", query.text),
                query_class=row.get("class", ""),
                measures=row.get("measures", {}),
                was=row.get("was", {}),
                first=document(row, "first"),
                was_first=document(row, "was_first"),
                must_be_first=document(row, "must"),
                titles=titles,
            )
        )
    return found
