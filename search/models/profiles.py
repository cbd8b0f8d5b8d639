"""Search profiles and their weights."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import Enum
from functools import partial, reduce
from operator import sub
from typing import Any, get_type_hints

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Case, F, Q, When
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from search import domain
from search.models.rules import (
    CLASSIFIERS,
    FUSIONS,
    KEYWORD_SCORERS,
    NORMALISERS,
    QUERY_CLASSES,
    TITLE_SCORERS,
    check_boosts,
    check_regex,
)
from search.ranking.fusion import RRF_K
from search.ranking.text_boosts import parse_boosts

# Variants append what differs: `textbook:60/40`.
NAME = RegexValidator(
    r"\A[a-z0-9](?:[a-z0-9._:/-]*[a-z0-9])?\Z",
    _("Use lower-case letters and digits, separated by - _ . : or /, such as “library:titles”."),
)
SHARE = [MinValueValidator(Decimal(0)), MaxValueValidator(Decimal(1))]
_weight = partial(models.DecimalField, max_digits=5, decimal_places=4, validators=SHARE)
_share = partial(
    models.FloatField, default=0.0, validators=[MinValueValidator(0), MaxValueValidator(1)]
)


def _within(
    field: str, low: float, high: float | None, message: Any, *, name: str = ""
) -> models.CheckConstraint:
    """A constraint that the field is at least `low`, and without None at most `high`."""
    bounds = {f"{field}__gte": low} | ({} if high is None else {f"{field}__lte": high})
    name = name or f"profile_{field}_{'positive' if high is None else 'range'}"
    return models.CheckConstraint(condition=Q(**bounds), name=name, violation_error_message=message)


def in_force_first() -> tuple[Any, ...]:
    """The order in which the first row of a name is the one that the name alone means.

    The active version, else the one last published or rolled back to, else the newest draft.
    """
    is_active = Case(When(state=SearchProfile.State.ACTIVE, then=0), default=1)
    return is_active, F("published").desc(nulls_last=True), "-version"


class SearchProfile(models.Model):
    """One version of a ranking configuration. Published ones never change: drafts replace them
    (ADR 5).
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("Draft")
        ACTIVE = "active", _("Active")
        RETIRED = "retired", _("Retired")

    name = models.CharField(max_length=60, validators=[NAME])
    version = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=8, choices=State.choices, default=State.DRAFT)
    description = models.TextField(blank=True)
    based_on = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="+")
    created = models.DateTimeField(default=timezone.now, editable=False)
    published = models.DateTimeField(null=True, blank=True, editable=False)

    fusion = models.CharField(
        max_length=12,
        choices=FUSIONS,
        default="linear",
        help_text=_(
            "A weighted sum keeps the differences between scores; rank fusion uses ranks only."
        ),
    )
    vector_normaliser = models.CharField(
        max_length=16,
        choices=NORMALISERS,
        default="none",
        help_text=_(
            "How cosine similarities become strengths. Min-max scaling gives the best candidate "
            "the full strength even if nothing matches."
        ),
    )
    keyword_normaliser = models.CharField(
        max_length=16,
        choices=NORMALISERS,
        default="max",
        help_text=_(
            "How keyword scores become strengths. Unscaled, they have no upper bound and dominate "
            "the other signals."
        ),
    )
    title_normaliser = models.CharField(
        max_length=16,
        choices=NORMALISERS,
        default="none",
        help_text=_("How title scores become strengths. Coverage needs no scaling."),
    )
    classifier = models.CharField(
        max_length=12,
        choices=CLASSIFIERS,
        default="rules",
        help_text=_("How queries are classified; the class selects the weights."),
    )
    bypass = models.CharField(
        max_length=200,
        blank=True,
        validators=[check_regex],
        help_text=_(
            "A regular expression. Matching questions are searched by keywords only: suitable for "
            "bare codes, not for words, whose meaning is ignored."
        ),
    )
    rrf_k = models.PositiveSmallIntegerField(
        _("rank constant"),
        default=RRF_K,
        validators=[MinValueValidator(1)],
        help_text=_("For rank fusion: a larger constant reduces the advantage of the first ranks."),
    )
    both_factor = models.FloatField(
        _("factor for both"),
        default=1.0,
        validators=[MinValueValidator(1), MaxValueValidator(10)],
        help_text=_(
            "For rank fusion only. Raising it ranks mediocre passages found by both signals above "
            "the best match of either."
        ),
    )
    both_first = models.BooleanField(
        default=False,
        help_text=_(
            "Ranks passages found by both meaning and keywords above all others. It demotes "
            "passages that only one signal can find, often the answers to hard questions."
        ),
    )
    own_candidates_only = models.BooleanField(
        default=False,
        help_text=_(
            "A signal counts only for its own candidates. A passage that just missed a signal's "
            "list is scored as if it did not match at all."
        ),
    )
    short_lean = _share(
        _("short questions lean to meaning"),
        help_text=_(
            "Short, vague questions rely more on meaning; this sets how much more. From ten words "
            "on nothing changes. Raising it finds answers in other words, and demotes passages "
            "that contain the exact ones."
        ),
    )
    language_lean = models.BooleanField(
        _("lean by language"),
        default=False,
        help_text=_(
            "Keywords count for more in languages that the embedding model does not know; "
            "passages in another language than the question are ranked by meaning alone."
        ),
    )
    wordnet_cap = _share(
        _("most weight of WordNet"),
        help_text=_(
            "The most that WordNet may weigh where its weight depends on the question; 0: it is "
            "fixed. Raising it lets related words outweigh the question's own in short questions."
        ),
    )
    boosts = models.JSONField(
        default=list,
        blank=True,
        validators=[check_boosts],
        help_text=_(
            "Factors and added terms for passages: a list of objects with name, amount, "
            "multiply (true or false), and anchor, pattern, kinds, shorter_than (characters) or "
            "query_class."
        ),
    )
    feedback = models.FloatField(
        default=0.0,
        validators=[MinValueValidator(0), MaxValueValidator(2)],
        help_text=_(
            "Relevance feedback: promotes passages similar to the first results. Raising it brings "
            "related passages together, and drifts if the first results are wrong."
        ),
    )
    rerank = _share(
        _("reranker"),
        help_text=_(
            "The reranker's share of the scores of the first 20 results. Raising it follows the "
            "model's reading more than the signals; every search waits for its server."
        ),
    )
    recency_half_life = models.PositiveIntegerField(
        default=365,
        validators=[MinValueValidator(1)],
        help_text=_(
            "Days after which a document counts half as recent, if recency has a weight. Raising "
            "it weakens the preference for recent documents."
        ),
    )
    confidence_threshold = _share(
        help_text=_(
            "Below this confidence, a search shows a warning. Raising it warns about more wrong "
            "results, and more right ones."
        )
    )
    depth = models.PositiveSmallIntegerField(
        default=100,
        validators=[MinValueValidator(5), MaxValueValidator(500)],
        help_text=_(
            "Candidates per signal (5-500). More candidates improve recall and take longer."
        ),
    )
    vector_candidates_only = models.BooleanField(
        default=False,
        help_text=_(
            "Only meaning finds passages. A passage with the exact words or title is lost if its "
            "meaning is not near."
        ),
    )
    keyword_scorer = models.CharField(
        max_length=12,
        choices=KEYWORD_SCORERS,
        default="bm25",
        help_text=_(
            "BM25 weights rare words higher and is the fastest. Another scorer requires rebuilding "
            "the golden queries' candidate pools."
        ),
    )
    keyword_budget = models.PositiveIntegerField(
        default=20_000,
        validators=[MinValueValidator(100)],
        help_text=_(
            "The maximum number of passages scored by keywords. Raising it is slower in large "
            "libraries; lowering it can miss answers to questions of common words."
        ),
    )
    title_scorer = models.CharField(
        max_length=10,
        choices=TITLE_SCORERS,
        default="coverage",
        help_text=_(
            "The score of a matching title. “10” outweighs all other signals unless scaled."
        ),
    )

    class Meta:
        ordering = ("name", "-version")
        permissions = (
            ("publish_searchprofile", "Can publish a search profile that passes the gate"),
            ("override_gate", "Can publish a search profile against the gate, with a reason"),
            ("rollback_searchprofile", "Can roll back to a previously active search profile"),
        )
        constraints = (
            models.UniqueConstraint(
                "name",
                "version",
                name="profile_version_once",
                violation_error_message=_("This profile already has that version."),
            ),
            models.UniqueConstraint(
                fields=("state",),
                condition=Q(state="active"),
                name="profile_one_active",
                violation_error_message=_("Another profile is active. Publish this one instead."),
            ),
            _within("depth", 5, 500, _("The depth must lie between 5 and 500.")),
            _within("rrf_k", 1, None, _("The rank constant must be 1 or more.")),
            _within(
                "both_factor",
                1,
                None,
                _("The factor for candidates found by both signals must be 1 or more."),
                name="profile_both_factor_lowers_nothing",
            ),
            _within("short_lean", 0, 1, _("The lean of short questions must lie between 0 and 1.")),
            _within("wordnet_cap", 0, 1, _("The most weight of WordNet must lie between 0 and 1.")),
            _within("feedback", 0, 2, _("The feedback must lie between 0 and 2.")),
            _within("rerank", 0, 1, _("The reranker's share must lie between 0 and 1.")),
            _within(
                "confidence_threshold",
                0,
                1,
                _("The confidence threshold must lie between 0 and 1."),
            ),
            _within("recency_half_life", 1, None, _("The half-life must be a day or more.")),
        )

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"

    @property
    def is_draft(self) -> bool:
        return self.state == self.State.DRAFT

    @classmethod
    def active(cls) -> SearchProfile | None:
        return cls.objects.filter(state=cls.State.ACTIVE).first()

    def locked(self) -> tuple[SearchProfile | None, SearchProfile]:
        """The active version and this one, read again and locked until the transaction ends.

        One query locks both rows: concurrent publishers must not both retire the same version.
        """
        rows = SearchProfile.objects.select_for_update().order_by("pk")
        rows_locked = list(rows.filter(pk=self.pk) | rows.filter(state=self.State.ACTIVE))
        chosen = next(row for row in rows_locked if row.pk == self.pk)
        return next((row for row in rows_locked if row.state == self.State.ACTIVE), None), chosen

    def succeed(self, before: SearchProfile | None) -> None:
        """Become the active version and retire `before`. Both rows are locked."""
        if before is not None:
            before.state = self.State.RETIRED
            before.save(update_fields=["state"])
        self.state, self.published = self.State.ACTIVE, timezone.now()
        self.save(update_fields=["state", "published"])

    def next_draft(self, fields: Iterable[str]) -> SearchProfile:
        """The next version of its name, unsaved, with the values of these fields.

        The versions are locked until the transaction ends.
        """
        versions = SearchProfile.objects.select_for_update().filter(name=self.name)
        newest = max(row.version for row in versions)
        values = {name: getattr(self, name) for name in fields}
        return SearchProfile(name=self.name, version=newest + 1, based_on=self, **values)

    def as_profile(self) -> domain.Profile:
        """The immutable profile that the ranking uses."""
        return domain.Profile(
            name=self.name,
            version=self.version,
            weights={
                domain.QueryClass(row.query_class): row.as_weights()
                for row in self.class_weights.all()
            },
            **{each.name: self._knob(each.name) for each in domain.KNOBS},
        )

    def _knob(self, name: str) -> Any:
        """The value of a profile's knob, in its type."""
        if name == "normalisers":
            return {
                signal: domain.Normaliser(getattr(self, f"{signal.value}_normaliser"))
                for signal in domain.NORMALISED
            }
        value = getattr(self, name)
        if name == "boosts":
            return parse_boosts(value)
        return _CHOICES[name](value) if name in _CHOICES else value


