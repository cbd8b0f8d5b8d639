"""Real workers to be killed, and what must hold whatever happened to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import psutil
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection
from django.db.models import QuerySet

from common.database import released
from common.jobs import RELEASED, sweep
from ingestion import services
from ingestion.documents import processing_steps
from ingestion.lexical import bm25_weights
from ingestion.models import (
    Chunk,
    ChunkEmbedding,
    CorpusStatistics,
    Document,
    DocumentVersion,
    EmbeddingSpace,
    State,
    TermFrequency,
)
from ingestion.models.versions import UNFINISHED
from kbsite.embedded.server import Server
from search.pipeline import search
from tests.faults.worker_forks import ForkedWorker, WorkerForks
from tests.support import short_leases
from tests.support.factories import make_collection, make_document

ROOT = Path(__file__).resolve().parents[2]
LEASE_SECONDS = short_leases.INGESTION_LEASE_SECONDS
PATIENCE = 120.0  # seconds that a busy machine may take for what takes one
NOTE = "# Pumps\n\n" + "\n\n".join(
    f"## Pump {number}\n\n" + f"The pump of door {number} is green. " * 12 for number in range(6)
)
LONG = "\n\n".join(
    f"## Part {number}\n\n" + " ".join(f"word{number}x{i} stands here." for i in range(40))
    for number in range(30)
)
Process = subprocess.Popen[bytes] | ForkedWorker


def environment(**more: str) -> dict[str, str]:
    """What a process needs to work on the tests' own database, broker and files."""
    database = connection.settings_dict
    return (
        {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
        | {
            "DATABASE_URL": f"postgres://{database['USER']}@/{database['NAME']}"
            f"?host={quote(database['HOST'])}&port={database['PORT']}",
            "REDIS_URL": f"unix://{settings.EMBEDDED.redis_socket}",
            "DJANGO_SETTINGS_MODULE": "tests.support.short_leases",
            "EMBEDDER_THREADS": "1",
        }
        | more
    )


@contextmanager
def worker(processes: int = 2, **more: str) -> Iterator[Process]:
    """A Celery worker of so many processes; `more` are variables of its environment."""
    arguments = ["-A", "kbsite", "-q", "worker", "-l", "ERROR", "-c", str(processes)]
    # It looks for no other workers: a second of waiting at each start.
    arguments += ["--without-mingle", "--without-gossip"]
    wanted = environment(**more)
    process = _started(arguments, wanted, fork=wanted == environment())
    try:
        yield process
    finally:
        kill(process)


_forks: list[WorkerForks] = []


def _started(arguments: list[str], environment: dict[str, str], *, fork: bool) -> Process:
    """A worker; with `fork`, of the process that imported the project for all of them."""
    if not fork:
        command = [sys.executable, "-m", "celery", *arguments]
        return subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    if not _forks or _forks[0].environment != environment:
        close_forks()
        _forks.append(WorkerForks(environment))
    return _forks[0].start(arguments)


def close_forks() -> None:
    """End the process that workers are forked from; the next worker starts another one."""
    while _forks:
        _forks.pop().close()


def kill(process: Process) -> None:
    """`kill -9` of the worker and all its children at once."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_for(
    condition: Callable[[], object], *, seconds: float = PATIENCE, sweeping: bool = False
) -> None:
    """Returns when the condition holds; `sweeping` does meanwhile what beat does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, list(
            DocumentVersion.objects.values_list("state", "progress", "error")
        )
        if sweeping:
            sweep(DocumentVersion)
        time.sleep(0.1)


def let_time_pass() -> None:
    """As if every message were lost, every lease and pause over: the sweep has work at once."""
    DocumentVersion.objects.filter(finished=None).update(**RELEASED, not_before=None)


def finish_with_a_new_worker(**more: str) -> None:
    """What a restarted service does: the sweep finds what is left, and a worker ends it."""
    let_time_pass()
    with worker(**more):
        wait_for(finished, sweeping=True)


def finish_here() -> None:
    """What the next worker does with what a dead one left, without its seconds of starting."""

    def advance() -> bool:
        let_time_pass()
        for pk in unfinished().values_list("pk", flat=True):
            processing_steps.advance(pk)
        return finished()

    wait_for(advance)


def in_state(version: DocumentVersion, state: str) -> Callable[[], bool]:
    return DocumentVersion.objects.filter(pk=version.pk, state=state).exists


def unfinished() -> QuerySet[DocumentVersion]:
    """What is left to do; what is in the bin waits there for its return."""
    kept = Document.objects.undeleted()
    return DocumentVersion.objects.filter(document__in=kept, state__in=UNFINISHED)


def finished() -> bool:
    return not unfinished().exists()


def kill_server(server: Server) -> None:
    """`kill -9` of a server and what it started."""
    pid = int((server.data_dir / server.pid_name).read_text().split("\n", 1)[0])
    process = psutil.Process(pid)
    everyone = [process, *process.children(recursive=True)]
    for each in everyone:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    psutil.wait_procs(everyone, timeout=60)


def is_fork_server(process: psutil.Process) -> bool:
    """A fork server, or a child of one: they have the same command line."""
    return "ingestion.parsing.child.fork_server" in " ".join(process.cmdline())


def fork_servers_of(worker: Process) -> list[psutil.Process]:
    """The processes that wait for the worker's files and fork a child for each."""
    found = []
    for process in psutil.Process(worker.pid).children(recursive=True):
        with suppress(psutil.Error):
            parent = process.parent()
            if is_fork_server(process) and not (parent and is_fork_server(parent)):
                found.append(process)
    return found


def parsers_of(worker: Process) -> list[psutil.Process]:
    """The children in which the worker's files are read."""
    servers = fork_servers_of(worker)
    found = []
    for server in servers:
        with suppress(psutil.Error):
            found += server.children()
    return found


def again(document: Document) -> DocumentVersion:
    """The next version of the document, waiting for a worker."""
    services.reprocess([document], acting_user=None)
    newer = document.versions.order_by("-number").first()
    assert newer is not None
    return newer


def in_threads(work: Callable[[int], object], count: int, threads: int) -> list[object]:
    """What `work` returns for each number below `count`."""
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda number: released(lambda: work(number)), range(count)))


