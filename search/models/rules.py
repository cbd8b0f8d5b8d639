"""The query classifier's rules as rows, and the labels of choices."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import DataError, connection, models, transaction
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.identifiers import regex_problems
from ingestion.models import IdentifierPattern
from search import domain
from search.domain import ClassifierRule
from search.query import MAX_QUERY_CHARS
from search.query.rule_classifier import PREDICATES, check_rule
from search.ranking.text_boosts import anchor_problem, parse_boosts


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


def check_boosts(value: object) -> None:
    """Raise ValidationError for invalid boosts of a profile."""
    try:
        boosts = parse_boosts(value)
    except ValueError as error:
        raise ValidationError(str(error)) from error
    for boost in boosts:
        if problem := anchor_problem(boost):
            raise ValidationError(f"Boost {boost.name}: {problem}")
        # Postgres' regular expressions differ from Python's: every search would fail.
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SELECT '' ~ %s", [boost.pattern.replace("{anchor}", "x")])
        except DataError as error:
            reason = str(error).splitlines()[0]
            raise ValidationError(
                gettext(
                    "Boost %(name)s: Postgres does not support the pattern: %(reason)s. Write it "
                    "without Python-only syntax such as named groups."
                )
                % {"name": boost.name, "reason": reason}
            ) from error


def check_regex(value: str) -> None:
    """Raise ValidationError for an invalid regular expression."""
    if problems := regex_problems(value):
        raise ValidationError(problems)


class ClassRule(models.Model):
    """One rule of the classifier. Rules apply in order; the first match decides."""

    name = models.CharField(max_length=80, unique=True)
    position = models.PositiveSmallIntegerField(default=100)
    pattern = models.TextField(
        blank=True,
        help_text=_(
            "A case-insensitive regular expression, searched in the question. Begin and end "
            r"it with \b, so that “fix” does not match “prefix”."
        ),
    )
    predicate = models.CharField(
        max_length=30,
        blank=True,
        choices=[(name, each.description) for name, each in PREDICATES.items()],
        help_text=_("Instead of a pattern."),
    )
    query_class = models.CharField(max_length=12, choices=QUERY_CLASSES)
    confidence = models.FloatField(
        default=0.8, validators=[MinValueValidator(0), MaxValueValidator(1)]
    )
    examples = ArrayField(
        models.CharField(max_length=MAX_QUERY_CHARS),
        default=list,
        blank=True,
        help_text=_("Questions that the rule must match."),
    )
    counter_examples = ArrayField(
        models.CharField(max_length=MAX_QUERY_CHARS),
        default=list,
        blank=True,
        help_text=_("Questions that the rule must not match."),
    )
    enabled = models.BooleanField(default=True)

    class Meta:
        ordering = ("position", "pk")
        verbose_name = _("classifier rule")
        constraints = (
            models.CheckConstraint(
                condition=(Q(pattern="") & ~Q(predicate="")) | (~Q(pattern="") & Q(predicate="")),
                name="rule_pattern_or_predicate",
                violation_error_message=_("Enter either a pattern or a predicate."),
            ),
        )

    def __str__(self) -> str:
        return self.name

    def as_rule(self) -> ClassifierRule:
        return ClassifierRule(
            name=self.name,
            query_class=domain.QueryClass(self.query_class),
            pattern=self.pattern,
            predicate=self.predicate,
            confidence=self.confidence,
            examples=tuple(self.examples),
            counter_examples=tuple(self.counter_examples),
        )

    def clean_fields(self, exclude: Collection[str] | None = None) -> None:
        """Check the rule here, not in `clean`: forms without these fields would lose its errors."""
        super().clean_fields(exclude)
        if self.query_class not in set(domain.QueryClass):
            return  # the form already has an error for that field
        if {"pattern", "predicate", "examples", "counter_examples"} & set(exclude or ()):
            return
        rows = IdentifierPattern.objects.filter(enabled=True)
        if problems := check_rule(self.as_rule(), [row.as_pattern() for row in rows]):
            raise ValidationError(problems)
