"""Evaluation runs of the golden set through the live search: queued, measured, stored, shown.

    start -> worker: measure -> claim -> compare: both profiles take turns -> figures, done

A run whose worker died is measured again from the beginning. A run fails if the embedding model
is unavailable. A run's figures are restricted to what its viewer may see.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext

from common import jobs
from common.accounts.models import User
from common.jobs import Lease, enqueue, work_on
from ingestion.models import Document
from ingestion.models.visibility import Viewer
from search.engine import configuration
from search.errors import RunFailed
from search.models import SearchProfile
from search.tuning import life_cycle
from search.tuning.evaluation import measures
from search.tuning.evaluation.golden_set import (
    Golden,
    MeasuredPair,
    compare,
    fingerprint,
    golden_queries,
)
from search.tuning.evaluation.library_stamp import conditions
from search.tuning.evaluation.profile_runs import code_version
from search.tuning.models import EvaluationRun, GoldenQuery, Publication

State = EvaluationRun.State
VALID_FOR = timedelta(days=1)  # a guess


def start(
    profile: SearchProfile, *, acting_user: User | None, baseline: SearchProfile | None = None
) -> EvaluationRun:
    """Queue a run of the golden set, against the active profile unless `baseline` is given."""
    run = create(profile, acting_user=acting_user, baseline=baseline)
    enqueue(EvaluationRun, run.pk)
    return run


def create(
    profile: SearchProfile, *, acting_user: User | None, baseline: SearchProfile | None = None
) -> EvaluationRun:
    """Create a run that the caller enqueues or measures: at first the sweep skips it."""
    if baseline is None:
        baseline = SearchProfile.active()
    if baseline is not None and baseline.pk == profile.pk:
        baseline = None
    return EvaluationRun.objects.create(
        state=State.QUEUED,
        progress=0,
        profile=profile,
        baseline=baseline,
        user=acting_user,
        fingerprint=fingerprint(profile.as_profile()),
        enqueued_at=timezone.now(),
    )


def latest_valid(profile: SearchProfile) -> EvaluationRun | None:
    """The last run whose figures measuring the profile now would give again; None without one.

    It compares with the active profile. Its age is limited: recency counts days, and search times
    are those of the machine as it was.
    """
    return EvaluationRun.objects.filter(
        state=State.DONE,
        fingerprint=fingerprint(profile.as_profile()),
        baseline=SearchProfile.active(),
        conditions=conditions(golden_queries()),
        created__gte=timezone.now() - VALID_FOR,
    ).first()


def cancel(run: EvaluationRun) -> None:
    """End a queued or running run. Raises RunConflict for one that has ended."""
    refusal = gettext("This run has already ended. Start a new one instead.")
    life_cycle.cancel(run, refusal, error="Cancelled.")


def sweep() -> int:
    """Enqueue idle runs, except those of publications, which measure their own."""
    publications = Publication.objects.filter(state=Publication.State.MEASURING, run__isnull=False)
    return jobs.sweep(
        EvaluationRun, EvaluationRun.open_jobs().exclude(pk__in=publications.values("run"))
    )


def measure(pk: int) -> MeasuredPair | None:
    """Measure and store a run; return its figures, or None if another process holds the run.

    None, too, if it was cancelled meanwhile. A failure is stored in the row and raised as
    RunFailed.
    """
    return work_on(EvaluationRun, pk, _measure, state=State.RUNNING, progress=0)


def _measure(lease: Lease[EvaluationRun]) -> MeasuredPair:
    run, queries = lease.row, golden_queries()
    before = conditions(queries)
    crashed = gettext(
        "Measuring crashed the worker %(max_attempts)s times. Check the worker's log."
    )
    with life_cycle.attempt(lease, crashed):
        measured = compare(
            [golden for golden, refusal in queries if not refusal],
            run.profile.as_profile(),
            run.baseline.as_profile() if run.baseline else None,
            progress=lambda done, total: lease.report(done / total),
        )
    figures = figures_of(measured)
    figures["by_query"] |= {
        golden.key: _refused_row(golden, refusal) for golden, refusal in queries if refusal
    }
    if before == conditions(golden_queries()):
        figures["conditions"] = before
    lease.finish(State.DONE, **figures)
    return measured


def complete(run: EvaluationRun) -> bool:
    """Measure the run unless it has ended; return False while another process measures it.

    A failure does not raise: the row states it.
    """
    if run.is_open:
        with suppress(RunFailed):
            measure(run.pk)
        run.refresh_from_db(fields=["state"])
    return not run.is_open


def figures_of(measured: MeasuredPair) -> dict[str, Any]:
    """The result columns of a run."""
    side, space = measured.candidate, configuration.current().space
    classes = {
        key: answer.query_class for key, answer in side.answers.items() if answer.query_class
    }
    return {
        "queries": len(side.values),
        "measures": measures.means(side.values),
        "by_class": {
            query_class.value: {"queries": count, "measures": means}
            for query_class, (count, means) in measures.by_class(side.values, classes).items()
        },
        "differences": {name: asdict(each) for name, each in measured.differences.items()},
        "embedding_space": space.name if space else "",
        "code_version": code_version(),
        "progress": 1.0,
        "error": "",
        "by_query": {golden.key: _query_row(golden, measured) for golden in measured.goldens},
        "latency_ms": _latency(measured),
        "fingerprint": fingerprint(side.profile),
    }


def _query_row(golden: Golden, measured: MeasuredPair) -> dict[str, object]:
    """A query's entry in `EvaluationRun.by_query`."""
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


