"""Process one version, from its stored file to searchable chunks.

Each step stores its result in the database, and the next attempt continues after it: a crash
loses only the current step. Every write checks the version's lease, so that two workers with
the same task do the work once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from django.conf import settings
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext

from common import metrics, retries
from common.jobs import MAX_ATTEMPTS, Lease, enqueue, work_on
from ingestion import spaces
from ingestion.chunking import chunk_blocks
from ingestion.chunking.options import LAYOUT
from ingestion.documents import (
    activation,
    archive_members,
    editions,
    extractions,
    hand_edit_transfer,
    turns,
    versions,
)
from ingestion.documents.hand_edit_transfer import identifiers
from ingestion.documents.picture_cache import ocr_of_settings
from ingestion.domain import ChunkDraft, ParsedDocument, Unit, extracted_text
from ingestion.errors import (
    DamagedFile,
    EmbeddingUnavailable,
    IngestionError,
    NoText,
    RepeatedCrash,
    StorageUnavailable,
)
from ingestion.files import storage
from ingestion.files.filetypes import SOURCE_TYPES, SUPPORTED
from ingestion.lexical import bm25_weights
from ingestion.lexical.languages import detect_language, primary_code, text_config
from ingestion.lexical.near_duplicates import signature
from ingestion.models import Chunk, DocumentVersion, Identifier, State
from ingestion.parsing.child.sandbox import parse_file
from ingestion.parsing.child.scratch import scratch_directory
from ingestion.parsing.file_titles import with_code, with_file_name
from ingestion.parsing.limits import ParseLimits

_FORMATS = {kind.media_type: kind.extension.removeprefix(".") for kind in SUPPORTED.values()} | {
    kind.media_type: "code" for kind in SOURCE_TYPES
}
CHUNK_BATCH = 500
# Progress after this step, in [0, 1].
PARSED = 0.05


def advance(version_id: int) -> bool:
    """Process a version; True if this call finished it.

    False if it was finished before, waits for a retry, or is leased to another worker.
    """
    return bool(work_on(DocumentVersion, version_id, _attempt))


def advance_in_turn(version_id: int) -> bool:
    """Process the version whose turn it is in the queue of this one; True if it was finished."""
    for pk in turns.in_turn(version_id):
        if (is_finished := work_on(DocumentVersion, pk, _attempt)) is not None:
            return is_finished
    return False


def _attempt(lease: Lease[DocumentVersion]) -> bool:
    """Run one attempt; True if the version is ready or failed, False if it waits for a retry."""
    kind, outcome = format_of(lease.row.media_type), "ready"
    with metrics.timed(metrics.DOCUMENT_SECONDS, format=kind, step="whole"):
        try:
            _run(lease)
            metrics.count(metrics.DOCUMENT_BYTES, lease.row.size, format=kind)
        except (EmbeddingUnavailable, StorageUnavailable) as error:
            _postpone(lease, error)
            outcome = "postponed"
        except turns.TurnOver:
            lease.postpone(timedelta(0), attempts=0)
            enqueue(DocumentVersion, lease.row.pk)
            outcome = "postponed"
        except IngestionError as error:
            activation.fail(lease, error)
            metrics.count(metrics.DOCUMENT_FAILURES, code=error.code)
            outcome = "failed"
    metrics.count(metrics.DOCUMENTS, format=kind, outcome=outcome)
    return outcome != "postponed"


def format_of(media_type: str) -> str:
    """The name of a file's format in metrics: its usual extension, code, or other."""
    return _FORMATS.get(media_type, "other")


def _run(lease: Lease[DocumentVersion]) -> None:
    version = lease.row
    turns.begin(version)
    if lease.crashes_repeatedly:
        raise RepeatedCrash(
            gettext(
                "Processing this file stopped unexpectedly %(max_attempts)s times. The "
                "worker's log says why. Fix the cause, then retry."
            )
            % {"max_attempts": MAX_ATTEMPTS}
        )
    pending = None
    if version.state in (State.QUEUED, State.PARSING, State.CHUNKING):
        pending = _parse_and_chunk(lease)
    # While the embedding runs; a language model costs money and must not be called in vain. A
    # longer document may lose its turn, and these with it.
    is_short = version.chunk_count <= activation.BATCH
    early = extractions.extract_early(version.pk) if pending and is_short else {}
    activation.embed(lease, pending)
    while not activation.activate(lease, early):
        activation.embed(lease)  # another space has become active
    editions.offer(version)


def _postpone(
    lease: Lease[DocumentVersion], error: EmbeddingUnavailable | StorageUnavailable
) -> None:
    """Release the version with the reason and the earliest time of the next attempt."""
    delay = retries.pause(lease.row.attempts, error.retry_after)
    message = gettext("%(error)s Trying again in about %(seconds)d seconds.") % {
        "error": error,
        "seconds": int(delay.total_seconds()),
    }
    lease.postpone(delay, error=message, error_code=error.code)


