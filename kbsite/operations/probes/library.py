"""Probes of the embedding model, the statistics, the profile, and the servers of models."""

from __future__ import annotations

import time
from collections.abc import Iterator

from django.conf import settings

from common.probes import Finding, ok, register, wrong
from ingestion import spaces
from ingestion.errors import EmbeddingError
from ingestion.lexical import recounting
from search.answers.generating import server as answering
from search.engine import configuration
from search.errors import ModelUnavailable, SearchError

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


@register("statistics", needs="migrations")
def statistics() -> Iterator[Finding]:
    """Whether the figures behind keyword scores equal a recount."""
    differences = recounting.differences()
    if differences:
        text = "; ".join(
            f"collection {pk}: {stated:,} passages stated, {counted:,} counted"
            for pk, stated, counted in differences[:5]
        )
        yield wrong(text, "Run: manage.py doctor --recount")
    else:
        yield ok("equal to a recount")


@register("profile", needs="migrations")
def profile() -> Iterator[Finding]:
    """Whether a profile is active, without which no search is answered."""
    try:
        active = configuration.current().profile(None)
    except SearchError as error:
        yield wrong(str(error), "Publish a search profile in the admin.")
    else:
        yield ok(f"{active.name}@{active.version} is active")


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
