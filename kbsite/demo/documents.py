"""The demo's documents: our own samples and Django's manual, received as uploads."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import django
from django.db.models import Sum
from tqdm import tqdm

from ingestion import services
from ingestion.documents.progress import Watch, follow, progress_view
from ingestion.errors import IngestionError
from ingestion.lexical import bm25_weights
from ingestion.models import Collection, Document, Lane, State, Visibility

SAMPLES_FOLDER = Path(__file__).parent / "samples"
SAMPLES = "Samples"
DJANGO_DOCS = "Django documentation"
DESCRIPTIONS = {
    SAMPLES: "Small documents written for Steelyard, with names worth looking up.",
    DJANGO_DOCS: "The manual of the Django version that this site runs on.",
}
ICONS = {SAMPLES: "box", DJANGO_DOCS: "book"}
# The release notes are 380 more files that repeat the manual.
EXCLUDED = {("docs", "releases")}
DOWNLOAD_TIMEOUT = 300  # seconds; a guess: 11 MB, and a build tool for pip to read the metadata


class DocsUnavailable(Exception):
    """The documentation cannot be downloaded; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file's name, its bytes, and the source by which a later version replaces it."""

    file_name: str
    source: str
    content: bytes


def samples() -> list[SourceFile]:
    """The sample files, by name.

    They hold the difficult cases: identifiers beside near misses, titles that share words,
    abbreviations beside their expansions, records that share a passage. The texts are our own; no
    regulation or manual is quoted.
    """
    return [
        SourceFile(path.name, f"samples/{path.name}", path.read_bytes())
        for path in sorted(SAMPLES_FOLDER.iterdir())
    ]


def django_docs(folder: Path, say: Callable[[str], None]) -> list[SourceFile]:
    """The manual's files in the order of their paths. Raises DocsUnavailable.

    The archive is kept in `folder`, so that a second run downloads nothing.
    """
    version = django.get_version()
    archive = _archive_in(folder, version)
    if archive is None:
        say(f"Downloading the documentation of Django {version} (11 MB) with pip")
        archive = _download(folder, version)
    try:
        return sorted(_manual_pages(archive, release()), key=lambda file: file.source)
    except (tarfile.TarError, OSError, EOFError) as error:
        archive.unlink(missing_ok=True)
        raise DocsUnavailable(
            f"{archive.name} was damaged ({error}) and has been removed. Run this command again."
        ) from error


def release() -> str:
    """The first folder of the sources of the manual's pages: "django-5.2"."""
    return "django-" + ".".join(django.get_version().split(".")[:2])


def _archive_in(folder: Path, version: str) -> Path | None:
    # Its name depends on the version of the build tool: Django-5.2.1 or django-5.2.1.
    return next(folder.glob(f"[Dd]jango-{version}.tar.gz"), None)


def _download(folder: Path, version: str) -> Path:
    """Download the archive with pip, which knows the mirrors, proxies and certificates in use."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="download-") as directory:
        command = [
            *(sys.executable, "-m", "pip", "download", f"Django=={version}"),
            *("--no-deps", "--no-binary", "Django", "--dest", directory),
            *("--disable-pip-version-check", "--quiet", "--no-input"),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT, check=False
            )
        except subprocess.TimeoutExpired:
            raise DocsUnavailable(
                f"pip did not download Django's source within {DOWNLOAD_TIMEOUT // 60} minutes."
            ) from None
        fetched = _archive_in(Path(directory), version)
        if fetched is None:
            errors = [line for line in done.stderr.splitlines() if line.strip()]
            raise DocsUnavailable(
                "pip could not download Django's source: "
                f"{errors[-1] if errors else 'no reason given'}. Check the network, or run: "
                "make demo ARGS='--corpus samples'"
            )
        return fetched.replace(folder / fetched.name)


def _manual_pages(archive: Path, release: str) -> Iterator[SourceFile]:
    """The manual's pages, read from the archive without unpacking: its paths are not trusted."""
    with tarfile.open(archive) as members:
        for member in members:
            inside = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            content = members.extractfile(member) if _is_manual_page(inside) else None
            if content is not None:
                yield SourceFile(
                    file_name=inside.with_suffix(".rst").name,
                    source=f"{release}/{inside.relative_to('docs')}",
                    content=content.read(),
                )


def _is_manual_page(path: PurePosixPath) -> bool:
    parts = path.parts
    if parts[:1] != ("docs",) or parts[:2] in EXCLUDED or path.suffix != ".txt":
        return False
    return not any(part.startswith("_") for part in parts)  # the theme and its licences


@dataclass(slots=True)
class Uploads:
    """The versions still being processed, and the problems so far, as sentences for people."""

    waiting: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def receive(name: str, files: Sequence[SourceFile], uploads: Uploads) -> None:
    """Add files to a public collection, except those that are already searchable."""
    collection, _ = Collection.objects.undeleted().get_or_create(
        name=name,
        defaults={
            "visibility": Visibility.PUBLIC,
            "description": DESCRIPTIONS[name],
            "icon": ICONS[name],
        },
    )
    add(collection, files, uploads)


def add(collection: Collection, files: Sequence[SourceFile], uploads: Uploads) -> None:
    """Add files to a collection, except those that are already searchable."""
    ready = collection.documents.undeleted().filter(latest__state=State.READY)
    present = set(ready.values_list("source", "content_hash"))
    for file in files:
        if (file.source, hashlib.sha256(file.content).hexdigest()) in present:
            continue
        try:
            receipt = services.receive(
                collection,
                io.BytesIO(file.content),
                file_name=file.file_name,
                source=file.source,
                acting_user=None,
                lane=Lane.BULK,  # a person's own first upload does not wait for all of them
            )
        except IngestionError as error:
            uploads.problems.append(f"{file.source}: {error}")
            continue
        if receipt.version.state == State.FAILED:
            services.retry([receipt.document], acting_user=None)
        if receipt.version.state == State.FAILED or receipt.version.is_open:
            uploads.waiting.append(receipt.version.pk)


def wait(uploads: Uploads, check: Callable[[], None], say: Callable[[str], None]) -> None:
    """Wait until the workers have processed all uploads; add failures to the problems."""
    if uploads.waiting:
        watch, started = Watch(uploads.waiting), time.monotonic()
        with progress_view(tqdm.write) as show:
            done = follow(watch, show, check)
        seconds = time.monotonic() - started
        say(
            f"{done.files} files became {done.chunks:,} chunks in {seconds:.0f} s "
            f"({done.chunks / seconds:.0f} chunks/s)"
        )
        uploads.problems += [f"{one.document.source}: {one.error}" for one in watch.failures()]
        # Beat does this every half minute; the example searches should not wait for it.
        bm25_weights.fold()
    else:
        documents = Document.objects.undeleted()
        chunks = documents.aggregate(chunks=Sum("current__chunk_count"))["chunks"] or 0
        say(f"Nothing new: {documents.count()} documents, {chunks:,} chunks")
