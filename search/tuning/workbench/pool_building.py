"""W2: pools built: each golden query's candidates found once, by a worker."""

from __future__ import annotations

import logging
from collections.abc import Callable

from celery import current_app
from django.core.cache import cache
from django.db.models import Max
from django.utils import timezone
from kombu.exceptions import OperationalError

from ingestion import spaces
from ingestion.errors import EmbeddingError
from search.domain import Candidates, Profile
from search.engine import configuration
from search.engine.configuration import Configuration
from search.engine.find import find_wide
from search.engine.settle import read
from search.errors import InvalidFilter, NothingAsked, PoolError, QueryTooLong
from search.retrieval import Filters
from search.tuning.evaluation.asking import evaluator
from search.tuning.evaluation.golden import Golden, golden_set
from search.tuning.evaluation.pooled import facts
from search.tuning.models import CandidatePool
from search.tuning.workbench.pool_spec import Width, corpus_stamp
from search.tuning.workbench.pools import asked_by, covers, described, progress_key

logger = logging.getLogger(__name__)

KEPT_KEYS = 4
TASK = "search.tasks.build_pools"
# A build that has said nothing for so long has died: each query takes a part of a second.
SILENT_SECONDS = 120


def build(width: Width, look: Callable[[int, int], None] = lambda done, total: None) -> int:
    """How many pools were built: those that are missing, stale, or do not look so far.

    One builder at a time for a key; a second one builds nothing. Raises PoolError where the
    embedding model is away: pools without meaning would measure something else.
    """
    configured = configuration.current()
    key = width.key(configured)
    if not cache.add(_lock_key(key), value=True, timeout=SILENT_SECONDS):
        return 0
    try:
        return _build(width, key, configured, look)
    except PoolError as error:
        _tell(key, None, str(error))
        raise
    finally:
        cache.delete(_lock_key(key))


def wanted(width: Width, configured: Configuration) -> list[Golden]:
    """The golden queries that have no fresh pool that looks so far."""
    goldens = golden_set()
    rows = {row.query_id: row for row in described(width.key(configured), goldens)}
    corpus = corpus_stamp()
    return [
        golden
        for golden in goldens
        if not covers(rows.get(golden.pk), golden, width) or rows[golden.pk].corpus != corpus
    ]


def _build(
    width: Width, key: str, configured: Configuration, look: Callable[[int, int], None]
) -> int:
    goldens = wanted(width, configured)
    corpus = corpus_stamp()
    for done, golden in enumerate(goldens):
        look(done, len(goldens))
        _tell(key, done / len(goldens))
        cache.touch(_lock_key(key), SILENT_SECONDS)
        _keep(golden, width, key, corpus, configured)
    cache.delete(progress_key(key))
    _forget_old_keys()
    return len(goldens)


def _keep(
    golden: Golden, width: Width, key: str, corpus: str, configured: Configuration
) -> CandidatePool:
    profile = width.profile()
    found = _found(golden, profile, configured)
    embeddings = found.embeddings.tobytes() if found.embeddings is not None else b""
    row, _ = CandidatePool.objects.update_or_create(
        query_id=golden.pk,
        key=key,
        defaults={
            "corpus": corpus,
            "asked": asked_by(golden),
            "facts": facts(found, profile.depth),
            "rows": found.rows.tobytes(),
            "embeddings": embeddings,
            "candidates": len(found),
            "built": found.at or timezone.now(),
        },
    )
    return row


def _found(golden: Golden, profile: Profile, configured: Configuration) -> Candidates:
    filters = Filters(collections=golden.collections)
    try:
        if configured.space is not None:
            # Here it may take its time: a search gives up after a while and goes on without.
            spaces.query_embedder().embed_query(golden.text)
        found = find_wide(golden.text, configured, profile, viewer=evaluator(), filters=filters)
    except EmbeddingError as error:
        raise PoolError(f"{AWAY} It says: {error}") from error
    except (QueryTooLong, InvalidFilter, NothingAsked):
        return Candidates(read("", configured))
    if found.degraded:
        raise PoolError(AWAY)
    return found


AWAY = (
    "The candidates of the golden queries could not be found, because the embedding model did not "
    "answer. See that it runs, and build them again."
)


def _forget_old_keys() -> None:
    """Removes the pools that other scorers or another configuration left behind long ago."""
    newest = CandidatePool.objects.values("key").annotate(at=Max("built")).order_by("-at")
    kept = [row["key"] for row in newest[:KEPT_KEYS]]
    CandidatePool.objects.exclude(key__in=kept).delete()


def _tell(key: str, share: float | None, problem: str = "") -> None:
    cache.set(progress_key(key), {"share": share, "problem": problem}, SILENT_SECONDS)


def enqueue_both(active: Profile, draft: Profile) -> None:
    """Asks a worker for the candidates that both profiles need: once where they score alike."""
    widths = [Width.of(active), Width.of(draft)]
    if widths[0].scores_like(widths[1]):
        widths = [widths[0].joined(widths[1])]
    for width in widths:
        enqueue(width)


def enqueue(width: Width) -> None:
    """Asks a worker to build what is missing; shown as begun until the worker says more."""
    key = width.key(configuration.current())
    _tell(key, 0.0)
    try:
        current_app.send_task(TASK, args=[width.as_json()])
    except (OperationalError, OSError) as error:
        logger.warning("The broker is away (%s): pools %s wait to be asked for again", error, key)
        _tell(key, None, "The queue does not answer: see that Redis and the worker run.")


def _lock_key(key: str) -> str:
    return f"pools:{key}:lock"
