"""Labels of classes, rules, tiers, measures and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from ingestion.parsing.page_pictures import is_deck
from search.domain import Classification, Hit, Query, QueryClass
from search.query.rule_classifier import FALLBACK_RULE

# Lazily translated: they become strings when rendered.
CLASS_LABELS: dict[QueryClass, Any] = {
    QueryClass.LOOKUP: _("Lookup"),
    QueryClass.CONCEPT: _("Concept question"),
    QueryClass.CODE: _("Code question"),
    QueryClass.DEBUG: _("Debugging question"),
    QueryClass.COMPARISON: _("Comparison"),
    QueryClass.GENERAL: _("General question"),
}
# What people call the measures that ir-measures names otherwise.
_MEASURES = {"RR": "MRR", "R": "Recall", "P": "Precision", "Success": "Hit"}


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
        return gettext(reason) if reason else ""
    typed = (each.text for each in query.identifiers if match.form in dict(each.forms))
    text = gettext(reason.replace(match.form, "%(name)s"))
    return text.replace("%(name)s", next(typed, match.form))


def measure_label(name: str) -> str:
    """The common name of a measure."""
    kind, at, cutoff = name.partition("@")
    return f"{_MEASURES.get(kind, kind)}{at}{cutoff}"


def by_measure(values: Any) -> Any:
    """The values, of any depth, under the common names of their measures."""
    if not isinstance(values, Mapping):
        return values
    return {measure_label(name): by_measure(inner) for name, inner in values.items()}


def page_label(page: int | None, media_type: str) -> str:
    """ "page 3", of a deck "slide 3"; empty for a document without pages."""
    if not page:
        return ""
    if is_deck(media_type):
        return gettext("slide %(page)d") % {"page": page}
    return gettext("page %(page)d") % {"page": page}


def pages_label(count: int, media_type: str) -> str:
    """ "3 pages", of a deck "3 slides"."""
    if is_deck(media_type):
        return ngettext("%(count)s slide", "%(count)s slides", count) % {"count": count}
    return ngettext("%(count)s page", "%(count)s pages", count) % {"count": count}
