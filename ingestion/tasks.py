"""Celery tasks: each calls one service with an id.

The models of jobs name the queues of their tasks, and beat's schedule those of the periodic ones:
the `queue` option of a Celery task is deprecated.
"""

from __future__ import annotations

from celery import shared_task

from common import jobs
from common.api import idempotency
from ingestion.documents import processing_steps, purging
from ingestion.intake import import_runner as runner
from ingestion.intake.imports import forget_files
from ingestion.intake.watched_folder_scan import scan
from ingestion.lexical import bm25_weights
from ingestion.models import DocumentVersion, Import, Purge, WatchedFolder
from ingestion.spaces import backfill, metered_embedder
from ingestion.webhooks import sending
from ingestion.webhooks.models import Webhook


@shared_task
def advance_version(version_id: int) -> bool:
    return processing_steps.advance_in_turn(version_id)


@shared_task
def advance_space(space_id: int) -> bool:
    return backfill.advance(space_id)


@shared_task
def run_import(import_id: int) -> bool:
    return runner.run(import_id)


@shared_task
def scan_folder(folder_id: int) -> bool:
    return scan(folder_id)


@shared_task
def deliver_webhook(webhook_id: int) -> int:
    return sending.deliver(webhook_id)


@shared_task
def advance_purge(purge_id: int) -> bool:
    return purging.advance(purge_id)


@shared_task
def sweep() -> int:
    idempotency.forget_expired()
    metered_embedder.try_again()
    swept = sum(jobs.sweep(model) for model in (DocumentVersion, Import, Purge, Webhook))
    return swept + backfill.sweep_spaces()


@shared_task
def look_at_folders() -> int:
    return jobs.sweep(WatchedFolder)


@shared_task
def fold_statistics() -> bool:
    return bm25_weights.fold()


@shared_task
def purge_bin() -> None:
    forget_files()
    sending.forget_old()
    purging.purge_bin()
