"""Version tokens of what the figures of a run depend on: the library, and all else."""

from __future__ import annotations

import hashlib
import json

from django.conf import settings
from django.db.models import Count, Max, Sum

from ingestion.models import ChunkEdit, Collection, Document
from ingestion.models.statistics import CorpusChange, CorpusStatistics
from search.engine import configuration
from search.tuning.evaluation.profile_runs import code_version

_SETTINGS = ("RERANKER", "RERANKER_URL", "RERANKER_MODEL", "RETRIEVAL_BACKEND", "QUERY_CLASSIFIER")


def conditions(queries: object) -> str:
    """A version token of all but the profiles: library, curation, settings, program, queries."""
    options = [getattr(settings, name) for name in _SETTINGS]
    return digest(corpus_stamp(), configuration.current().stamp, options, code_version(), queries)


def corpus_stamp() -> str:
    """A version token that changes with the library's passages and their term statistics."""
    documents = Document.objects.undeleted()
    return digest(
        documents.aggregate(Count("pk"), Max("updated"), Sum("current_id")),
        Collection.objects.undeleted().aggregate(Count("pk"), Sum("pk")),
        ChunkEdit.objects.aggregate(Count("pk"), Max("updated")),
        _sums(),
        list(CorpusStatistics.objects.order_by("pk").values_list("weighed_length", flat=True)),
    )


def _sums() -> dict[str, int]:
    """The folded and unfolded totals, summed: folding does not change a score."""
    parts = [
        model.objects.aggregate(chunks=Sum("chunks"), length=Sum("total_length"))
        for model in (CorpusStatistics, CorpusChange)
    ]
    return {name: sum(part[name] or 0 for part in parts) for name in ("chunks", "length")}


def digest(*parts: object) -> str:
    """A hash of the parts."""
    return hashlib.sha256(json.dumps(parts, default=repr).encode()).hexdigest()
