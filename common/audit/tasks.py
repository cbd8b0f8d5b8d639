"""Background tasks of the audit trail. Idempotent."""

from __future__ import annotations

from celery import shared_task

from common.audit import trail


@shared_task
def forget_events() -> None:
    """Delete events older than AUDIT_DAYS."""
    trail.forget()
