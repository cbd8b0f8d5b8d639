"""The speed of ingestion: parsing, the whole path, a worker's memory, and the wait for a note.

    python -m benchmarks.ingestion_speed parsing [--files 20] [--pages 15] [--folder FOLDER]
    python -m benchmarks.ingestion_speed path [--documents 12] [--rounds 5] [--into 1000000]
    python -m benchmarks.ingestion_speed memory [--documents 1000]
    python -m benchmarks.ingestion_speed waiting [--notes 10] [--pdfs 1000]

Read figures as ratios within one run: `path` measures the embedder alone around each round.
`--into` is a size that `benchmarks.search_speed` has built: the documents go into a copy of it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from benchmarks.temporary_site import CORES, receive, site, wait_until_finished, worker
from benchmarks.texts import passages

if TYPE_CHECKING:
    from ingestion.models import Collection

PASSAGES_PER_DOCUMENT = 25
LOOK_SECONDS = 0.005
EMBEDDED_ALONE = 400  # texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    ways = parser.add_subparsers(dest="way", required=True)
    parsing_way = ways.add_parser("parsing")
    parsing_way.add_argument("--files", type=int, default=20)
    parsing_way.add_argument("--pages", type=int, default=15)
    parsing_way.add_argument("--folder", type=Path)
    path_way = ways.add_parser("path")
    path_way.add_argument("--documents", type=int, default=12, help="in each round")
    path_way.add_argument("--rounds", type=int, default=5)
    path_way.add_argument("--into", default="")
    memory_way = ways.add_parser("memory")
    memory_way.add_argument("--documents", type=int, default=1_000)
    waiting_way = ways.add_parser("waiting")
    waiting_way.add_argument("--notes", type=int, default=10)
    waiting_way.add_argument("--pdfs", type=int, default=1_000)
    arguments = parser.parse_args()
    with site("speed", getattr(arguments, "into", "")) as var:
        measure: dict[str, Callable[[], None]] = {
            "parsing": lambda: parsing(
                sorted(arguments.folder.glob("**/*.pdf"))
                if arguments.folder
                else made_pdfs(var, arguments.files, arguments.pages)
            ),
            "path": lambda: path(arguments.documents, arguments.rounds),
            "memory": lambda: memory(arguments.documents),
            "waiting": lambda: waiting(arguments.notes, arguments.pdfs),
        }
        measure[arguments.way]()


def parsing(files: list[Path]) -> None:
    """Pages per second, each file in a child process under the limits, as a worker reads it."""
    from ingestion.documents.processing_steps import open_file
    from ingestion.errors import IngestionError

    def pages_of(path: Path) -> int:
        try:
            return open_file(path, path.name).page_count or 0
        except IngestionError:
            return 0

    for processes in sorted({1, CORES}):
        started = time.perf_counter()
        with ThreadPoolExecutor(processes) as pool:
            pages = list(pool.map(pages_of, files))
        seconds = time.perf_counter() - started
        print(
            f"parsing, {processes} at a time: {sum(pages)} pages of {len(files)} PDFs"
            f" ({pages.count(0)} not read) in {seconds:.1f} s, {sum(pages) / seconds:.1f} pages/s",
            flush=True,
        )


def made_pdfs(folder: Path, count: int, pages: int) -> list[Path]:
    """`count` PDFs of real prose under headings."""
    every = passages()
    made = []
    for number in range(count):
        path = folder / f"{number}.pdf"
        path.write_bytes(pdf(every, number * pages, pages))
        made.append(path)
    return made


def pdf(every: list[str], first: int, pages: int) -> bytes:
    from tests.samples.builders import make_pdf

    def page(number: int) -> list[tuple[str, object]]:
        texts = [every[(number * 3 + i) % len(every)] for i in range(3)]
        return [("h1", f"Part {number}"), *(("p", escape(text[:700])) for text in texts)]

    return make_pdf([page(first + number) for number in range(pages)])


def path(count: int, rounds: int) -> None:
    """Chunks per second of one worker process and of one a core, beside the embedder alone.

    The machine's own speed wanders: each round stands between two measurements of the embedder.
    """
    for processes in sorted({1, CORES}):
        documents = notes(processes + rounds * count, PASSAGES_PER_DOCUMENT, f"{processes} ")
        with worker(processes), a_collection(f"path {processes}") as collection:
            # The first few load the model.
            receive(collection, documents[:processes], "document.md")
            wait_until_finished()
            alone, whole = [embedder_alone(processes, collection)], []
            for first in range(processes, len(documents), count):
                whole.append(chunks_per_second(collection, documents[first : first + count]))
                alone.append(embedder_alone(processes, collection))
        ratios = [each / statistics.mean(alone[i : i + 2]) for i, each in enumerate(whole)]
        print(
            f"{processes} worker(s): {statistics.median(whole):.1f} chunks/s; the embedder alone"
            f" {statistics.median(alone):.1f}; {statistics.median(ratios):.2f} of it"
            f" ({min(ratios):.2f} to {max(ratios):.2f} in {rounds} rounds)",
            flush=True,
        )


def chunks_per_second(collection: Collection, documents: list[bytes]) -> float:
    """The chunks per second from the first upload until the last document can be searched."""
    from ingestion.models import Chunk

    before = Chunk.objects.count()
    started = time.perf_counter()
    receive(collection, documents, "document.md")
    wait_until_finished()
    return (Chunk.objects.count() - before) / (time.perf_counter() - started)


def embedder_alone(threads: int, collection: Collection) -> float:
    """The model's chunks per second over stored passages, with so many threads."""
    from django.conf import settings

    from ingestion import spaces
    from ingestion.models import Chunk
    from ingestion.spaces.vectors import texts_of

    settings.EMBEDDER_OPTIONS["local"]["threads"] = threads
    spaces.forget_embedders()
    embedder = spaces.embedder()
    chunks = Chunk.objects.filter(collection=collection)
    rows = chunks.select_related("version__document__collection").order_by("?")
    texts = texts_of(rows[:EMBEDDED_ALONE], embedder)
    embedder.embed_documents(texts[:32])
    started = time.perf_counter()
    embedder.embed_documents(texts)
    return len(texts) / (time.perf_counter() - started)


