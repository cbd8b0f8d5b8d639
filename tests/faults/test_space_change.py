"""The embedding model is changed while people search: no search fails, none mixes two spaces.

On real Postgres and Valkey, a real process that is killed, and two servers of models with 384 and
256 dimensions over real HTTP.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection

from ingestion import spaces
from ingestion.models import Chunk, ChunkEmbedding, Collection, Document, EmbeddingSpace
from ingestion.spaces import backfill, changes
from ingestion.spaces.index import IndexState, index_of
from search.domain import Signal
from search.engine import configuration
from search.pipeline import SearchResponse, search
from search.tuning.install_defaults import install_presets as install
from tests.faults.harness import ROOT, environment, wait_for
from tests.support.factories import make_collection, make_document
from tests.support.fake_openai import FakeOpenAI, hang, vector_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("clean_cache", "short_leases"),
]

QUESTIONS = ("red apples in autumn", "how deep is the northern lake", "repair of a steel bridge")
WORDS = (
    *("red", "apple", "autumn", "deep", "northern", "lake"),
    *("repair", "steel", "bridge", "stone", "river", "winter"),
)
LONG = "\n\n".join(
    f"## Part {number}\n\n"
    + " ".join(" ".join(WORDS[(number * 5 + i) % 12 :][:3]) + f" item{number}." for i in range(40))
    for number in range(60)
)
State = EmbeddingSpace.State
# Seconds that each reader takes between two searches: without them they wait for each other.
PAUSE = 0.1


@pytest.fixture
def old(settings: object) -> Iterator[FakeOpenAI]:
    """The server of the model that the settings name, which fills the first space."""
    with FakeOpenAI(dimensions=384) as server:
        settings.EMBEDDER = "openai"  # type: ignore[attr-defined]
        settings.EMBEDDER_OPTIONS = {  # type: ignore[attr-defined]
            "openai": {"base_url": server.base_url, "api_key": "key", "model": "old"}
        }
        spaces.forget_embedders()
        install()
        yield server
    spaces.forget_embedders()


@pytest.fixture
def new(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[FakeOpenAI]:
    monkeypatch.setenv("NEW_PROVIDER_KEY", "new-key")
    with FakeOpenAI(dimensions=256, api_key="new-key") as server:
        settings.EMBEDDING_ADDRESSES = [server.base_url]
        settings.EMBEDDING_KEY_VARIABLES = ["NEW_PROVIDER_KEY"]
        # For the process that is killed.
        monkeypatch.setenv("EMBEDDING_ADDRESSES", server.base_url)
        monkeypatch.setenv("EMBEDDING_KEY_VARIABLES", "NEW_PROVIDER_KEY")
        yield server


class Searchers:
    """Threads that search all the time, and what came of it."""

    def __init__(self) -> None:
        self.answers: list[tuple[float, float, str, SearchResponse]] = []
        self.errors: list[BaseException] = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(i,)) for i in range(3)]

    def __enter__(self) -> Searchers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, first: int) -> None:
        try:
            for question in itertools.islice(itertools.cycle(QUESTIONS), first, None):
                if self._stop.wait(PAUSE):
                    return
                started = time.monotonic()
                response = search(question, viewer=None)
                self.answers.append((started, time.monotonic(), question, response))
        except Exception as error:
            self.errors.append(error)
        finally:
            connection.close()

    def go_on(self, count: int = 6) -> None:
        """Waits until so many more searches have been answered."""
        goal = len(self.answers) + count
        wait_for(lambda: len(self.answers) >= goal or bool(self.errors))


def spaces_that_fit(question: str, response: SearchResponse, vectors: Vectors) -> set[int]:
    """The dimensions of the spaces whose vectors give every hit of the response its score."""
    fitting = {384, 256}
    for hit in response.hits:
        chunk, score = hit.candidate.chunk_id, hit.candidate.raw.get(Signal.VECTOR)
        for size in tuple(fitting):
            held = vectors.get((chunk, size))
            own = None if held is None else float(held @ vector_of(question, size))
            if (own is None) != (score is None) or (
                own is not None and score is not None and abs(own - score) > 2e-3
            ):
                fitting.discard(size)
    return fitting


Vectors = dict[tuple[int, int], np.ndarray]


def remember(vectors: Vectors) -> None:
    """Adds the vectors that the database holds now, by chunk and dimensions."""
    for row in ChunkEmbedding.objects.select_related("space"):
        vectors[row.chunk_id, row.space.dimensions] = np.array(row.vector, np.float32)


def start_process(space: EmbeddingSpace) -> subprocess.Popen[bytes]:
    arguments = ("embedding_space", "backfill", str(space.pk), "--here")
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment(), start_new_session=True, stdout=subprocess.DEVNULL
    )


def fill(space: EmbeddingSpace) -> None:
    """What the workers do, until nothing is left to do; a dead one's lease runs out meanwhile."""
    rows = EmbeddingSpace.objects.filter(pk=space.pk)
    wait_for(lambda: not any(row.is_leased for row in rows.all()) and backfill.advance(space.pk))


