"""The demo's documents, put in as an upload puts them in: received here, worked on by workers."""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.db.models import Sum
from tqdm import tqdm

from ingestion import services
from ingestion.documents.progress import ProgressView, Watch, follow
from ingestion.errors import IngestionError
from ingestion.lexical import terms
from ingestion.models import Collection, Document, State, Visibility
from kbsite.demo.sources import SourceFile

SAMPLES = "Samples"
DJANGO_DOCS = "Django documentation"
DESCRIPTIONS = {
    SAMPLES: "Small documents that Steelyard wrote itself, with names worth looking up.",
    DJANGO_DOCS: "The manual of the Django version that this site runs on.",
}


@dataclass(slots=True)
class Filling:
    """What was received: the versions to wait for, and what went wrong, in words for people."""

    waiting: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def receive(name: str, files: Sequence[SourceFile], filling: Filling) -> None:
    """Adds files to a public collection. Those that are searchable already are left alone."""
    collection, _ = Collection.objects.kept().get_or_create(
        name=name,
        defaults={"visibility": Visibility.PUBLIC, "description": DESCRIPTIONS[name]},
    )
    ready = collection.documents.kept().filter(latest__state=State.READY)
    held = set(ready.values_list("source", "content_hash"))
    for file in files:
        if (file.source, hashlib.sha256(file.content).hexdigest()) in held:
            continue
        try:
            receipt = services.receive(
                collection,
                io.BytesIO(file.content),
                file_name=file.file_name,
                source=file.source,
                acting_user=None,
            )
        except IngestionError as error:
            filling.problems.append(f"{file.source}: {error}")
            continue
        if receipt.version.state == State.FAILED:
            services.retry([receipt.document], acting_user=None)
        if receipt.version.state == State.FAILED or receipt.version.is_open:
            filling.waiting.append(receipt.version.pk)


def wait(filling: Filling, check: Callable[[], None], say: Callable[[str], None]) -> None:
    """Returns when the workers have finished; failures are added to the problems."""
    if filling.waiting:
        watch, started = Watch(filling.waiting), time.monotonic()
        with ProgressView(tqdm.write) as view:
            done = follow(watch, view, check)
        seconds = time.monotonic() - started
        say(
            f"{done.files} files became {done.chunks:,} chunks in {seconds:.0f} s "
            f"({done.chunks / seconds:.0f} chunks/s)"
        )
        filling.problems += [f"{one.source}: {one.error}" for one in watch.failures()]
        # Beat does this every half minute; the searches that follow should not wait for it.
        terms.fold()
    else:
        held = Document.objects.kept().aggregate(chunks=Sum("current__chunk_count"))["chunks"] or 0
        say(f"Nothing new: {Document.objects.kept().count()} documents, {held:,} chunks")
