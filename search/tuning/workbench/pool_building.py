"""W2: pools built: each golden query's candidates found once, by a worker."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from common import jobs
from common.jobs import MAX_ATTEMPTS, Lease, claim
from ingestion import spaces
from ingestion.errors import EmbeddingError
from search.domain import Candidates, Profile
from search.engine import configuration
from search.engine.configuration import Configuration
from search.engine.find import find_wide
from search.engine.settle import read
from search.errors import InvalidFilter, NothingAsked, PoolError, QueryTooLong
from search.retrieval import Filters
from search.tuning.evaluation.asking import evaluator
from search.tuning.evaluation.golden import Golden, golden_set
from search.tuning.evaluation.pooled import facts
from search.tuning.models import CandidatePool, PoolBuild
from search.tuning.workbench.pool_spec import Width, corpus_stamp
from search.tuning.workbench.pools import asked_by, covers, described

State = PoolBuild.State
Look = Callable[[int, int], None]

KEPT_KEYS = 4


def build(width: Width, look: Look = lambda done, total: None) -> int:
    """How many pools were built: those that are missing, stale, or do not look so far.

    One builder at a time for a key; a second one builds nothing. Raises PoolError where the
    embedding model is away: pools without meaning would measure something else.
    """
    return carry_out(_asked_for(width).pk, look)


def carry_out(pk: int, look: Look = lambda done, total: None) -> int:
    """How many pools were built for the row. Raises PoolError, as `build` does."""
    lease = claim(PoolBuild, pk, state=State.RUNNING, progress=0)
    if lease is None:
        return 0
    with lease:
        try:
            return _carry_out(lease, look)
        except PoolError as error:
            lease.finish(State.FAILED, error=str(error))
            raise
    return 0


def _carry_out(lease: Lease[PoolBuild], look: Look) -> int:
    """Builds until nobody has asked meanwhile for pools that look further."""
    if lease.keeps_crashing:
        raise PoolError(f"Building them ended the worker {MAX_ATTEMPTS} times. See the log.")
    configured, count = configuration.current(), 0
    while lease.row.state == State.RUNNING:
        built = lease.row.width
        width = Width.from_json(built)
        if width.key(configured) != lease.row.key:  # configured otherwise since it was asked for
            lease.finish(State.DONE)
            return count + build(width, look)
        count += _build(lease, width, configured, look)
        with lease.writing() as row:
            row.refresh_from_db(fields=["width"])
            if row.width == built:
                lease.finish(State.DONE, progress=1.0, error="")
    return count


def _asked_for(width: Width) -> PoolBuild:
    """The open row of the build; one that is under way will look as far as both ask for."""
    key, now = width.key(configuration.current()), timezone.now()
    with transaction.atomic():
        row, _ = PoolBuild.objects.select_for_update().get_or_create(
            key=key, defaults={"width": width.as_json(), "enqueued_at": now}
        )
        if row.is_open:
            row.width = width.joined(Width.from_json(row.width)).as_json()
            row.save(update_fields=["width"])
        else:
            jobs.revoke(
                PoolBuild.objects.filter(pk=row.pk), width=width.as_json(), state=State.QUEUED,
                progress=0, error="", attempts=0, not_before=None, enqueued_at=now,
            )  # fmt: skip
    return row


def wanted(width: Width, configured: Configuration) -> list[Golden]:
    """The golden queries that have no fresh pool that looks so far."""
    goldens = golden_set()
    rows = {row.query_id: row for row in described(width.key(configured), goldens)}
    corpus = corpus_stamp()
    return [
        golden
        for golden in goldens
        if not covers(rows.get(golden.pk), golden, width) or rows[golden.pk].corpus != corpus
    ]


def _build(lease: Lease[PoolBuild], width: Width, configured: Configuration, look: Look) -> int:
    goldens = wanted(width, configured)
    corpus = corpus_stamp()
    for done, golden in enumerate(goldens):
        look(done, len(goldens))
        lease.report(done / len(goldens))
        _keep(golden, width, lease.row.key, corpus, configured)
    _forget_old_keys()
    return len(goldens)


def _keep(
    golden: Golden, width: Width, key: str, corpus: str, configured: Configuration
) -> CandidatePool:
    profile = width.profile()
    found = _found(golden, profile, configured)
    embeddings = found.embeddings.tobytes() if found.embeddings is not None else b""
    row, _ = CandidatePool.objects.update_or_create(
        query_id=golden.pk,
        key=key,
        defaults={
            "corpus": corpus,
            "asked": asked_by(golden),
            "facts": facts(found, profile.depth),
            "rows": found.rows.tobytes(),
            "embeddings": embeddings,
            "candidates": len(found),
            "built": found.at or timezone.now(),
        },
    )
    return row


def _found(golden: Golden, profile: Profile, configured: Configuration) -> Candidates:
    filters = Filters(collections=golden.collections)
    try:
        if configured.space is not None:
            # Here it may take its time: a search gives up after a while and goes on without.
            spaces.query_embedder().embed_query(golden.text)
        found = find_wide(golden.text, configured, profile, viewer=evaluator(), filters=filters)
    except EmbeddingError as error:
        raise PoolError(f"{AWAY} It says: {error}") from error
    except (QueryTooLong, InvalidFilter, NothingAsked):
        return Candidates(read("", configured))
    if found.degraded:
        raise PoolError(AWAY)
    return found


AWAY = (
    "The candidates of the golden queries could not be found, because the embedding model did not "
    "answer. See that it runs, and build them again."
)


def _forget_old_keys() -> None:
    """Removes the pools that other scorers or another configuration left behind long ago."""
    newest = CandidatePool.objects.values("key").annotate(at=Max("built")).order_by("-at")
    kept = [row["key"] for row in newest[:KEPT_KEYS]]
    CandidatePool.objects.exclude(key__in=kept).delete()
    PoolBuild.objects.exclude(key__in=kept).exclude(state__in=PoolBuild.OPEN).delete()


def enqueue_both(active: Profile, draft: Profile) -> None:
    """Asks a worker for the candidates that both profiles need: once where they score alike."""
    widths = [Width.of(active), Width.of(draft)]
    if widths[0].scores_like(widths[1]):
        widths = [widths[0].joined(widths[1])]
    for width in widths:
        enqueue(width)


def enqueue(width: Width) -> None:
    """Ask a worker to build what is missing."""
    jobs.enqueue(PoolBuild, _asked_for(width).pk)