def memory(count: int) -> None:
    """Print the resident memory of a worker process while `count` documents pass through it, in
    tenths.
    """
    with worker(1) as process, a_collection("memory") as collection:
        documents = notes(count, 3, "memory ")
        tenth = max(count // 10, 1)
        sizes: list[float] = []
        pids: set[int] = set()
        for first in range(0, count, tenth):
            receive(collection, documents[first : first + tenth], "document.md")
            wait_until_finished()
            children = psutil.Process(process.pid).children()
            pids |= {child.pid for child in children}
            sizes.append(max(child.memory_info().rss for child in children) / 1e6)
        listed = ", ".join(f"{size:.0f}" for size in sizes)
        print(f"memory over {count} documents, after each {tenth}: {listed} MB; ", end="")
        print(f"last to first {sizes[-1] / sizes[0]:.2f}; {len(pids)} process(es)")


def waiting(count: int, pdfs: int) -> None:
    """Print the seconds from the upload of a one-page note until search returns it."""
    from ingestion.models import DocumentVersion, Lane
    from ingestion.models.versions import UNFINISHED

    uploads = ("--queues", "interactive,maintenance", "--concurrency", "1", "-n", "uploads@%h")
    with worker(CORES), worker(1, *uploads), a_collection("waiting") as collection:
        every = notes(2 * count + CORES + 1, 3, "waiting ")
        receive(collection, every[: CORES + 1], "document.md")  # each process loads its model
        wait_until_finished()
        del every[: CORES + 1]
        idle = [seconds_until_searchable(collection, note) for note in every[:count]]
        print(f"a note, idle worker: {spread(idle)}", flush=True)
        texts = passages()
        receive(collection, (pdf(texts, i, 1) for i in range(pdfs)), "page.pdf", Lane.BULK)
        busy = [seconds_until_searchable(collection, note) for note in every[count:]]
        left = DocumentVersion.objects.filter(state__in=UNFINISHED, lane=Lane.BULK).count()
        print(f"a note, {left} to {pdfs} PDFs queued: {spread(busy)}")


def seconds_until_searchable(collection: Collection, note: bytes) -> float:
    from ingestion.models import Chunk

    started = time.perf_counter()
    (pk,) = receive(collection, [note], "note.md")
    while not Chunk.objects.filter(version=pk, searchable=True).exists():
        time.sleep(LOOK_SECONDS)
    return time.perf_counter() - started


def spread(seconds: list[float]) -> str:
    return f"median {statistics.median(seconds):.2f} s, slowest {max(seconds):.2f} s"


def notes(count: int, parts: int, title: str) -> list[bytes]:
    """`count` Markdown files of real prose, all different."""
    every = passages()
    return [
        (
            f"# {title}{number}\n\n"
            + "\n\n".join(
                f"## Part {part}\n\n{every[(number * parts + part) % len(every)]}"
                for part in range(parts)
            )
        ).encode()
        for number in range(count)
    ]


@contextmanager
def a_collection(name: str) -> Iterator[Collection]:
    from ingestion.models import Collection, Visibility

    yield Collection.objects.create(name=name, visibility=Visibility.PUBLIC)


if __name__ == "__main__":
    os.environ.setdefault("EMBEDDER", "local")
    main()
