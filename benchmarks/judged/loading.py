"""Judged collections loaded like any upload, by running workers or by processes of its own."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import django
from django.conf import settings

from benchmarks.judged.collections import JudgedCollection, corpus_collection, receive_missing
from ingestion.documents import processing_steps
from ingestion.documents.progress import (
    LOOK_SECONDS,
    Show,
    Watch,
    follow,
    progress_view,
    worker_answers,
)
from ingestion.lexical import bm25_weights
from ingestion.models import Collection
from search.engine import similarity_background
from search.tuning.evaluation.beir import EvaluationError


def relevance_folder() -> Path:
    """The folder of judged collections that are given by name."""
    folder = os.environ.get("RELEVANCE_DIR")
    return Path(folder) if folder else settings.BASE_DIR.parent / "shared" / "relevance"


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
    works_here = not worker_answers()
    with progress_view(write) as show:
        if works_here and processes > 1 and len(versions) >= WORTH_PROCESSES:
            _advance_in_processes(versions, processes, watch, show)
        # Also the versions that a dead process left.
        follow(watch, show, work=works_here)
    bm25_weights.fold()
    similarity_background.refresh()
    if failures := watch.failures():
        raise EvaluationError(
            f"{len(failures)} of {len(versions)} passages could not be loaded. The first: "
            f"{failures[0].error}"
        )


def _advance(version: int) -> None:
    """Run every processing step of a version, in a process that ends with its parent."""
    _end_with_parent()
    processing_steps.advance(version)


@cache
def _end_with_parent() -> None:
    """Watch the parent: a pool's processes would wait for work for ever if it is killed."""
    threading.Thread(target=_exit_after_parent, daemon=True).start()


def _exit_after_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _advance_in_processes(
    versions: Sequence[int], processes: int, watch: Watch, show: Show
) -> None:
    with _single_threaded_embedders():
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(processes, mp_context=context, initializer=django.setup)
        try:
            waiting = {pool.submit(_advance, version) for version in versions}
            while waiting:
                done, waiting = wait(waiting, timeout=LOOK_SECONDS * 5)
                for future in done:
                    future.result()
                watch.look(show)
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
