"""W3: live runs of the golden set: queued, measured through the search itself, kept as a row.

    start -> worker: measure -> claim -> candidate and baseline take turns -> figures -> done

A run that a dead worker left behind is measured again from its beginning; one is cancelled by
its state alone. Nothing is measured without the embedding model: the run then fails and says so.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from celery import current_app
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from kombu.exceptions import OperationalError

from ingestion.errors import EmbeddingError, IngestionError
from search import configuration
from search.domain import Profile, QueryClass
from search.embedding import warm_up
from search.errors import RunConflict, SearchError
from search.evaluation import measures
from search.evaluation.golden import (
    Answer,
    Golden,
    ask,
    embedding_time,
    fingerprint,
    golden_set,
    values_of,
)
from search.evaluation.runner import code_version
from search.models import EvaluationRun, Publication, SearchProfile

if TYPE_CHECKING:
    from django.contrib.auth.models import User

logger = logging.getLogger(__name__)

State = EvaluationRun.State
TASK = "search.tasks.measure_run"
# A worker speaks up after each query, at most this often; the slowest query takes seconds.
HEARTBEAT = timedelta(seconds=1)
SILENCE = timedelta(minutes=2)
# Each profile's latency is known from at least so many searches, in at most so many rounds: the
# p95 of fewer is the luck of one. A guess that keeps a small set's run within seconds.
LATENCY_SEARCHES, LATENCY_ROUNDS = 60, 5

Look = Callable[[int, int], None]


class RunFailed(SearchError):
    """The golden set could not be measured. Says why, and what to do."""

    code = "run_failed"


class RunCancelled(SearchError):
    code = "run_cancelled"


@dataclass(slots=True)
class Side:
    """What one profile did with the golden set, by the queries' keys."""

    profile: Profile
    answers: dict[str, Answer] = field(default_factory=dict)
    milliseconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def latency(self) -> dict[str, float]:
        """p50 and p95 over the queries, each by the median of its rounds."""
        return measures.latencies([float(np.median(each)) for each in self.milliseconds.values()])


@dataclass(frozen=True, slots=True)
class Comparison:
    """The golden set under a candidate and, where there is one, the profile it is held against."""

    goldens: tuple[Golden, ...]
    candidate: Side
    baseline: Side | None = None

    @property
    def differences(self) -> dict[str, measures.Interval]:
        """Candidate less baseline, by measure; empty without a baseline or a measured query."""
        if self.baseline is None or not self.candidate.values:
            return {}
        ours, theirs = self.candidate.values, self.baseline.values
        return {name: measures.difference(ours, theirs, name) for name in measures.NAMES}


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


def compare(
    goldens: Sequence[Golden],
    candidate: Profile,
    baseline: Profile | None,
    *,
    look: Look = lambda done, total: None,
) -> Comparison:
    """The golden set under both profiles. `look` is told how many searches are done, of how many.

    Raises RunFailed where the embedding model does not answer.
    """
    sides = [Side(candidate), *([Side(baseline)] if baseline else [])]
    rounds = min(LATENCY_ROUNDS, -(-LATENCY_SEARCHES // max(1, len(goldens))))
    total = rounds * len(goldens)
    warm_up()
    for done in range(total):
        look(done, total)
        golden = goldens[done % len(goldens)]
        embedding = _embedding_time(golden)
        # Whoever comes first finds the caches cold: they take turns.
        for turn in range(len(sides)):
            _ask(sides[(done + done // len(goldens) + turn) % len(sides)], golden, embedding)
    for side in sides:
        rankings = {key: answer.ranking for key, answer in side.answers.items()}
        side.values = values_of(goldens, rankings)
    return Comparison(tuple(goldens), sides[0], sides[1] if baseline else None)


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
        "differences": {
            name: {"mean": interval.mean, "low": interval.low, "high": interval.high}
            for name, interval in measured.differences.items()
        },
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


def _embedding_time(golden: Golden) -> float | None:
    try:
        return embedding_time(golden.text)
    except EmbeddingError as error:
        # No loss to a profile without the vector signal; the others answer degraded.
        logger.warning("The golden query could not be embedded: %s", error)
        return None


def _ask(side: Side, golden: Golden, embedding: float | None) -> None:
    answer = ask(golden, side.profile, embedding=embedding)
    if answer.degraded:
        raise RunFailed(
            "The embedding model did not answer, so the figures would be those of a search "
            "without it. See that it runs, and start again."
        )
    side.answers.setdefault(golden.key, answer)
    if not answer.refused:
        side.milliseconds[golden.key].append(answer.milliseconds)


def _by_class(side: Side) -> dict[str, object]:
    keys = defaultdict(list)
    for key, answer in side.answers.items():
        if answer.query_class and key in side.values:
            keys[answer.query_class].append(key)
    return {
        each.value: {"queries": len(chosen), "measures": measures.means(side.values, chosen)}
        for each in QueryClass
        if (chosen := keys.get(each))
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


def set_hash(goldens: Sequence[Golden]) -> str:
    """SHA-256 of what was asked and what counts as an answer: equal for comparable runs."""
    asked: list[tuple[str, Sequence[str], Mapping[str, int], str]] = [
        (each.text, each.collections, dict(each.qrels), each.must_be_first) for each in goldens
    ]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
