"""Q7: the names that people see: of signals, classes, scorers, measures, and of what decided."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from search.domain import Classification, Hit, KeywordScorer, Query, QueryClass, Signal
from search.query.rule_classifier import FALLBACK_RULE

# Lazily translated: they become strings when rendered.
SIGNAL_LABELS: dict[Signal, Any] = {
    Signal.VECTOR: _("Meaning"),
    Signal.KEYWORD: _("Keywords"),
    Signal.TITLE: _("Title"),
    Signal.RECENCY: _("Recency"),
    Signal.SYNONYM: _("Synonyms"),
    Signal.CONCEPT: _("Concepts"),
    Signal.WORDNET: _("WordNet"),
}
CLASS_LABELS: dict[QueryClass, Any] = {
    QueryClass.LOOKUP: _("Lookup"),
    QueryClass.CONCEPT: _("Concept"),
    QueryClass.CODE: _("Code"),
    QueryClass.DEBUG: _("Debugging"),
    QueryClass.COMPARISON: _("Comparison"),
    QueryClass.GENERAL: _("General question"),
}
QUESTION_LABELS: dict[QueryClass, Any] = {
    QueryClass.LOOKUP: _("Lookup"),
    QueryClass.CONCEPT: _("Concept question"),
    QueryClass.CODE: _("Code question"),
    QueryClass.DEBUG: _("Debugging question"),
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
# The names that people see, of the measures that ir-measures names.
MEASURE_LABELS = {
    "nDCG@10": "nDCG@10",
    "RR@10": "MRR@10",
    "R@10": "Recall@10",
    "R@100": "Recall@100",
    "P@5": "Precision@5",
    "Success@1": "Hit@1",
}


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


def measure_label(name: str) -> str:
    """The common name of a measure."""
    return MEASURE_LABELS.get(name, name)
