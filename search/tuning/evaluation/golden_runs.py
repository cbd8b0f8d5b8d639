"""W3: live runs of the golden set: queued, measured through the search itself, kept as a row.

    start -> worker: measure -> claim -> compare: both profiles take turns -> write: figures, done

A run that a dead worker left behind is measured again from its beginning; one is cancelled by
its state alone. Nothing is measured without the embedding model: the run then fails and says so.
"""

from __future__ import annotations

import logging
import time
import uuid
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from celery import current_app
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from kombu.exceptions import OperationalError

from ingestion.errors import IngestionError
from search.engine import configuration
from search.errors import RunCancelled, RunConflict, RunFailed
from search.models import SearchProfile
from search.tuning.evaluation import measures
from search.tuning.evaluation.golden import Golden, fingerprint, golden_set, set_hash
from search.tuning.evaluation.golden_comparison import Comparison, Side, compare
from search.tuning.evaluation.runner import code_version
from search.tuning.models import EvaluationRun, Publication

if TYPE_CHECKING:
    from common.accounts.models import User

logger = logging.getLogger(__name__)

State = EvaluationRun.State
TASK = "search.tasks.measure_run"
# A worker speaks up after each query, at most this often; the slowest query takes seconds.
HEARTBEAT = timedelta(seconds=1)
SILENCE = timedelta(minutes=2)


def start(
    profile: SearchProfile, *, acting_user: User | None, baseline: SearchProfile | None = None
) -> EvaluationRun:
    """A queued run of the golden set, against the active profile unless `baseline` is given."""
    run = create(profile, acting_user=acting_user, baseline=baseline)
    enqueue(run)
    return run


def create(
    profile: SearchProfile, *, acting_user: User | None, baseline: SearchProfile | None = None
) -> EvaluationRun:
    """The row of a run that nobody measures yet."""
    if baseline is None:
        baseline = SearchProfile.objects.filter(state=SearchProfile.State.ACTIVE).first()
    if baseline is not None and baseline.pk == profile.pk:
        baseline = None
    return EvaluationRun.objects.create(
        kind=EvaluationRun.Kind.GOLDEN,
        state=State.QUEUED,
        progress=0,
        profile=profile,
        baseline=baseline,
        user=acting_user,
        fingerprint=fingerprint(profile.as_profile()),
    )


def enqueue(run: EvaluationRun) -> None:
    """Asks a worker to measure the run, once the present transaction is committed."""
    transaction.on_commit(partial(send, TASK, run.pk))


def send(task: str, pk: int) -> None:
    """Sends a message; a broker that is away is no error: the sweep sends again."""
    try:
        current_app.send_task(task, args=[pk])
    except (OperationalError, OSError) as error:
        logger.warning("The broker is away (%s); %s %s waits for the sweep", error, task, pk)


def cancel(run: EvaluationRun) -> None:
    """Ends a run that waits or is being measured. Raises RunConflict for one that has ended."""
    open_runs = EvaluationRun.objects.filter(pk=run.pk, state__in=(State.QUEUED, State.RUNNING))
    if not open_runs.update(state=State.CANCELLED, error="Cancelled."):
        raise RunConflict("This run has ended already. Start a new one instead.")
    run.refresh_from_db()


def restart(run: EvaluationRun) -> None:
    """Queues a run that failed or was cancelled once more. Raises RunConflict for any other."""
    ended = EvaluationRun.objects.filter(
        pk=run.pk, kind=EvaluationRun.Kind.GOLDEN, state__in=(State.FAILED, State.CANCELLED)
    )
    snapshot = fingerprint(run.profile.as_profile())
    if not ended.update(
        state=State.QUEUED, progress=0, error="", claim=None, heartbeat=None, fingerprint=snapshot
    ):
        raise RunConflict(
            "Only a run of the golden queries that failed or was cancelled starts again. Start a "
            "new one instead."
        )
    run.refresh_from_db()
    enqueue(run)


def unfinished(*, alone: bool = False) -> list[int]:
    """The pks of runs that wait unheard or that a dead worker left behind.

    `alone`: without those that a publication waits for, which measures its own.
    """
    now = timezone.now()
    waiting = Q(state=State.QUEUED, created__lt=now - timedelta(seconds=10))
    left = Q(state=State.RUNNING, heartbeat__lt=now - SILENCE)
    golden = EvaluationRun.objects.filter(kind=EvaluationRun.Kind.GOLDEN)
    if alone:
        golden = golden.exclude(publications__state=Publication.State.MEASURING)
    return list(golden.filter(waiting | left).order_by("pk").values_list("pk", flat=True)[:100])


