"""Load a judged collection into the library, with worker processes of its own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import contextmanager

from ingestion.documents.progress import (
    LOOK_SECONDS,
    ProgressView,
    Watch,
    WorkHere,
    follow,
    worker_answers,
)
from ingestion.lexical import terms
from ingestion.models import Collection
from search.tuning.evaluation.collections import (
    EvaluationError,
    JudgedCollection,
    corpus_collection,
    receive_missing,
)
from search.tuning.evaluation.processes import advance, start

# Starting a process and loading its model takes as long as this many passages. A guess.
WORTH_PROCESSES = 100


def load(
    judged: JudgedCollection, *, write: Callable[[str], None], processes: int = 1
) -> Collection:
    """Load the corpus and return its collection once searchable; keep documents already there.

    Running workers do the work; without any, `processes` local ones do.
    """
    collection = corpus_collection(judged)
    finish(receive_missing(judged, collection), write=write, processes=processes)
    return collection


def finish(versions: Sequence[int], *, write: Callable[[str], None], processes: int = 1) -> None:
    """Wait until uploaded versions are searchable. Raises EvaluationError if one failed.

    Running workers do the work; without any, `processes` local ones do.
    """
    if not versions:
        return
    watch = Watch(versions)
    with ProgressView(write) as view:
        if worker_answers():
            follow(watch, view)
        else:
            if processes > 1 and len(versions) >= WORTH_PROCESSES:
                _advance_in_processes(versions, processes, lambda: view.show(watch.look()))
            # Also the versions that a dead process left.
            with WorkHere(versions) as here:
                follow(watch, view, here.check)
    terms.fold()
    if failures := watch.failures():
        raise EvaluationError(
            f"{len(failures)} of {len(versions)} passages could not be loaded. The first: "
            f"{failures[0].error}"
        )


def _advance_in_processes(
    versions: Sequence[int], processes: int, look: Callable[[], None]
) -> None:
    with _single_threaded_embedders():
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(processes, mp_context=context, initializer=start)
        try:
            waiting = {pool.submit(advance, version) for version in versions}
            while waiting:
                done, waiting = wait(waiting, timeout=LOOK_SECONDS * 5)
                for future in done:
                    future.result()
                look()
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _single_threaded_embedders() -> Iterator[None]:
    """Make processes started within embed on one thread: more compete for the same cores."""
    before = os.environ.get("EMBEDDER_THREADS")
    os.environ["EMBEDDER_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["EMBEDDER_THREADS"]
        else:
            os.environ["EMBEDDER_THREADS"] = before
