"""Labels of signals, classes, measures and ranking reasons for pages, admin and charts."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from search.domain import Classification, Hit, KeywordScorer, Query, QueryClass, Signal
from search.presentation.results import Result
from search.query.classify import FALLBACK_RULE

# Lazily translated: they become strings when rendered.
SIGNAL_LABELS: dict[Signal, Any] = {
    Signal.VECTOR: _("Meaning"),
    Signal.KEYWORD: _("Keywords"),
    Signal.TITLE: _("Title"),
    Signal.RECENCY: _("Recency"),
    Signal.SYNONYM: _("Synonyms"),
}
CLASS_LABELS: dict[QueryClass, Any] = {
    QueryClass.LOOKUP: _("Lookup"),
    QueryClass.CONCEPT: _("Concept"),
    QueryClass.CODE: _("Code"),
    QueryClass.DEBUG: _("Debugging"),
    QueryClass.COMPARISON: _("Comparison"),
    QueryClass.GENERAL: _("General question"),
}
SCORER_LABELS: dict[KeywordScorer, Any] = {
    KeywordScorer.BM25: "BM25",
    KeywordScorer.BM25_FIXED: _("BM25 without idf"),
    KeywordScorer.TS_RANK: "ts_rank",
    KeywordScorer.TS_RANK_CD: "ts_rank_cd",
    KeywordScorer.OVERLAP: _("share of matched words"),
}
MEASURE_LABELS = {
    "nDCG@10": "nDCG@10",
    "RR@10": "MRR",
    "R@10": "Recall@10",
    "P@5": "P@5",
    "Success@1": "Hit@1",
}
# The segment of a bar for terms added to the signals: feedback, boosts.
ADDED = "added"


def rule_text(classification: Classification) -> str:
    """The rule that decided the class, as text."""
    if classification.rule == FALLBACK_RULE:
        return gettext("no rule matched")
    return gettext("rule: %(name)s") % {"name": classification.rule}


def tier_reason(hit: Hit, query: Query) -> str:
    """The reason for a hit's tier, with its identifier as typed; empty if it has none."""
    reason = hit.explanation.tier.reason
    match = hit.candidate.identifier
    if not reason or match is None:
        return reason
    for identifier in query.identifiers:
        if match.form in dict(identifier.forms):
            return reason.replace(match.form, identifier.text)
    return reason


def trail(result: Result) -> tuple[str, ...]:
    """The headings above a passage, without one that repeats the document's title."""
    path = result.heading_path
    repeats = bool(path) and path[0].casefold() == result.title.casefold()
    return path[1:] if repeats else path


def measure_label(name: str) -> str:
    """The common name of a measure."""
    return MEASURE_LABELS.get(name, name)
