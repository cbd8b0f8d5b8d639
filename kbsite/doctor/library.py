"""The embedding model, the statistics, the profile, and the servers of models."""

from __future__ import annotations

import time
from collections.abc import Iterator

from django.conf import settings

from ingestion import spaces
from ingestion.errors import EmbeddingError
from ingestion.lexical import recounting
from kbsite.doctor.findings import Finding
from search import reranking
from search.answers.generating import server as answering
from search.engine import configuration
from search.errors import ModelUnavailable, RerankerUnavailable, SearchError
from search.reranking.protocol import Passage

PROBE = "Is this model able to embed?"


def embedder() -> Iterator[Finding]:
    """Whether the active space's model embeds a sentence."""
    space = spaces.active_space()
    try:
        model = spaces.embedder(space)
        started = time.perf_counter()
        size = len(model.embed_query(PROBE, timeout=settings.QUERY_EMBEDDING_TIMEOUT))
        spent = (time.perf_counter() - started) * 1000
    except EmbeddingError as error:
        advice = "See the variables of the embedder in .env.example, and “Embedding spaces”."
        yield Finding.wrong("embedder", str(error), advice)
        return
    yield Finding.ok("embedder", f"{model.card.name}: {size} dimensions, {spent:.0f} ms")


def statistics() -> Iterator[Finding]:
    """Whether the figures behind keyword scores equal a recount."""
    found = recounting.differences()
    if found:
        text = "; ".join(
            f"collection {pk}: {stated:,} passages stated, {counted:,} counted"
            for pk, stated, counted in found[:5]
        )
        yield Finding.wrong("statistics", text, "Run: manage.py doctor --recount")
    else:
        yield Finding.ok("statistics", "equal to a recount")


def profile() -> Iterator[Finding]:
    """Whether a profile is active, without which no search is answered."""
    try:
        found = configuration.current().profile(None)
    except SearchError as error:
        advice = "Publish a search profile in the admin."
        yield Finding.wrong("profile", str(error), advice)
        return
    yield Finding.ok("profile", f"{found.name}@{found.version} is active")


def models() -> Iterator[Finding]:
    """Whether the reranker and the language model answer, where they are set up."""
    server = answering.configured()
    if server is not None:
        try:
            yield Finding.ok("language model", f"{answering.model_name(server)} is named")
        except ModelUnavailable as error:
            advice = "Check ANSWER_BASE_URL, ANSWER_API_KEY and ANSWER_MODEL."
            yield Finding.wrong("language model", str(error), advice)
    reranker = reranking.current()
    if reranker is not None:
        try:
            reranker.strengths(PROBE, [Passage(0, "It is.", 1.0)])
            yield Finding.ok("reranker", "it answers")
        except RerankerUnavailable as error:
            yield Finding.wrong("reranker", str(error), "Check RERANKER and RERANKER_URL.")
