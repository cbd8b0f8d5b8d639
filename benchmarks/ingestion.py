"""Ingestion: chunks per second of the whole path beside the embedder alone, and a worker's memory.

    python -m benchmarks.ingestion [--documents 60] [--memory]

The whole path is what an upload takes: a stored file, a Celery worker with a process a core, a
parser child, chunking, lexemes, embedding, activation. The embedder alone gets the same texts
with a thread a core. `--memory` ingests a 300-page PDF and a 50 MB text file instead and prints
the worker's peak; the text file has some 60,000 chunks to embed: leave it time.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from html import escape
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VAR = ROOT / "var" / "bench" / "ingestion"
CORES = len(os.sched_getaffinity(0))
PASSAGES_PER_DOCUMENT = 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=60)
    parser.add_argument("--memory", action="store_true")
    arguments = parser.parse_args()
    _set_up()
    try:
        if arguments.memory:
            _memory()
        else:
            _speed(arguments.documents)
    finally:
        from django.conf import settings

        settings.EMBEDDED.stop()
        shutil.rmtree(VAR, ignore_errors=True)


def _set_up() -> None:
    os.environ |= {"STEELYARD_VAR": str(VAR), "DJANGO_SETTINGS_MODULE": "kbsite.settings"}
    os.environ.setdefault("MODELS_DIR", str(ROOT / "var" / "models"))
    import django

    django.setup()
    from django.core.management import call_command

    from kbsite.servers import ensure_servers

    ensure_servers()
    call_command("migrate", verbosity=0)


def _speed(count: int) -> None:
    from ingestion.models import Chunk, Collection, Visibility

    collection = Collection.objects.create(name="bench", visibility=Visibility.PUBLIC)
    documents = _documents(count + CORES)
    with _Worker():
        _ingest(collection, documents[:CORES])
        before = Chunk.objects.count()
        started = time.perf_counter()
        _ingest(collection, documents[CORES:])
        whole = (Chunk.objects.count() - before) / (time.perf_counter() - started)
    alone = _embedder_alone()
    print(f"{Chunk.objects.count()} chunks of {count + CORES} documents, {CORES} cores")
    print(f"embedder alone  {alone:7.1f} chunks/s")
    print(f"whole path      {whole:7.1f} chunks/s   {whole / alone:.2f} of it")


class _Worker:
    """A Celery worker with a process a core, as `make demo` starts it."""

    def __enter__(self) -> None:
        command = [sys.executable, "-m", "celery", "-A", "kbsite", "worker", "-l", "ERROR"]
        environment = os.environ | {"EMBEDDER_THREADS": "1", "WORKER_CONCURRENCY": str(CORES)}
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment)

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.wait()


def _documents(count: int) -> list[str]:
    from benchmarks.texts import passages

    every = passages()
    return [
        f"# Document {i}\n\n"
        + "\n\n".join(
            f"## Part {j}\n\n{every[(i * PASSAGES_PER_DOCUMENT + j) % len(every)]}"
            for j in range(PASSAGES_PER_DOCUMENT)
        )
        for i in range(count)
    ]


def _ingest(collection: object, documents: list[str]) -> None:
    import io

    from ingestion import services
    from ingestion.models import DocumentVersion, State
    from ingestion.models.library import UNFINISHED

    for text in documents:
        services.receive(
            collection,  # type: ignore[arg-type]
            io.BytesIO(text.encode()),
            file_name="document.md",
            acting_user=None,
        )
    while DocumentVersion.objects.filter(state__in=UNFINISHED).exists():
        time.sleep(0.1)
    failed = DocumentVersion.objects.filter(state=State.FAILED)
    if failed.exists():
        raise RuntimeError(failed.values_list("error", flat=True)[0])


def _embedder_alone() -> float:
    """Chunks per second over the texts of half the chunks, embedded and thrown away."""
    from ingestion import spaces
    from ingestion.chunking import embedding_text
    from ingestion.models import Chunk

    rows = Chunk.objects.select_related("document")[: max(200, Chunk.objects.count() // 2)]
    texts = [embedding_text(row.document.title, row.heading_path, row.text) for row in rows]
    embedder = spaces.embedder()
    embedder.embed_documents(texts[:64])
    started = time.perf_counter()
    embedder.embed_documents(texts)
    return len(texts) / (time.perf_counter() - started)


def _memory() -> None:
    from ingestion import services, steps
    from ingestion.models import Collection, DocumentVersion

    collection = Collection.objects.create(name="memory")
    # Made by a process of its own: the peak measured here is the worker's work alone.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        makers = {"pages.pdf": _pdf, "long.txt": _fifty_megabytes}
        files = {name: pool.submit(make).result() for name, make in makers.items()}
    for name, path in files.items():
        with path.open("rb") as file:
            receipt = services.receive(collection, file, file_name=name, acting_user=None)
        started = time.perf_counter()
        steps.advance(receipt.version.pk)
        version = DocumentVersion.objects.get(pk=receipt.version.pk)
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(
            f"{name:<10} {version.size / 1e6:5.1f} MB {version.state} {version.error}"
            f" {version.chunk_count} chunks in {time.perf_counter() - started:.0f} s;"
            f" peak so far: worker {own:.0f} MB, largest child {child:.0f} MB",
            flush=True,
        )


def _pdf() -> Path:
    """300 pages of real prose under a heading each."""
    from benchmarks.texts import passages
    from tests.samples.builders import make_pdf

    every = passages()
    pages = [
        [("h1", f"Part {i}"), *(("p", escape(text[:700])) for text in every[i * 3 : i * 3 + 3])]
        for i in range(300)
    ]
    path = VAR / "pages.pdf"
    path.write_bytes(make_pdf(pages))
    return path


def _fifty_megabytes() -> Path:
    from benchmarks.texts import passages

    text = "\n\n".join(passages())
    path = VAR / "long.txt"
    with path.open("w") as file:
        while file.tell() < 50_000_000:
            file.write(f"{file.tell()}\n\n{text[:5_000_000]}\n\n")
    return path


if __name__ == "__main__":
    main()
