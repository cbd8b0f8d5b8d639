"""The memory that very large files cost a worker and its parser.

    python -m benchmarks.large_files [--files pages.pdf long.txt]

Ingests a PDF of 300 pages and a text file of 50 MB in this process, as a worker does, and prints
the peaks. The text file has some 76,000 chunks to embed: leave it time.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.ingestion_speed import a_collection, pdf
from benchmarks.temporary_site import receive, site
from benchmarks.texts import passages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", nargs="+", choices=list(MAKERS), default=list(MAKERS))
    arguments = parser.parse_args()
    with site("large_files") as var, a_collection("large files") as collection:
        from ingestion.documents import processing_steps
        from ingestion.models import DocumentVersion
        from ingestion.parsing.child import fork_client

        # Made by a process of its own: the peak measured here is the worker's work alone.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            for name in arguments.files:
                pool.submit(MAKERS[name], var / name).result()
        for name in arguments.files:
            (pk,) = receive(collection, [(var / name).read_bytes()], name)
            started = time.perf_counter()
            processing_steps.advance(pk)
            fork_client.close_servers()  # the memory of a child is known when its server has ended
            version = DocumentVersion.objects.get(pk=pk)
            own, child = (
                resource.getrusage(who).ru_maxrss / 1024
                for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
            )
            print(
                f"{name:<10} {version.size / 1e6:5.1f} MB {version.state} {version.error}"
                f" {version.chunk_count} chunks in {time.perf_counter() - started:.0f} s;"
                f" peak so far: worker {own:.0f} MB, largest child {child:.0f} MB",
                flush=True,
            )


def make_pages(path: Path) -> None:
    """300 pages of real prose under a heading each."""
    path.write_bytes(pdf(passages(), 0, 300))


def make_text(path: Path) -> None:
    """50 MB of real prose."""
    text = "\n\n".join(passages())
    with path.open("w") as file:
        while file.tell() < 50_000_000:
            file.write(f"{file.tell()}\n\n{text[:5_000_000]}\n\n")


MAKERS = {"pages.pdf": make_pages, "long.txt": make_text}


if __name__ == "__main__":
    os.environ.setdefault("EMBEDDER", "local")
    main()
