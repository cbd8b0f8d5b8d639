"""All counters and histograms of the site.

Every label takes few values, known before: classes, stages, formats, tasks. No label holds a text
of a reader or of a document. Each metric has a label, so that a process that counts nothing
leaves no file (`processes`). Gauges of the whole site belong to its probes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from prometheus_client import Counter, Histogram

# Upper bounds in seconds: of what a reader waits for, and of work in the background.
_READER = (0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0)
_STAGE = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0, 1.5, 2.5, 5.0)
_WORK = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)

REQUESTS = Histogram(
    "steelyard_request_seconds",
    "Seconds until a request was answered, or its stream began, by part of the site and status.",
    ["area", "status"],
    buckets=_READER,
)
SEARCH_SECONDS = Histogram(
    "steelyard_search_seconds",
    "Seconds of a search by stage (embed, retrieve, rank, rerank, show, total) and query class.",
    ["stage", "query_class"],
    buckets=_STAGE,
)
SEARCHES = Counter(
    "steelyard_searches",
    "Searches by query class, and whether they were answered as they should be: "
    "full, degraded (a signal or a stage could not run).",
    ["query_class", "quality"],
)
SEARCH_RESULTS = Counter(
    "steelyard_search_results",
    "Searches by query class and by what was found: sure, unsure (low confidence), nothing.",
    ["query_class", "found"],
)
DEGRADED = Counter(
    "steelyard_search_degraded_parts",
    "Searches by the signal or stage that could not run.",
    ["part"],
)
DOCUMENTS = Counter(
    "steelyard_documents",
    "Files processed by format and outcome: ready, failed, or postponed (to be tried again).",
    ["format", "outcome"],
)
DOCUMENT_FAILURES = Counter(
    "steelyard_document_failures",
    "Files that failed, by the code of the reason that the document's page shows.",
    ["code"],
)
DOCUMENT_SECONDS = Histogram(
    "steelyard_document_seconds",
    "Seconds of one attempt at a file by format and step: parse, or whole.",
    ["format", "step"],
    buckets=_WORK,
)
DOCUMENT_BYTES = Counter(
    "steelyard_document_bytes", "Bytes of the files that became ready, by format.", ["format"]
)
EMBEDDER_SECONDS = Histogram(
    "steelyard_embedder_seconds",
    "Seconds of a call of the embedding model by kind (local, openai), use (query, passages) and "
    "outcome (ok, unavailable, rejected).",
    ["kind", "use", "outcome"],
    buckets=_READER,
)
EMBEDDED = Counter(
    "steelyard_embedded_texts", "Texts that were embedded, by kind and use.", ["kind", "use"]
)
MODEL_SECONDS = Histogram(
    "steelyard_model_seconds",
    "Seconds of a call of the language model by purpose and outcome (ok, or the failure's code).",
    ["purpose", "outcome"],
    buckets=_WORK,
)
MODEL_TOKENS = Counter(
    "steelyard_model_tokens",
    "Tokens of the language model by purpose and kind (prompt, completion).",
    ["purpose", "kind"],
)
MODEL_COST = Counter(
    "steelyard_model_cost",
    "Cost of the language model by purpose, in the currency of the price table.",
    ["purpose"],
)
RERANKER_SECONDS = Histogram(
    "steelyard_reranker_seconds",
    "Seconds of a question to the reranker by outcome (ok, failed).",
    ["outcome"],
    buckets=_STAGE,
)
CACHE = Counter(
    "steelyard_cache_lookups",
    "Values looked for in a cache (query_embeddings, reranker) by result: hit, miss, failure.",
    ["cache", "result"],
)
TASK_SECONDS = Histogram(
    "steelyard_task_seconds",
    "Seconds of a background task by name and outcome (done, failed).",
    ["task", "outcome"],
    buckets=_WORK,
)
TASKS_SENT = Counter(
    "steelyard_tasks_sent", "Messages sent to the workers, by task; beat sends most.", ["task"]
)


def count(counter: Counter, amount: float = 1, **labels: str) -> None:
    """Add `amount` under the labels. If the disk is full, the count is lost without an error."""
    with suppress(OSError):
        counter.labels(**labels).inc(amount)


def observe(histogram: Histogram, seconds: float, **labels: str) -> None:
    """Add one observation under the labels; errors of the disk are ignored as in `count`."""
    with suppress(OSError):
        histogram.labels(**labels).observe(seconds)


@contextmanager
def timed(histogram: Histogram, **labels: str) -> Iterator[dict[str, str]]:
    """Observe the seconds of the block under `labels`, which the block may change or add to."""
    current = dict(labels)
    started = time.perf_counter()
    try:
        yield current
    finally:
        observe(histogram, time.perf_counter() - started, **current)


def count_search(
    query_class: str, milliseconds: Mapping[str, float], degraded: Iterable[str], *, found: str
) -> None:
    """Count one answered search; `found` is the label sure, unsure or nothing."""
    parts = tuple(degraded)
    for stage, spent in milliseconds.items():
        observe(SEARCH_SECONDS, spent / 1000, stage=stage, query_class=query_class)
    quality = "degraded" if parts else "full"
    count(SEARCHES, query_class=query_class, quality=quality)
    count(SEARCH_RESULTS, query_class=query_class, found=found)
    for part in parts:
        count(DEGRADED, part=part)


def count_usage(purpose: str, prompt: int, completion: int, cost: float) -> None:
    """Count the tokens and the cost of one call of the language model."""
    count(MODEL_TOKENS, prompt, purpose=purpose, kind="prompt")
    count(MODEL_TOKENS, completion, purpose=purpose, kind="completion")
    count(MODEL_COST, cost, purpose=purpose)