def held(space: EmbeddingSpace) -> int:
    return ChunkEmbedding.objects.filter(space=space).count()


def complete(space: EmbeddingSpace, document: Document) -> bool:
    return not spaces.unembedded(space, Chunk.objects.filter(document=document)).exists()


def note(collection: Collection, number: int) -> Document:
    document = make_document(
        collection, f"# Note {number}\n\nA lake of stone {number}.", file_name=f"n{number}.md"
    )
    assert document.current is not None
    return document


def test_embedding_model_is_changed_under_search_load(
    old: FakeOpenAI, new: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill, "SEARCHES_END", timedelta(seconds=3))
    collection = make_collection(chunk_tokens=60, overlap_tokens=0)
    make_document(collection, LONG, file_name="long.md")
    first = EmbeddingSpace.objects.get()
    assert (first.state, first.dimensions) == (State.ACTIVE, 384)
    vectors: Vectors = {}
    remember(vectors)
    configuration.current()

    with Searchers() as searchers:
        second = changes.create(
            "openai",
            {"model": "new", "base_url": new.base_url, "api_key_env": "NEW_PROVIDER_KEY",
             "batch_size": 8},
            acting_user=None,
        )  # fmt: skip
        assert (second.state, second.dimensions) == (State.BUILDING, 256)

        # A process that fills it is killed in the middle: the next goes on behind it.
        new.then(*[hang(0.1)] * 200)
        process = start_process(second)
        wait_for(lambda: held(second) >= 8 or process.poll() is not None)
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kept = held(second)
        assert 0 < kept < held(first)
        meanwhile = note(collection, 1)
        fill(second)
        second.refresh_from_db()
        assert second.filled_at is not None
        assert held(second) == held(first) == Chunk.objects.count()
        assert index_of(second).state is IndexState.READY
        # Killed between the answer and the commit, one batch at most was paid for twice.
        again = sum(count - 1 for count in new.acknowledged.values())
        assert again <= 8
        assert complete(first, meanwhile)
        assert complete(second, meanwhile)

        # A document that comes after it: ready at once, in the new space a moment later.
        later = note(collection, 2)
        assert complete(first, later)
        assert not complete(second, later)
        with pytest.raises(changes.SpaceError, match="1 passage has no vector"):
            changes.activate(second, acting_user=None)
        fill(second)
        assert complete(second, later)
        remember(vectors)

        searchers.go_on()
        first_switch = time.monotonic()
        changes.activate(second, acting_user=None)
        switched = time.monotonic()
        searchers.go_on()
        after = note(collection, 3)
        assert complete(second, after)
        fill(first)
        assert complete(first, after)
        remember(vectors)
        searchers.go_on()

        back = time.monotonic()
        changes.roll_back(acting_user=None)
        searchers.go_on()
        changes.activate(second, acting_user=None)
        again_new = time.monotonic()
        searchers.go_on()
        changes.drop(first, acting_user=None)
        fill(first)
        assert not EmbeddingSpace.objects.filter(pk=first.pk).exists()
        searchers.go_on()

    assert searchers.errors == []
    assert len(searchers.answers) > 30
    for started, ended, question, response in searchers.answers:
        assert response.degraded == ()
        fitting = spaces_that_fit(question, response, vectors)
        assert fitting, "a result mixes the vectors of two spaces"
        if ended < first_switch:
            assert fitting == {384}
        if (switched < started and ended < back) or again_new < started:
            assert fitting == {256}
    assert held(second) == Chunk.objects.count() == ChunkEmbedding.objects.count()
    assert index_of(first).state is IndexState.NONE
