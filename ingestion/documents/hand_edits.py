"""Hand edits: a person changes, disables, pins or annotates a searchable passage.

    prepare -> the new text is counted and embedded, before anything is locked
    write   -> text, lexemes, statistics, identifiers, vectors in one transaction

The passage stays searchable throughout, by its old text and then by its new one.
`hand_edit_transfer` transfers the edits to later versions of the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

from django.contrib.admin.models import CHANGE
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext, gettext_lazy

from common.accounts.models import User
from common.jobs import enqueue, revoke
from ingestion import events, spaces
from ingestion.chunking.embedding_text import TextLimits
from ingestion.documents import extractions, versions
from ingestion.documents.hand_edit_transfer import anchor, parsed_text, patterns, rewrite
from ingestion.embedding import Vectors
from ingestion.errors import RefusedEdit, StateConflict
from ingestion.events import log
from ingestion.lexical import bm25_weights
from ingestion.models import (
    Chunk,
    ChunkEdit,
    ChunkEmbedding,
    Document,
    DocumentVersion,
    EmbeddingSpace,
    State,
)
from ingestion.models.versions import MAX_QUESTION_CHARS, UNFINISHED
from ingestion.parsing.file_titles import with_file_name
from ingestion.spaces.vectors import leave_to_backfill, store, texts_of

MAX_QUESTIONS = 50
REPLACED = gettext_lazy(
    "The passage was replaced or edited by somebody else meanwhile. Load the page again."
)

Embedded = tuple[EmbeddingSpace, Vectors]


@dataclass(frozen=True, slots=True)
class Wish:
    """The complete requested state of a passage; an empty field means as parsed."""

    text: str = ""
    disabled: bool = False
    questions: tuple[str, ...] = ()
    note: str = ""


def edit_chunk(
    chunk: Chunk, wish: Wish, *, acting_user: User | None, seen: str = ""
) -> ChunkEdit | None:
    """Edit a chunk; return its edit, or None if the wish equals the parsed passage.

    `seen` is the content hash that the person was shown. Raises StateConflict if the passage has
    changed since, RefusedEdit for an invalid text or questions, and EmbeddingUnavailable if the
    model cannot be reached; nothing is changed then.
    """
    return _edit(chunk, _cleaned(wish), acting_user, seen)


def undo(edit: ChunkEdit, *, acting_user: User | None) -> None:
    """Restore the passage as parsed; discard an edit that has no passage."""
    chunk = applied_to(edit)
    if chunk is not None:
        _edit(chunk, Wish(), acting_user, "")
        return
    with transaction.atomic():
        document = versions.locked(edit.document_id)
        ChunkEdit.objects.filter(pk=edit.pk).delete()
        log(acting_user, document, CHANGE, f"Discarded an edit of passage {edit.ordinal + 1}")


def applied_to(edit: ChunkEdit) -> Chunk | None:
    """The searchable passage that the edit applies to, or None."""
    document = Document.objects.get(pk=edit.document_id)
    if document.current_id is None:
        return None
    return Chunk.objects.filter(version=document.current_id, edit=edit).first()


def count_tokens(chunk: Chunk, text: str) -> tuple[int, int]:
    """The text's token count, and the maximum that fits the model beside title and headings."""
    model = spaces.embedder()
    options = spaces.chunking_options(chunk.version.document.collection, model)
    limits = TextLimits(chunk.version.title, options, model.tokenizer)
    return model.tokenizer.count(text), limits.of(tuple(chunk.heading_path))


def _cleaned(wish: Wish) -> Wish:
    text = wish.text.replace("\x00", "").replace("\r\n", "\n").strip()
    questions = [" ".join(question.replace("\x00", "").split()) for question in wish.questions]
    questions = list(dict.fromkeys(filter(None, questions)))
    if len(questions) > MAX_QUESTIONS or any(len(q) > MAX_QUESTION_CHARS for q in questions):
        raise RefusedEdit(
            gettext(
                "A passage is pinned to %(max_questions)s questions at most, each of at most "
                "%(max_question_chars)s characters."
            )
            % {"max_questions": MAX_QUESTIONS, "max_question_chars": MAX_QUESTION_CHARS}
        )
    if wish.text and not text:
        raise RefusedEdit(
            gettext("The text is empty. To take the passage out of search, disable it.")
        )
    return Wish(text, wish.disabled, tuple(questions), wish.note.replace("\x00", "").strip())


