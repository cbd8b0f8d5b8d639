"""Celery tasks of Qdrant's points."""

from __future__ import annotations

import logging

from celery import shared_task

from common import jobs
from search.parts.qdrant import engines, rebuilding, syncing
from search.parts.qdrant.models import PointCollection
from search.parts.qdrant.points import EngineError

logger = logging.getLogger(__name__)


@shared_task
def sync() -> int:
    """Write waiting changes to Qdrant; return the number of outbox rows."""
    return syncing.sync()


@shared_task
def advance(collection_id: int) -> str:
    """Fill or remove a collection of points; return its state afterwards."""
    return rebuilding.advance(collection_id)


@shared_task
def check() -> int:
    """Compare Qdrant with Postgres and queue repairs; return the number of different points."""
    rebuilding.tidy()
    try:
        return rebuilding.check_if_due()
    except EngineError as error:
        engines.breaker.trip()
        logger.warning("The points could not be compared: %s", error)
        return 0


@shared_task
def sweep() -> int:
    """Enqueue the jobs that a broker lost or a dead worker left; return how many."""
    return jobs.sweep(PointCollection)