def _parse_and_chunk(lease: Lease[DocumentVersion]) -> activation.Pending | None:
    """Store the version's chunks with their terms; return the embedding of the first ones."""
    version = lease.row
    lease.update(state=State.PARSING, progress=0)
    parsed = _parse(lease)
    text = extracted_text(parsed.blocks)
    if not text.strip():
        raise NoText(
            gettext("The file contains no text. If it is a scan, run it through OCR first.")
        )
    document = version.document
    language = _language(version, parsed, text)
    own = with_code(parsed.title.strip(), version.file_name) if parsed.title.strip() else ""
    title = document.title if document.title_given else own or document.title
    lease.update(
        state=State.CHUNKING,
        progress=PARSED,
        text=text,
        title=title[:500],
        language=language,
        author=parsed.author[:500],
        page_count=parsed.page_count,
        file_created=_moment(parsed.created),
        file_modified=_moment(parsed.modified),
        parser=parsed.parser[:80],
        warnings=[*parsed.warnings, *editions.read_version(version, parsed.stated)],
        stated=version.stated,
        completeness=parsed.completeness.as_json(),
    )
    pending = _set_chunks(lease, parsed)
    carried = hand_edit_transfer.carry(lease, spaces.embedder().tokenizer)
    bm25_weights.read_terms(version.pk, title=with_file_name(version.title, version.file_name))
    versions.copy_vectors(lease)
    if not (count := version.chunks.count()):  # nothing would be embedded
        raise NoText(gettext("No passage could be made of this file's text."))
    lease.update(
        state=State.EMBEDDING,
        progress=activation.CHUNKED,
        chunk_count=count,
        chunk_layout=LAYOUT,
        attempts=0,
    )
    return None if carried else pending


def _parse(lease: Lease[DocumentVersion]) -> ParsedDocument:
    """The parsed file; its parts have been ingested as separate documents."""
    version = lease.row
    try:
        with storage.local_copy(str(version.file.name)) as path, scratch_directory() as folder:
            kind = format_of(version.media_type)
            with metrics.timed(metrics.DOCUMENT_SECONDS, format=kind, step="parse"):
                parsed = open_file(path, version.file_name, parts_to=folder)
            refused = archive_members.take_in(lease, parsed.parts, parsed.completeness)
    except FileNotFoundError:
        raise DamagedFile(gettext("The stored file is missing. Upload it again.")) from None
    return replace(parsed, warnings=(*parsed.warnings, *refused))


def open_file(path: Path, file_name: str, *, parts_to: Path | None = None) -> ParsedDocument:
    """The file's blocks and metadata; embedded files are copied to the folder `parts_to`."""
    return parse_file(
        path,
        file_name,
        ParseLimits.of(settings.PARSE_LIMITS),
        ocr=ocr_of_settings(settings.OCR_PAGES),
        parts_to=parts_to,
    )


def _language(version: DocumentVersion, parsed: ParsedDocument, text: str) -> str:
    """The language: set by a person, the collection's, detected, the file's, or the default.

    What a file states is mostly a program's default: Word in English writes en-US into German
    letters. Where detection is sure, 2 of 1,000 texts of 60 characters are in another language.
    """
    document = version.document
    stated_language = document.language if document.language_given else ""
    return (
        stated_language
        or document.collection.language
        or detect_language(text, primary_code(settings.DEFAULT_LANGUAGE))
        or primary_code(parsed.language)
        or settings.DEFAULT_LANGUAGE
    )


def _set_chunks(lease: Lease[DocumentVersion], parsed: ParsedDocument) -> activation.Pending | None:
    """Replace the version's chunks and identifiers, in batches.

    The model begins with the first chunks of a new document; later versions may share vectors with
    the one before them.
    """
    version = lease.row
    collection = version.document.collection
    space = spaces.writing_space()
    embedder = spaces.embedder(space)
    options = spaces.chunking_options(collection, embedder)
    pending: activation.Pending | None = None
    patterns = hand_edit_transfer.patterns()
    with lease.writing():
        version.chunks.all().delete()
    drafts = chunk_blocks(
        parsed.blocks,
        options,
        embedder.tokenizer,
        title=version.title,
        by_page=parsed.completeness.unit is Unit.SLIDE,
    )
    for batch in _batches(drafts, CHUNK_BATCH):
        with lease.writing():
            chunks = Chunk.objects.bulk_create(_chunk(version, draft) for draft in batch)
            if pending is None and version.document.current_id is None:
                pending = activation.begin(version, space, chunks)
            Identifier.objects.bulk_create(
                row for chunk in chunks for row in identifiers(chunk, version, patterns)
            )
    return pending


# The fields that a chunk has in common with its draft.
_OF_DRAFTS = ("ordinal", "text", "kind", "page", "start", "end", "tokens", "content_hash")


def _chunk(version: DocumentVersion, draft: ChunkDraft) -> Chunk:
    return Chunk(
        collection_id=version.document.readers_id,
        document_id=version.document_id,
        version=version,
        heading_path=list(draft.heading_path),
        layout=[list(place) for place in draft.layout],
        sections=[list(place) for place in draft.sections],
        signature=signature(draft.text),
        text_config=text_config(version.language),
        **{name: getattr(draft, name) for name in _OF_DRAFTS},
    )


def _moment(text: str) -> datetime | None:
    """A file's date as an aware datetime; None if it is missing or unreadable."""
    try:
        moment = parse_datetime(text)
        if moment is None and (day := parse_date(text[:10])):
            moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
    except ValueError:
        return None
    if moment is not None and timezone.is_naive(moment):
        moment = moment.replace(tzinfo=UTC)
    return moment


def _batches(drafts: Iterable[ChunkDraft], size: int) -> Iterator[list[ChunkDraft]]:
    iterator = iter(drafts)
    while batch := list(islice(iterator, size)):
        yield batch
