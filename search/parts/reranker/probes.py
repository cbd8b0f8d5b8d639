"""The probes of the part “reranker”: its settings, and whether it answers."""

from __future__ import annotations

from collections.abc import Iterator

from common.probes import Finding, Scope, ok, register, wrong
from search.errors import RerankerUnavailable
from search.parts.reranker import guarded
from search.ranking.reranking import RerankerInput

SENTENCE = "Does this model read?"


@register("reranker settings", Scope.SETTINGS)
def settings() -> Iterator[Finding]:
    """The settings must describe a reranker, or none."""
    try:
        guarded.configured()
    except ValueError as error:
        yield wrong(str(error), "docs/operations.md lists the variables of the reranker.", "E012")


@register("reranker", needs="migrations")
def reranker() -> Iterator[Finding]:
    """Whether the reranker answers, where one is set up."""
    configured = guarded.current()
    if configured is None:
        return
    try:
        configured.strengths(SENTENCE, [RerankerInput(0, "It is.")])
        yield ok("it answers")
    except RerankerUnavailable as error:
        yield wrong(str(error), "Check RERANKER and RERANKER_URL.")
