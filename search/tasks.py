"""Celery's side: load by id, call one service."""

from __future__ import annotations

from typing import Any

from celery import shared_task

from search.analytics import gathering, privacy
from search.errors import PoolError, SearchError
from search.tuning.evaluation import golden_runs
from search.tuning.experiments import running
from search.tuning.optimiser import optimisations, runner
from search.tuning.publishing import publications
from search.tuning.quality import alerts, nightly
from search.tuning.workbench import pool_building
from search.tuning.workbench.pool_spec import Width


@shared_task
def measure_run(run_id: int) -> bool:
    """Whether the run was measured here. Its row says what went wrong."""
    try:
        return golden_runs.measure(run_id) is not None
    except SearchError:
        return False


@shared_task
def build_pools(width: dict[str, Any]) -> int:
    """How many pools were built. The workbench says what went wrong."""
    try:
        return pool_building.build(Width.from_json(width))
    except PoolError:
        return 0


@shared_task
def carry_out_publication(publication_id: int) -> str:
    return publications.carry_out(publication_id).state


@shared_task
def run_optimisation(optimisation_id: int) -> str:
    """The state it ended in; its row says what was found, or what went wrong."""
    return runner.carry_out(optimisation_id)


@shared_task
def carry_out_experiment(experiment_id: int) -> str:
    return running.carry_out(experiment_id).state


@shared_task
def look_at_experiments() -> int:
    """How many experiments run, each looked at and ended where it has told enough."""
    return running.look_at_running()


# The next sweep sends again: messages must not pile up behind a busy worker.
EXPIRES = 30


@shared_task
def sweep_runs() -> int:
    """How many runs, publications, experiments and optimisations were taken up again.

    Nobody has heard of them, or a dead worker left them.
    """
    waiting = publications.waiting()
    for pk in waiting:
        carry_out_publication.apply_async((pk,), expires=EXPIRES)
    experiments = running.waiting()
    for pk in experiments:
        carry_out_experiment.apply_async((pk,), expires=EXPIRES)
    runs = golden_runs.unfinished(alone=True)
    for pk in runs:
        measure_run.apply_async((pk,), expires=EXPIRES)
    searches = optimisations.unfinished()
    for pk in searches:
        run_optimisation.apply_async((pk,), expires=EXPIRES)
    return len(waiting) + len(experiments) + len(runs) + len(searches)


@shared_task
def gather_gaps() -> int:
    return gathering.gather()


@shared_task
def forget_searchers() -> int:
    return privacy.forget()


@shared_task
def run_nightly() -> bool:
    return nightly.run_if_due() is not None


@shared_task
def watch_quality() -> int:
    """How many nights were judged. Warnings that did not arrive are sent again."""
    judged = nightly.judge()
    alerts.deliver()
    return judged
