"""What the extraction of concepts adds to the ingestion of documents.

    python -m benchmarks.concept_extraction [--notes 100] [--words 20000]

Ingests so many notes (passages of the judged collections) and one long document in this process, as
a worker does, and prints the part of the time that concepts took: reading and storing them.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from benchmarks.ingestion_speed import a_collection
from benchmarks.temporary_site import receive, site
from benchmarks.texts import passages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=100)
    parser.add_argument("--words", type=int, default=20_000)
    arguments = parser.parse_args()
    texts = [text for text in passages() if text]
    notes = texts[:: max(1, len(texts) // arguments.notes)][: arguments.notes]
    long = " ".join("\n\n".join(texts).split(" ")[: arguments.words])
    with site("concepts"), a_collection("concepts") as collection:
        warm = receive(collection, [b"The first document loads the model."], "warm.txt")
        measure("warm-up", warm)
        measure("notes", receive(collection, [text.encode() for text in notes], "note.txt"))
        measure("long", receive(collection, [long.encode()], "long.txt"))


def measure(name: str, versions: Sequence[int]) -> None:
    """Process the versions, and print the whole time and the concepts' part of it."""
    from ingestion.documents import processing_steps
    from ingestion.models import Chunk
    from search.parts.concepts import extraction
    from search.parts.concepts.models import Concept

    spent: list[float] = []
    with timed(extraction, "extract", spent), timed(extraction, "store", spent):
        started = time.perf_counter()
        for pk in versions:
            processing_steps.advance(pk)
        whole = time.perf_counter() - started
    chunks = Chunk.objects.filter(version__in=versions).count()
    count = Concept.objects.filter(version__in=versions).count()
    part = sum(spent)
    print(
        f"{name:<8} {len(versions)} documents, {chunks} chunks, {count} concepts in {whole:.1f} s;"
        f" concepts {part:.2f} s, {part / whole:.1%}",
        flush=True,
    )


@contextmanager
def timed(module: Any, name: str, spent: list[float]) -> Iterator[None]:
    """Within this context, calls of the module's function add their time to `spent`."""
    called: Callable[..., Any] = getattr(module, name)

    def measured(*arguments: Any) -> Any:
        started = time.perf_counter()
        try:
            return called(*arguments)
        finally:
            spent.append(time.perf_counter() - started)

    with mock.patch.object(module, name, measured):
        yield


if __name__ == "__main__":
    os.environ.setdefault("EMBEDDER", "local")
    main()
