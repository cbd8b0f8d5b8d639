"""Celery tasks: load by id, call one service.

Jobs' models name the queues of their tasks, and beat's schedule those of the periodic ones: the
`queue` of a Celery task is deprecated.
"""

from __future__ import annotations

from celery import shared_task

from common import jobs
from search.analytics import failed_search_detection, retention
from search.answers import budgets, feedback, threads
from search.engine import similarity_background
from search.errors import PoolError, SearchError
from search.readers import examples, history, reviews
from search.tuning import candidate_pool_building, optimisations, publications
from search.tuning.evaluation import golden_runs, nightly
from search.tuning.models import Optimisation, PoolBuild, Publication

# EMAIL_TIMEOUT is for each line of a mail server, which may send lines without end. A guess.
MAILING_SECONDS = 3600


@shared_task
def measure_run(run_id: int) -> bool:
    """Measure the run; return whether it was measured here. Its row has the error."""
    try:
        return golden_runs.measure(run_id) is not None
    except SearchError:
        return False


@shared_task
def build_pools(build_id: int) -> int:
    """Build pools; return how many. The row has the error."""
    try:
        return candidate_pool_building.carry_out(build_id)
    except PoolError:
        return 0


@shared_task
def refresh_pools() -> bool:
    return candidate_pool_building.refresh()


@shared_task
def carry_out_publication(publication_id: int) -> str:
    return publications.carry_out(publication_id).state


@shared_task
def run_optimisation(optimisation_id: int) -> str:
    """Run the optimisation; return its final state. The row has its result or error."""
    return optimisations.carry_out(optimisation_id)


@shared_task
def sweep_runs() -> int:
    """Enqueue the jobs that a broker lost or a dead worker left; return how many."""
    models = (Publication, Optimisation, PoolBuild)
    return sum(map(jobs.sweep, models)) + golden_runs.sweep()


@shared_task
def measure_backgrounds() -> int:
    return similarity_background.refresh()


@shared_task
def make_examples() -> int:
    return examples.refresh()


@shared_task
def gather_gaps() -> int:
    return failed_search_detection.gather(answered=feedback.answered) + feedback.gather()


@shared_task
def forget_searchers() -> int:
    return retention.forget()


@shared_task(soft_time_limit=MAILING_SECONDS)
def remind_owners() -> int:
    return reviews.remind()


@shared_task
def forget_history() -> int:
    return history.forget_history()


@shared_task
def forget_answers() -> int:
    """Fail the answers of killed workers and delete expired ones; return the number of answers."""
    budgets.settle_stale()
    threads.sweep_running()
    return threads.forget()


@shared_task
def run_nightly() -> bool:
    return nightly.run_if_due() is not None


@shared_task
def watch_quality() -> int:
    return nightly.judge()
