"""Celery's side: load by id, call one service."""

from __future__ import annotations

from celery import shared_task

from ingestion import steps, terms
from ingestion.sweeping import sweep_unfinished


@shared_task
def advance_version(version_id: int) -> bool:
    return steps.advance(version_id)


@shared_task
def sweep() -> int:
    return sweep_unfinished()


@shared_task
def fold_statistics() -> bool:
    return terms.fold()
