"""Celery tasks of backups."""

from __future__ import annotations

from celery import shared_task

from kbsite.backups import services


@shared_task
def back_up_if_due() -> bool:
    return services.back_up_if_due() is not None
