"""Build candidate pools: a worker retrieves each golden query's candidates once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from common import jobs
from common.jobs import Lease, work_on
from ingestion import spaces
from ingestion.errors import EmbeddingError
from ingestion.models import DocumentVersion
from ingestion.models.versions import UNFINISHED
from search.domain import Candidates, Profile
from search.domain.candidates import facts
from search.engine import Purpose, Request, configuration
from search.engine.configuration import Configuration
from search.engine.find import CandidateBudget, candidates_of
from search.engine.read import Question, read_query
from search.engine.reranker import with_strengths
from search.errors import EmptyQuestion, InvalidFilter, PoolError, QueryTooLong, RerankerUnavailable
from search.models import SearchProfile
from search.retrieval import Filters
from search.tuning import life_cycle
from search.tuning.candidate_pools import Pooled, Width, covers, described, pooled, question_key
from search.tuning.evaluation.golden_set import Golden, fingerprint, golden_set
from search.tuning.evaluation.library_stamp import corpus_stamp, digest
from search.tuning.evaluation.measures import Progress
from search.tuning.evaluation.profile_runs import evaluator
from search.tuning.models import CandidatePool, PoolBuild

State = PoolBuild.State
MAX_KEYS = 4
WAIT_SECONDS = 300.0  # for another worker that builds the same pools
LOOK_SECONDS = 1.0  # between two checks of its progress


def build(width: Width, progress: Progress = lambda done, total: None) -> int:
    """Build the pools that are missing or stale; return how many.

    One builder at a time for a key; a second one builds nothing. Raises PoolError if the embedding
    model is unavailable: pools without the vector signal would measure something else.
    """
    return carry_out(_request_build(width).pk, progress)


def fresh_pools(
    profile: Profile, goldens: Sequence[Golden], progress: Callable[[float], None]
) -> Pooled:
    """The golden queries in fresh pools; missing ones are built now.

    Raises PoolError, also if another worker does not finish them in time.
    """
    width = Width.of(profile)
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        build(width, lambda done, of: progress(done / max(of, 1)))
        pools = pooled(profile, goldens)
        # A library that changes all the time is never wholly fresh, so stale pools are accepted.
        if pools.coverage.pooled == len(goldens):
            return pools
        progress(0.0)
        time.sleep(LOOK_SECONDS)
    raise PoolError(
        gettext(
            "The candidates of the golden queries could not be found in time, because "
            "another worker is still retrieving them. Start again in a few minutes."
        )
    )


def carry_out(pk: int, progress: Progress = lambda done, total: None) -> int:
    """Build the pools of the row; return how many. Raises PoolError, as `build` does."""

    def work(lease: Lease[PoolBuild]) -> int:
        try:
            return _carry_out(lease, progress)
        except PoolError as error:
            lease.finish(State.FAILED, error=str(error))
            raise

    return work_on(PoolBuild, pk, work, state=State.RUNNING, progress=0) or 0


def _carry_out(lease: Lease[PoolBuild], progress: Progress) -> int:
    crashed = gettext(
        "Building the pools crashed the worker %(max_attempts)s times. Check the worker's log."
    )
    life_cycle.check_crashes(lease, crashed, PoolError)
    configured, width = configuration.current(), Width.from_json(lease.row.width)
    if width.key(configured) != lease.row.key:  # configuration changed since the request
        lease.finish(State.DONE)
        return build(width, progress)
    count = _build(lease, width, configured, progress)
    lease.finish(State.DONE, progress=1.0, error="")
    return count


def _request_build(width: Width) -> PoolBuild:
    """The open row of the build."""
    key, now = width.key(configuration.current()), timezone.now()
    with transaction.atomic():
        row, _ = PoolBuild.objects.select_for_update().get_or_create(
            key=key, defaults={"width": width.as_json(), "enqueued_at": now}
        )
        if not row.is_open:
            jobs.revoke(
                PoolBuild.objects.filter(pk=row.pk), state=State.QUEUED,
                progress=0, error="", attempts=0, not_before=None, enqueued_at=now,
            )  # fmt: skip
    return row


def goldens_to_build(width: Width, configured: Configuration) -> list[Golden]:
    """The golden queries without a fresh pool of `width`."""
    goldens = golden_set()
    rows = {row.query_id: row for row in described(width.key(configured), goldens)}
    corpus = corpus_stamp()
    read_for = _read_for(_readers(configured)) if width.reranker else ""
    return [
        golden
        for golden in goldens
        if not covers(rows.get(golden.pk), golden)
        or rows[golden.pk].corpus != corpus
        or (width.reranker and rows[golden.pk].facts.get("read_for") != read_for)
    ]


def _build(
    lease: Lease[PoolBuild], width: Width, configured: Configuration, progress: Progress
) -> int:
    goldens = goldens_to_build(width, configured)
    corpus = corpus_stamp()
    readers = _readers(configured) if width.reranker else []
    for done, golden in enumerate(goldens):
        progress(done, len(goldens))
        lease.report(done / len(goldens))
        _keep(golden, width, lease.row.key, corpus, configured, readers)
    _forget_old_keys()
    return len(goldens)


def _keep(
    golden: Golden,
    width: Width,
    key: str,
    corpus: str,
    configured: Configuration,
    readers: Sequence[Profile],
) -> CandidatePool:
    profile = width.profile()
    candidates = _retrieve(golden, profile, configured)
    if readers and len(candidates):
        candidates = _read(candidates, readers, configured)
    embeddings = candidates.embeddings.tobytes() if candidates.embeddings is not None else b""
    row, _ = CandidatePool.objects.update_or_create(
        query_id=golden.pk,
        key=key,
        defaults={
            "corpus": corpus,
            "asked": question_key(golden),
            "facts": {
                **facts(candidates, profile.depth),
                "read_for": _read_for(readers),
            },
            "rows": candidates.rows.tobytes(),
            "embeddings": embeddings,
            "candidates": len(candidates),
            "built": candidates.at or timezone.now(),
        },
    )
    return row


def _retrieve(golden: Golden, profile: Profile, configured: Configuration) -> Candidates:
    filters = Filters(collections=golden.collections)
    try:
        if configured.space is not None:
            # Without a search's time limit, after which it goes on without the embedding.
            spaces.query_embedder().embed_query(golden.text)
        query = read_query(golden.text, configured)
        request = Request(evaluator(), filters, purpose=Purpose.TUNER)
        candidates = candidates_of(
            Question(query, request, configured), CandidateBudget.everything(profile)
        )
    except EmbeddingError as error:
        raise PoolError(
            gettext("%(away)s It says: %(error)s") % {"away": AWAY, "error": error}
        ) from error
    except (QueryTooLong, InvalidFilter, EmptyQuestion):
        return Candidates(read_query("", configured))
    if candidates.degraded:
        raise PoolError(str(AWAY))
    return candidates


def _readers(configured: Configuration) -> list[Profile]:
    """The profiles whose first results are read: the active one, and drafts with a reranker."""
    drafts = SearchProfile.objects.filter(state=SearchProfile.State.DRAFT, rerank__gt=0)
    rows = drafts.order_by("pk").prefetch_related("class_weights")
    active = [configured.active] if configured.active else []
    return [*active, *(row.as_profile() for row in rows)]


def _read_for(profiles: Sequence[Profile]) -> str:
    return digest(*map(fingerprint, profiles))


def _read(
    candidates: Candidates, readers: Sequence[Profile], configured: Configuration
) -> Candidates:
    """The candidates with the reranker's strengths for these profiles."""
    try:
        request = Request(evaluator(), purpose=Purpose.MEASUREMENT)
        return with_strengths(candidates, readers, configured, request)
    except RerankerUnavailable as error:
        raise PoolError(gettext("The golden queries could not be reranked. %s") % error) from error


AWAY = gettext_lazy(
    "The candidates of the golden queries could not be found, because the embedding model did not "
    "answer. Check that it is running, then build them again."
)


def _forget_old_keys() -> None:
    """Delete the old pools of other scorers or configurations."""
    newest = CandidatePool.objects.values("key").annotate(at=Max("built")).order_by("-at")
    keys = [row["key"] for row in newest[:MAX_KEYS]]
    CandidatePool.objects.exclude(key__in=keys).delete()
    PoolBuild.objects.exclude(key__in=keys).exclude(state__in=PoolBuild.OPEN).delete()


def refresh() -> bool:
    """Enqueue a build for the active profile if its pools lack anything; return whether.

    It waits for the documents that are being processed: each makes all pools stale.
    """
    configured = configuration.current()
    if configured.active is None or DocumentVersion.objects.filter(state__in=UNFINISHED).exists():
        return False
    width = Width.of(configured.active)
    if not goldens_to_build(width, configured):
        return False
    enqueue(width)
    return True


def enqueue(width: Width) -> None:
    """Enqueue a build of the missing pools."""
    jobs.enqueue(PoolBuild, _request_build(width).pk)
