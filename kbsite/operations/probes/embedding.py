"""Probes of the models: that they answer, and that all documents are embedded."""

from __future__ import annotations

import time
from collections.abc import Iterator

from django.conf import settings
from django.db.models import Exists, OuterRef

from common.probes import Finding, ok, register, wrong
from ingestion import spaces
from ingestion.errors import EmbeddingError
from ingestion.models import ChunkEmbedding, Document
from search.answers.generating import server as answering
from search.errors import ModelUnavailable

SENTENCE = "Is this model able to embed?"


@register("embedder", needs="migrations")
def embedder() -> Iterator[Finding]:
    """Whether the active space's model embeds a sentence."""
    space = spaces.active_space()
    try:
        model = spaces.embedder(space)
        started = time.perf_counter()
        size = len(model.embed_query(SENTENCE, timeout=settings.QUERY_EMBEDDING_TIMEOUT))
        spent = (time.perf_counter() - started) * 1000
    except EmbeddingError as error:
        advice = "See the variables of the embedder in .env.example, and “Embedding spaces”."
        yield wrong(str(error), advice)
    else:
        yield ok(f"{model.card.name}: {size} dimensions, {spent:.0f} ms")


@register("documents", needs="migrations")
def documents() -> Iterator[Finding]:
    """Whether every document that is called searchable has a vector in the active space."""
    vectors = ChunkEmbedding.objects.filter(
        chunk__version=OuterRef("current"), space=spaces.active_space()
    )
    hollow = Document.objects.kept().filter(current__isnull=False).exclude(Exists(vectors))
    if count := hollow.count():
        first = ", ".join(map(str, hollow.order_by("pk").values_list("pk", flat=True)[:5]))
        text = f"{count:,} are called ready with nothing embedded, by their numbers: {first}"
        yield wrong(text, "Select them in the admin under Documents, and reprocess them.")
    else:
        incomplete = Document.objects.kept().incomplete().count()
        yield ok(f"all that are ready are embedded; of {incomplete:,} something is not searchable")


@register("language model", needs="migrations")
def language_model() -> Iterator[Finding]:
    """Whether the language model answers, where one is set up."""
    server = answering.configured()
    if server is None:
        return
    try:
        yield ok(f"{answering.model_name(server)} is named")
    except ModelUnavailable as error:
        yield wrong(str(error), "Check ANSWER_BASE_URL, ANSWER_API_KEY and ANSWER_MODEL.")
