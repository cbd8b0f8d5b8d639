"""Stores answers with their sources, and reads them back as their reader may see them.

An answer that a model writes is stored twice: `start` when it begins, so that a killed worker
leaves a row that says so, and `finish` at its end. Others are stored once, by `finish`.
"""

from __future__ import annotations

import logging
from dataclasses import fields, replace
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone

from common.accounts.models import User
from ingestion.document_dates import date_of_version
from ingestion.documents.currency import currencies
from ingestion.models import Document, DocumentVersion
from ingestion.models.visibility import Viewer
from search.answers.as_json import sentence_data, sentence_from, step_data, supported_share
from search.answers.budgets import MOST_NAME
from search.answers.checking.conflicts import conflicts
from search.answers.domain import Answered, Context, Mode, Passage, State, Step, Usage
from search.answers.models import Answer, AnswerSource, Thread
from search.answers.request import AnswerRequest
from search.retrieval import Filters

logger = logging.getLogger(__name__)

# What answers and passages have as their rows do, under the same names.
_OF_ANSWERS = (
    "searched_for", "error", "text", "confidence", "retrieval_confidence", "dropped",
    "milliseconds", "first_token_ms",
)  # fmt: skip
_OF_PASSAGES = (
    "ordinal", "page", "title", "language", "start", "end", "text", "tokens", "score", "rank",
)  # fmt: skip


def start(answered: Answered, request: AnswerRequest) -> None:
    """Store an answer that is being written; one statement."""
    _row(answered, request, _result_columns(answered), started=False)


def finish(answered: Answered, request: AnswerRequest, *, started: bool = False) -> None:
    """Store an answer with its sources.

    Two statements; three if it was started, one for a thread. Nothing is stored if its thread or
    its asker was deleted meanwhile. If a document was deleted, only the fact that there was an
    answer is stored.
    """
    try:
        with transaction.atomic():
            _store(answered, request, started)
    except IntegrityError:
        logger.info("Something that answer %s refers to was deleted meanwhile", answered.id)
        if _asker_remains(request):
            with transaction.atomic():
                _store_remains(answered, request, started)


def _store(answered: Answered, request: AnswerRequest, started: bool) -> None:
    row = _row(answered, request, _result_columns(answered), started=started)
    if row is None:
        return
    AnswerSource.objects.bulk_create(
        _source(row.pk, passage, passage.number in answered.cited)
        for passage in answered.context.passages
    )
    if request.thread is not None:
        Thread.objects.filter(pk=request.thread.pk).update(updated=timezone.now())


def _row(
    answered: Answered, request: AnswerRequest, columns: dict[str, Any], *, started: bool
) -> Answer | None:
    """The stored row with these columns; None if it was deleted with its thread meanwhile."""
    if not started:
        return Answer.objects.create(**_request_columns(answered, request), **columns)
    stored = Answer.objects.filter(public_id=answered.id)
    return stored.only("public_id").get() if stored.update(**columns) else None


def _asker_remains(request: AnswerRequest) -> bool:
    user, thread = request.user, request.thread
    return (user is None or User.objects.filter(pk=user.pk).exists()) and (
        thread is None or Thread.objects.filter(pk=thread.pk).exists()
    )


def _store_remains(answered: Answered, request: AnswerRequest, started: bool) -> None:
    """Store an answer as withheld and without its text, because a document was deleted."""
    documents = [each.document for each in answered.context.passages]
    versions = [each.version for each in answered.context.passages]
    existing = set(Document.objects.filter(pk__in=documents).values_list("pk", flat=True))
    undeleted = set(DocumentVersion.objects.filter(pk__in=versions).values_list("pk", flat=True))
    columns = _result_columns(answered)
    if not existing.issuperset(documents):
        columns |= {"text": "", "sentences": []}
    row = _row(answered, request, columns, started=started)
    if row is None:
        return
    for passage in answered.context.passages:
        if passage.document in existing:
            source = _source(row.pk, passage, passage.number in answered.cited)
            source.version_id = passage.version if passage.version in undeleted else None
            source.save()


def _request_columns(answered: Answered, request: AnswerRequest) -> dict[str, Any]:
    """The columns of an answer that never change."""
    return {
        "public_id": answered.id,
        "thread": request.thread,
        "user": request.user,
        "visitor": request.visitor,
        "channel": request.channel,
        "question": answered.question,
        "filters": _filters(request.filters),
        "asked_mode": answered.asked_mode.value,
    }


def _filters(filters: Filters) -> dict[str, Any]:
    """The filters that are set, as texts or lists of texts."""
    values = {each.name: getattr(filters, each.name) for each in fields(filters)}
    return {
        name: [str(each) for each in value] if isinstance(value, tuple) else str(value)
        for name, value in values.items()
        if value
    }