def assert_nothing_lost_or_doubled(*, documents: int | None = None) -> None:
    """What must hold when every version has come to its end.

    Every document is ready or failed with a reason, no chunk is orphaned or doubled, each has its
    vector, BM25's statistics equal a recount, files are whole, and search answers.
    """
    wait_for(bm25_weights.fold)
    kept = Document.objects.undeleted().select_related("latest").defer("latest__text")
    assert documents is None or kept.count() == documents
    assert finished()
    for document in kept:
        version = document.latest
        assert version is not None
        assert version.state in (State.READY, State.FAILED), version.state
        assert (version.state == State.FAILED) == bool(version.error), version.error
        assert version.state == State.FAILED or document.current_id == version.pk
    assert_chunks_are_whole()
    assert_statistics_equal_a_recount()
    for name, size in DocumentVersion.objects.exclude(file="").values_list("file", "size"):
        assert default_storage.size(name) == size
    assert_search_answers()


def assert_chunks_are_whole() -> None:
    # A collection in the bin is only marked: its documents stay as they are.
    current = Document.objects.filter(deleted_at=None).values("current")
    searchable = Chunk.objects.filter(searchable=True)
    assert not searchable.exclude(version__in=current).exists()
    wanted = Document.objects.exclude(current=None).values("current")
    under_way = DocumentVersion.objects.filter(state__in=UNFINISHED)
    orphans = Chunk.objects.exclude(version__in=wanted).exclude(version__in=under_way)
    assert not orphans.exists(), orphans[:5]
    for version in DocumentVersion.objects.filter(pk__in=wanted):
        ordinals = version.chunks.order_by("ordinal").values_list("ordinal", flat=True)
        assert list(ordinals) == list(range(version.chunk_count))
    hidden = Chunk.objects.filter(version__in=current, searchable=False)
    assert not hidden.exclude(edit__disabled=True).exists()
    space = EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.ACTIVE).first()
    embedded = ChunkEmbedding.objects.filter(chunk__in=searchable, space=space)
    assert embedded.count() == searchable.count()


def assert_statistics_equal_a_recount() -> None:
    """How many searchable chunks a collection has, how long they are, how many hold a lexeme."""
    counted = TermFrequency.objects.values_list("collection", "lexeme", "chunks")
    assert set(counted) == rows(
        "SELECT collection_id, lexeme, count(*) FROM ingestion_chunk,"
        " unnest(tsvector_to_array(lexemes)) lexeme WHERE searchable GROUP BY 1, 2"
    )
    totals = CorpusStatistics.objects.exclude(chunks=0, total_length=0)
    assert set(totals.values_list("collection", "text_config", "chunks", "total_length")) == rows(
        "SELECT collection_id, text_config, count(*), sum(length)::bigint FROM ingestion_chunk"
        " WHERE searchable GROUP BY 1, 2"
    )


def rows(statement: str) -> set[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return set(cursor.fetchall())


def assert_search_answers() -> None:
    """A new note is found, whatever happened before."""
    collection = make_collection("Afterwards")
    note = make_document(collection, "# Afterwards\n\nA quokka came by.", file_name="after.md")
    found = search("quokka", viewer=None)
    assert [hit.candidate.document_id for hit in found.hits[:1]] == [note.pk], found
