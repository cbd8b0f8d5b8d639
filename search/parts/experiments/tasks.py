"""Celery tasks of experiments."""

from __future__ import annotations

from celery import shared_task

from search.parts.experiments import life_cycle


@shared_task
def analyse() -> int:
    """Update the running experiments, end those with a verdict; return their number."""
    return life_cycle.analyse_running()