def _edit(chunk: Chunk, wish: Wish, acting_user: User | None, seen: str) -> ChunkEdit | None:
    text = wish.text or parsed_text(chunk)
    embedded = _embedded(chunk, text) if text != chunk.text else None
    with transaction.atomic():
        document = versions.locked(chunk.document_id)
        current = _locked_chunk(document, chunk, seen or chunk.content_hash)
        bm25_weights.count_out(current.version_id, chunk_id=current.pk)
        edit = _stored(current, text, wish, acting_user)
        if embedded is not None:
            _replace_text(current, text, embedded)
        if edit is not None:
            _anchor(edit, current)
        Chunk.objects.filter(pk=current.pk).update(searchable=not wish.disabled, edit=edit)
        bm25_weights.count_in(current.version_id, chunk_id=current.pk)
        events.tell_of_index(current.version_id)
        # With the document locked, nothing may wait for another server.
        extractions.store(document, extractions.extract(current.version_id, {}, fast=True))
        _begin_again(document)
        log(acting_user, document, CHANGE, _message(current, edit))
    return edit


def _locked_chunk(document: Document, chunk: Chunk, seen: str) -> Chunk:
    """The chunk, locked. Raises StateConflict unless it is current and its hash is `seen`."""
    rows = Chunk.objects.select_for_update(of=("self",)).select_related("version", "edit")
    current = rows.filter(pk=chunk.pk, version=document.current_id, content_hash=seen).first()
    if current is None:
        raise StateConflict(str(REPLACED))
    return current


def _stored(current: Chunk, text: str, wish: Wish, acting_user: User | None) -> ChunkEdit | None:
    """The edit with the wish, not anchored yet; deleted and None if the wish is empty."""
    edit = current.edit
    if text == parsed_text(current) and not (wish.disabled or wish.questions or wish.note):
        if edit is not None:
            edit.delete()
            current.edit = None
        return None
    if edit is None:
        edit = ChunkEdit(document_id=current.document_id, added_by=acting_user)
    edit.disabled, edit.note = wish.disabled, wish.note
    edit.questions = list(wish.questions)
    return edit


def _replace_text(current: Chunk, text: str, embedded: Embedded) -> None:
    space, vectors = embedded
    version = current.version
    spaces.hold_switch()
    if spaces.writing_space().pk != space.pk:
        raise StateConflict(
            gettext("The embedding model was changed just now. Save the edit again.")
        )
    rewrite(current, text, version, spaces.embedder(space).tokenizer, patterns())
    title = with_file_name(version.title, version.file_name)
    bm25_weights.read_terms(version.pk, title=title, chunk_id=current.pk)
    ChunkEmbedding.objects.filter(chunk=current).delete()
    store(space, [current.pk], vectors)
    for space_id in leave_to_backfill(Q(pk=current.pk)):
        enqueue(EmbeddingSpace, space_id)


def _anchor(edit: ChunkEdit, current: Chunk) -> None:
    around = Chunk.objects.filter(version=current.version_id)
    beside = {c.ordinal: c for c in around.filter(ordinal__in=_beside(current.ordinal))}
    anchor(edit, current, beside.get(current.ordinal - 1), beside.get(current.ordinal + 1))
    edit.save()


def _beside(ordinal: int) -> Sequence[int]:
    return [ordinal - 1, ordinal + 1] if ordinal else [1]


def _embedded(chunk: Chunk, text: str) -> Embedded:
    """The text's vector in the active space; the backfill adds it to the other spaces."""
    tokens, most = count_tokens(chunk, text)
    if tokens > most:
        raise RefusedEdit(
            gettext(
                "The text has %(tokens)s tokens; beside its headings the embedding "
                "model reads at most %(most)s. Shorten the text."
            )
            % {"tokens": tokens, "most": most}
        )
    changed = copy(chunk)
    changed.text = text
    space = spaces.writing_space()
    model = spaces.embedder(space)
    return space, model.embed_documents(texts_of([changed], model))


def _begin_again(document: Document) -> None:
    """Restart a version in progress: it was chunked before this edit and would lose it."""
    under_way = document.versions.filter(state__in=UNFINISHED).exclude(state=State.QUEUED)
    for pk in under_way.values_list("pk", flat=True):
        rows = DocumentVersion.objects.filter(pk=pk)
        revoke(rows, state=State.QUEUED, progress=0, attempts=0)
        enqueue(DocumentVersion, pk)


def _message(chunk: Chunk, edit: ChunkEdit | None) -> str:
    passage = f"passage {chunk.ordinal + 1}"
    return f"Edited {passage} ({', '.join(edit.kinds)})" if edit else f"Restored {passage}"