# The knobs that are one of a few names.
_CHOICES = {
    name: kind
    for name, kind in get_type_hints(domain.Profile).items()
    if isinstance(kind, type) and issubclass(kind, Enum)
}


# The columns of weights; `others` is the sum of those in `added`.
_NAMES = [*(signal.value for signal in domain.Signal if signal not in domain.ADDED), "others"]


def _added(name: str) -> property:
    """The weight of a signal that a part adds, as if it had a column."""

    def share(row: ClassWeights) -> Decimal:
        return Decimal(row.added.get(name, 0))

    def set_share(row: ClassWeights, value: object) -> None:
        share = Decimal(str(value)).quantize(Decimal("0.0001"))
        others = {each: text for each, text in row.added.items() if each != name}
        row.added = {**others, name: str(share)} if share else others
        row.others = sum(map(Decimal, row.added.values()), Decimal(0))

    return property(share, set_share)


class ClassWeights(models.Model):
    """The weights of the signals for one class of queries.

    `added` has those of signals that parts add, by name, also of parts that are gone.
    """

    profile = models.ForeignKey(SearchProfile, models.CASCADE, related_name="class_weights")
    query_class = models.CharField(max_length=12, choices=QUERY_CLASSES)
    vector = _weight()
    keyword = _weight()
    title = _weight()
    recency = _weight(default=Decimal(0))
    synonym = _weight(default=Decimal(0))
    concept = _weight(default=Decimal(0))
    wordnet = _weight(default=Decimal(0))
    others = _weight(default=Decimal(0), db_default=Decimal(0))
    added = models.JSONField(default=dict, db_default={}, blank=True, editable=False)
    vars().update({name: _added(name) for name in domain.ADDED})

    class Meta:
        ordering = ("pk",)
        verbose_name_plural = _("class weights")
        constraints = (
            models.UniqueConstraint(
                "profile",
                "query_class",
                name="class_weights_once",
                violation_error_message=_("This profile already has weights for that class."),
            ),
            models.CheckConstraint(
                condition=Q(**{f"{name}__gte": 0 for name in _NAMES}),
                name="class_weights_not_negative",
                violation_error_message=_("A weight cannot be negative."),
            ),
            models.CheckConstraint(
                # The first share is 1 less the others.
                condition=Q(**{_NAMES[0]: reduce(sub, map(F, _NAMES[1:]), Decimal(1))}),
                name="class_weights_sum_to_one",
                violation_error_message=_("The weights of a class must sum to 1."),
            ),
        )

    def __str__(self) -> str:
        shares = " / ".join(str(getattr(self, name)) for name in _NAMES)
        return f"{self.query_class}: {shares}"

    def as_weights(self) -> domain.Weights:
        """The weights; those of signals that are gone fall to the others, or to the keywords."""
        shares = {signal.value: getattr(self, signal.value) for signal in domain.Signal}
        gone = sum(Decimal(share) for name, share in self.added.items() if name not in shares)
        if gone == 1:
            return domain.Weights(vector=0, keyword=1, title=0)
        return domain.Weights(**{name: float(each / (1 - gone)) for name, each in shares.items()})