def measure(pk: int) -> Comparison | None:
    """What the run measured, after it is written down; None where it is not ours to measure.

    A failure is written into the row; RunFailed and RunCancelled are raised as well.
    """
    claim = _claim(pk)
    if claim is None:
        return None
    run = EvaluationRun.objects.select_related("profile", "baseline").get(pk=pk)
    ours = EvaluationRun.objects.filter(pk=pk, claim=claim, state=State.RUNNING)
    try:
        measured = compare(
            golden_set(),
            run.profile.as_profile(),
            run.baseline.as_profile() if run.baseline else None,
            look=_Reporter(pk, claim),
        )
    except (RunFailed, IngestionError) as error:
        ours.update(state=State.FAILED, error=str(error))
        raise RunFailed(str(error)) from error
    except RunCancelled:
        raise
    except Exception as error:
        ours.update(state=State.FAILED, error=f"It broke off ({error}). Start it again.")
        raise
    write(run, measured)
    return measured


def brought_to_an_end(run: EvaluationRun) -> bool:
    """Whether the run has ended, measured here if it must be; False while another is at it.

    A failure is no error here: the row says so.
    """
    if not run.is_open:
        return True
    try:
        return measure(run.pk) is not None
    except (RunFailed, RunCancelled):
        return True


def write(run: EvaluationRun, measured: Comparison) -> None:
    """Writes down what was measured; nothing where the run was cancelled meanwhile."""
    space = configuration.current().space
    values: dict[str, object] = {
        "state": State.DONE,
        "progress": 1.0,
        "error": "",
        "queries": len(measured.candidate.values),
        "measures": measures.means(measured.candidate.values),
        "by_class": _by_class(measured.candidate),
        "by_query": {golden.key: _query_row(golden, measured) for golden in measured.goldens},
        "latency_ms": _latency(measured),
        "differences": {name: asdict(interval) for name, interval in measured.differences.items()},
        "corpus_hash": set_hash(measured.goldens),
        "fingerprint": fingerprint(measured.candidate.profile),
        "embedding_space": space.name if space else "",
        "code_version": code_version(),
    }
    written = EvaluationRun.objects.filter(pk=run.pk).exclude(state=State.CANCELLED)
    if not written.update(**values):
        raise RunCancelled("The run was cancelled.")
    run.refresh_from_db()


def _claim(pk: int) -> uuid.UUID | None:
    """The token of whoever measures the run now; None where another does, or it has ended."""
    claim, now = uuid.uuid4(), timezone.now()
    free = Q(state=State.QUEUED) | Q(state=State.RUNNING, heartbeat__lt=now - SILENCE)
    rows = EvaluationRun.objects.filter(free, pk=pk, kind=EvaluationRun.Kind.GOLDEN)
    taken = rows.update(state=State.RUNNING, claim=claim, heartbeat=now, progress=0, error="")
    return claim if taken else None


class _Reporter:
    """Tells the row how far a run is. Raises RunCancelled once it is no longer ours."""

    def __init__(self, pk: int, claim: uuid.UUID) -> None:
        self.rows = EvaluationRun.objects.filter(pk=pk, claim=claim, state=State.RUNNING)
        self.told = 0.0

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() - self.told < HEARTBEAT.total_seconds():
            return
        self.told = time.monotonic()
        if not self.rows.update(progress=done / total, heartbeat=timezone.now()):
            raise RunCancelled("The run was cancelled.")


def _by_class(side: Side) -> dict[str, object]:
    classes = {
        key: answer.query_class for key, answer in side.answers.items() if answer.query_class
    }
    return {
        each.value: {"queries": count, "measures": means}
        for each, (count, means) in measures.by_class(side.values, classes).items()
    }


def _query_row(golden: Golden, measured: Comparison) -> dict[str, object]:
    """A query's part of `EvaluationRun.by_query`."""
    answer, side = measured.candidate.answers[golden.key], measured.candidate
    row: dict[str, object] = {
        "text": golden.text,
        "class": answer.query_class.value if answer.query_class else "",
        "measures": side.values.get(golden.key, {}),
        "first": answer.first,
        "must": golden.must_be_first,
    }
    if measured.baseline is not None:
        row["was"] = measured.baseline.values.get(golden.key, {})
        row["was_first"] = measured.baseline.answers[golden.key].first
    return row


def _latency(measured: Comparison) -> dict[str, float]:
    before = measured.baseline.latency if measured.baseline else {}
    theirs = {f"baseline_{name}": value for name, value in before.items()}
    return {**measured.candidate.latency, **theirs}
