"""Celery tasks of experiments."""

from __future__ import annotations

from celery import shared_task

from common import jobs
from search.parts.experiments import life_cycle
from search.parts.experiments.models import Experiment


@shared_task
def carry_out(experiment_id: int) -> str:
    return life_cycle.carry_out(experiment_id).state


@shared_task
def analyse() -> int:
    """Update the running experiments, end those with a verdict; return their number."""
    return life_cycle.analyse_running()


@shared_task
def sweep() -> int:
    """Enqueue the jobs that a broker lost or a dead worker left; return how many."""
    return jobs.sweep(Experiment)
