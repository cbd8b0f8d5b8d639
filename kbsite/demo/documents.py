"""The demo's documents, received as uploads, and the judged collection about them that ships.

`judgements/README.md` says how its questions were graded. `manage.py evaluate --collection demo`
measures profiles on them; `make demo` loads them as golden queries.
"""

from __future__ import annotations

import csv
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import django
from django.conf import settings
from django.db.models import Sum
from tqdm import tqdm

from ingestion import services
from ingestion.documents.progress import ProgressView, Watch, follow
from ingestion.errors import IngestionError
from ingestion.lexical import terms
from ingestion.models import Collection, Document, State, Visibility
from search.tuning.evaluation.collections import EvaluationError
from search.tuning.evaluation.loading import finish
from search.tuning.evaluation.sections import SectionCollection, read_sections, source_of
from search.tuning.golden import exchange
from search.tuning.models import GoldenQuery

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
    abbreviations beside their expansions. The texts are our own; no regulation or manual is quoted.
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
    """The manual's pages, read without unpacking: no path in the archive is trusted."""
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
    """The versions to wait for, and the problems so far, as sentences for people."""

    waiting: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def receive(name: str, files: Sequence[SourceFile], uploads: Uploads) -> None:
    """Add files to a public collection, except those that are already searchable."""
    collection, _ = Collection.objects.kept().get_or_create(
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
    ready = collection.documents.kept().filter(latest__state=State.READY)
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
        with ProgressView(tqdm.write) as view:
            done = follow(watch, view, check)
        seconds = time.monotonic() - started
        say(
            f"{done.files} files became {done.chunks:,} chunks in {seconds:.0f} s "
            f"({done.chunks / seconds:.0f} chunks/s)"
        )
        uploads.problems += [f"{one.source}: {one.error}" for one in watch.failures()]
        # Beat does this every half minute; the example searches should not wait for it.
        terms.fold()
    else:
        documents = Document.objects.kept()
        chunks = documents.aggregate(chunks=Sum("current__chunk_count"))["chunks"] or 0
        say(f"Nothing new: {documents.count()} documents, {chunks:,} chunks")


FOLDER = Path(__file__).parent / "judgements"
NAME = "demo"
JUDGE = "Steelyard's authors"
# Judgements name the manual's pages without the version that the site runs on.
MANUAL = "django/"
COLLECTIONS = (SAMPLES, DJANGO_DOCS)


def collection() -> SectionCollection:
    """The judged collection, which loads its documents itself."""
    return read_sections(FOLDER, load, NAME)


def aliases() -> Mapping[str, str]:
    """The beginning of the sources of the manual's pages on this site."""
    return {MANUAL: release() + "/"}


def load(say: Callable[[str], None], processes: int) -> tuple[Sequence[str], Mapping[str, str]]:
    """Make the documents searchable; return the collections to search and the `aliases`.

    Those of a demo are used; any other site gets a collection that only superusers can read.
    Raises EvaluationError if the documentation cannot be downloaded or a document cannot be loaded.
    """
    slugs = _slugs()
    if len(slugs) == len(COLLECTIONS):
        return slugs, aliases()
    hidden, _ = Collection.objects.kept().get_or_create(
        name=f"judged: {NAME}",
        defaults={
            "visibility": Visibility.GROUPS,
            "description": "The demo's documents, to measure search with (manage.py evaluate).",
        },
    )
    uploads = Uploads()
    try:
        manual = django_docs(settings.VAR_DIR / "demo", say)
    except DocsUnavailable as error:
        raise EvaluationError(str(error)) from error
    add(hidden, [*samples(), *manual], uploads)
    if uploads.problems:
        raise EvaluationError(uploads.problems[0])
    finish(uploads.waiting, write=say, processes=processes)
    return [hidden.slug], aliases()


def load_golden_queries(say: Callable[[str], None]) -> None:
    """Make the judged questions golden queries, unless the site has any.

    A document has the highest grade of its sections; the note names them. Questions about documents
    that are not there are left out.
    """
    if GoldenQuery.objects.exists():
        return
    result = exchange.import_file("csv", _as_csv(collection(), _slugs()), acting_user=None)
    if result.queries:
        say(f"{result.queries} golden queries with {result.judgements} judgements to start from")


def _as_csv(judged: SectionCollection, slugs: Sequence[str]) -> bytes:
    """The judgements of documents in the format of `manage.py judgements import`."""
    documents_here = Document.objects.kept().filter(collection__slug__in=slugs)
    ids = dict(documents_here.values_list("source", "public_id"))
    texts = {**judged.queries, **judged.without_answer}
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(("query", "collections", "document", "grade", "judge", "note"))
    for query, grades in reversed(list(judged.qrels.items())):  # the newest is listed first
        of_document: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for name, grade in grades.items():
            of_document[source_of(name)].append((grade, name.partition("#")[2]))
        for source, sections in of_document.items():
            document = ids.get(_on_this_site(source))
            if document is None:
                continue
            grade = max(grade for grade, _ in sections)
            best = "; ".join(name for each, name in sections if each == grade and name)
            row = (texts[query], " ".join(slugs), document, grade, JUDGE, best)
            writer.writerow(row)
    return out.getvalue().encode()


def _on_this_site(source: str) -> str:
    """The source of a judged document on this site."""
    for prefix, actual in aliases().items():
        if source.startswith(prefix):
            return actual + source.removeprefix(prefix)
    return source


def _slugs() -> list[str]:
    """The demo's collections that this site has, and that hold documents."""
    rows = Collection.objects.kept().filter(name__in=COLLECTIONS, documents__isnull=False)
    return sorted(set(rows.values_list("slug", flat=True)))