def _result_columns(answered: Answered) -> dict[str, Any]:
    """The columns of an answer that are known when it is complete."""
    return {
        **{name: getattr(answered, name) for name in _OF_ANSWERS},
        "mode": answered.mode.value,
        "state": answered.state.value,
        "sentences": [sentence_data(each) for each in answered.sentences],
        "steps": [step_data(each) for each in answered.steps],
        "notes": list(answered.notes),
        "degraded": list(answered.degraded),
        "source_count": len(answered.context.passages),
        "supported": supported_share(answered.sentences),
        "context_tokens": answered.context.tokens,
        "model": answered.model[:MOST_NAME],
        "prompt_tokens": answered.usage.prompt_tokens,
        "completion_tokens": answered.usage.completion_tokens,
        "cost": round(answered.usage.cost, 6),
    }


def _source(answer: int, passage: Passage, cited: bool) -> AnswerSource:
    return AnswerSource(
        answer_id=answer,
        number=passage.number,
        document_id=passage.document,
        version_id=passage.version,
        chunk_ids=list(passage.chunk_ids),
        heading_path=list(passage.heading_path),
        cited=cited,
        **{name: getattr(passage, name) for name in _OF_PASSAGES},
    )


def readable(public_id: str, viewer: Viewer, visitor: str = "") -> Answer | None:
    """The stored answer of that id if the reader asked for it, or may read its thread; else None.

    Show it by `for_reader`: its sources may have become unreadable. Two queries.
    """
    own = Answer.objects.answers_of(viewer, visitor)
    permitted = Q(thread__in=Thread.objects.visible_to(viewer)) | Q(pk__in=own)
    try:
        return with_sources(viewer).filter(permitted, public_id=public_id).first()
    except (ValidationError, ValueError):  # no UUID
        return None


def with_sources(viewer: Viewer) -> QuerySet[Answer]:
    """The stored answers with everything that `for_reader` needs; two queries."""
    sources = AnswerSource.objects.select_related("document__collection", "version")
    sources = sources.defer("version__text").order_by("number")
    answers = Answer.objects.with_readable_sources(viewer).select_related("thread")
    return answers.prefetch_related(Prefetch("sources", queryset=sources))


def are_readable(context: Context, viewer: Viewer) -> bool:
    """Whether `viewer` may read every document of the context now; one query."""
    documents = {each.document for each in context.passages}
    rows = Document.objects.visible_to(viewer).filter(pk__in=documents).order_by()
    return not documents or rows.count() == len(documents)


def withheld(answer: Answered) -> Answered:
    """The answer without anything that comes from its sources or from a model."""
    return Answered(
        id=answer.id,
        question=answer.question,
        searched_for=answer.question,
        asked_mode=answer.asked_mode,
        mode=answer.mode,
        state=answer.state,
        thread=answer.thread,
        withheld=True,
    )


def for_reader(row: Answer) -> Answered:
    """The stored answer as its reader may see it: withheld if a source is not readable.

    The question of another person's withheld answer is hidden, too: the sources may be quoted in
    it. The row must come from `readable` or `with_sources`, whose viewer is the reader.
    """
    stored = answered(row)
    if not row.is_withheld:
        return stored
    without_text = withheld(stored)
    return without_text if row.is_own else replace(without_text, question="", searched_for="")


def answered(row: Answer) -> Answered:
    """The stored answer, of a row of `with_sources`. The caller must have checked that its reader
    may read every source.
    """
    return Answered(
        id=str(row.public_id),
        question=row.question,
        asked_mode=Mode(row.asked_mode),
        mode=Mode(row.mode),
        state=State(row.state),
        context=_context(row),
        sentences=tuple(sentence_from(each) for each in row.sentences),
        model=row.model,
        degraded=tuple(row.degraded),
        notes=tuple(row.notes),
        steps=tuple(Step(**{**each, "usage": Usage(**each["usage"])}) for each in row.steps),
        usage=Usage(row.prompt_tokens, row.completion_tokens, float(row.cost)),
        thread=str(row.thread.public_id) if row.thread else "",
        **{name: getattr(row, name) for name in _OF_ANSWERS},
    )


def _context(row: Answer) -> Context:
    sources = row.sources.all()
    passages = tuple(
        Passage(
            number=source.number,
            chunk_ids=tuple(source.chunk_ids),
            document=source.document_id,
            document_id=str(source.document.public_id),
            version=source.version_id or 0,
            heading_path=tuple(source.heading_path),
            collection_id=source.document.readers_id,
            collection=source.document.collection.name,
            collection_slug=source.document.collection.slug,
            media_type=source.version.media_type if source.version else "",
            date=date_of_version(source.document, source.version),
            **{name: getattr(source, name) for name in _OF_PASSAGES},
        )
        for source in sources
    )
    dated = [each.document_id for each in sources if each.document.may_be_dated]
    tokens = row.context_tokens
    context = Context(passages, tokens, tokens, conflicts=conflicts(passages))
    # Who reads it is not known here: what its asker may know.
    return context.with_currency(currencies(dated, row.user) if dated else {})
