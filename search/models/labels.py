"""The choices of the models, with their labels."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from search import domain


def choices(enum: type[Any], **labels: Any) -> list[tuple[str, Any]]:
    """The values of `enum` with their labels; the value itself where it has none."""
    return [(member.value, labels.get(member.value, member.value)) for member in enum]


FUSIONS = choices(
    domain.Fusion,
    linear=_("Weighted sum of strengths"),
    rrf=_("Reciprocal rank fusion (ranks only)"),
    combmnz=_("Weighted sum times the number of matching signals (CombMNZ)"),
    max=_("Largest weighted strength"),
)
NORMALISERS = choices(
    domain.Normaliser,
    none=_("Unchanged"),
    max=_("Share of the maximum"),
    minmax=_("Min-max scaling"),
    zscore=_("Z-score percentile"),
    reciprocal_rank=_("Reciprocal rank"),
    cosine=_("(cosine + 1) / 2"),
)
KEYWORD_SCORERS = choices(
    domain.KeywordScorer,
    bm25=_("BM25"),
    bm25_fixed=_("BM25 without document frequencies, on parts of words"),
    ts_rank=_("Postgres ts_rank"),
    ts_rank_cd=_("Postgres ts_rank_cd"),
    overlap=_("Matched terms / query terms"),
)
TITLE_SCORERS = choices(
    domain.TitleScorer,
    coverage=_("Share of the query's weight that the title covers"),
    once=_("10 if any term is in the title"),
    per_term=_("10 for each term in the title"),
)
QUERY_CLASSES = choices(
    domain.QueryClass,
    lookup=_("Lookup: a name or an identifier"),
    concept=_("Concept: what something is, how it works"),
    code=_("Code: how to write something"),
    debug=_("Debug: an error, something not working"),
    comparison=_("Comparison: one thing against another"),
    general=_("General: everything else"),
)
CLASSIFIERS = choices(
    domain.Classifier,
    rules=_("The classifier rules"),
    none=_("None: every question is general"),
    specificity=_("By the share of identifiers among the words (IndexFoundry's option B)"),
    anchors=_("By anchors and length, with weights for each question (IndexFoundry)"),
    definitions=_("Definitions against explanations (textbook)"),
    mind=_("Mind's patterns"),
    **{"physical-ai": _("Physical AI's patterns")},
)