def _refused_row(golden: Golden, refusal: str) -> dict[str, object]:
    """The entry of a query that no search can run any more: it counts in no mean."""
    nothing: dict[str, object] = {"measures": {}, "was": {}}
    places = dict.fromkeys(("class", "first", "was_first", "must"), "")
    return {"text": golden.text, **nothing, **places, "error": refusal}


def _latency(measured: MeasuredPair) -> dict[str, float]:
    before = measured.baseline.latency if measured.baseline else {}
    theirs = {f"baseline_{name}": value for name, value in before.items()}
    return {**measured.candidate.latency, **theirs}


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A run's figures for one query. Documents are public ids; None: missing or not visible.

    `query` is its public id, `error` why no search could run it, `titles` those of the documents
    that the viewer may see.
    """

    pk: int
    query: UUID
    text: str
    query_class: str
    measures: Mapping[str, float]
    was: Mapping[str, float]
    first: str | None
    was_first: str | None
    must_be_first: str | None
    error: str
    titles: Mapping[str, str]

    def change(self, measure: str) -> float | None:
        """The change of the measure; None without a baseline."""
        if measure not in self.measures or measure not in self.was:
            return None
        return self.measures[measure] - self.was[measure]

    @property
    def breaks(self) -> bool:
        """Whether a must-be-first document that was first no longer is."""
        must = self.must_be_first
        return must is not None and self.first != must

    def title(self, document: str | None) -> str:
        return self.titles.get(document or "", "")


def query_rows(run: EvaluationRun, *, viewer: Viewer) -> list[QueryRow]:
    """The run's existing queries that `viewer` may see, in two database queries."""
    queries = GoldenQuery.objects.visible_to(viewer).filter(
        pk__in=[int(key) for key in run.by_query]
    )
    references = {
        str(row[name])
        for row in run.by_query.values()
        for name in ("first", "was_first", "must")
        if row.get(name)
    }
    docs = Document.objects.visible_to(viewer).filter(public_id__in=references)
    titles = {str(public_id): title for public_id, title in docs.values_list("public_id", "title")}

    def document(row: Mapping[str, str], name: str) -> str | None:
        return row[name] if row.get(name) in titles else None

    rows = []
    for query in queries.order_by("folded", "pk"):
        row = run.by_query[str(query.pk)]
        rows.append(
            QueryRow(
                pk=query.pk,
                query=query.public_id,
                text=row.get("text", query.text),
                query_class=row.get("class", ""),
                measures=row.get("measures", {}),
                was=row.get("was", {}),
                first=document(row, "first"),
                was_first=document(row, "was_first"),
                must_be_first=document(row, "must"),
                error=row.get("error", ""),
                titles=titles,
            )
        )
    return rows
