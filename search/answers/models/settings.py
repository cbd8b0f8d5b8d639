"""The settings of answers, the prices of models, and the budgets."""

from __future__ import annotations

from decimal import Decimal

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from search.answers import domain
from search.answers.prompts import REFUSAL, SYSTEM_PROMPT, check_prompt

MODES = [
    (domain.Mode.INSTANT.value, _("Instant")),
    (domain.Mode.AUTO.value, _("Auto")),
    (domain.Mode.THINKING.value, _("Thinking")),
]
_SHARE = [MinValueValidator(0), MaxValueValidator(1)]
_SECONDS = [MinValueValidator(0.1), MaxValueValidator(600)]


class AnswerSettings(models.Model):
    """The settings that determine how answers are written: a single row."""

    default_mode = models.CharField(
        max_length=8,
        choices=MODES,
        default="auto",
        help_text=_("The mode if the asker names none."),
    )
    model = models.CharField(
        max_length=120,
        blank=True,
        help_text=_("The language model; empty: ANSWER_MODEL of the settings."),
    )
    temperature = models.FloatField(
        default=0.2, validators=[MinValueValidator(0), MaxValueValidator(2)]
    )
    max_tokens = models.PositiveIntegerField(
        _("longest answer"),
        default=1000,
        validators=[MinValueValidator(16), MaxValueValidator(32_000)],
        help_text=_("In tokens of the model."),
    )
    system_prompt = models.TextField(default=SYSTEM_PROMPT, validators=[check_prompt])
    refusal = models.TextField(
        _("text of a refusal"),
        default=REFUSAL,
        help_text=_("Shown when nothing that the asker may read seems to answer."),
    )
    candidates = models.PositiveSmallIntegerField(
        default=20,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_("Of the ranking, how many passages the context is chosen from."),
    )
    context_tokens = models.PositiveIntegerField(
        _("context budget"),
        default=5000,
        validators=[MinValueValidator(100), MaxValueValidator(200_000)],
        help_text=_("The most tokens of all passages together."),
    )
    min_passages = models.PositiveSmallIntegerField(
        default=6, validators=[MinValueValidator(1), MaxValueValidator(50)]
    )
    max_passages = models.PositiveSmallIntegerField(
        default=8, validators=[MinValueValidator(1), MaxValueValidator(50)]
    )
    expand = models.BooleanField(
        _("read the section around a passage"), default=True, help_text=_("While the budget lasts.")
    )
    quotes = models.PositiveSmallIntegerField(
        default=3,
        validators=[MinValueValidator(1), MaxValueValidator(10)],
        help_text=_("The most sentences that an answer without a model quotes."),
    )
    refuse_below = models.FloatField(
        default=0.2,
        validators=_SHARE,
        help_text=_(
            "Below this confidence that the results answer, the answer is the text of a refusal: "
            "no model writes. In auto and thinking mode it may first be asked for other searches."
        ),
    )
    escalate_below = models.FloatField(
        default=0.3,
        validators=_SHARE,
        help_text=_("In auto mode with a model: below this confidence of the answer, try again."),
    )
    max_searches = models.PositiveSmallIntegerField(
        default=4,
        validators=[MinValueValidator(1), MaxValueValidator(10)],
        help_text=_("In thinking mode: the most searches that a question is split into."),
    )
    first_token_seconds = models.FloatField(
        _("time to the first word"), default=20.0, validators=_SECONDS
    )
    token_seconds = models.FloatField(_("time between words"), default=15.0, validators=_SECONDS)
    total_seconds = models.FloatField(_("time in all"), default=120.0, validators=_SECONDS)

    changed = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = _("answer settings")
        default_permissions = ("change", "view")
        constraints = (
            models.CheckConstraint(condition=Q(pk=1), name="answer_settings_one_row"),
            models.CheckConstraint(
                condition=Q(min_passages__lte=F("max_passages")),
                name="answer_settings_passages_in_order",
                violation_error_message=_(
                    "The fewest passages must not be more than the most passages."
                ),
            ),
        )

    def __str__(self) -> str:
        return "Answer settings"

    def as_parameters(self) -> domain.AnswerParameters:
        """The immutable parameters that answering uses."""
        knobs = {name: getattr(self, name) for name in domain.AnswerParameters.__dataclass_fields__}
        return domain.AnswerParameters(**{**knobs, "default_mode": domain.Mode(self.default_mode)})


class ModelPrice(models.Model):
    """The price of a model, in the currency of `AnswerLimits`. Without a row it costs nothing."""

    model = models.CharField(max_length=120, unique=True)
    input_per_million = models.DecimalField(
        max_digits=10, decimal_places=4, validators=[MinValueValidator(Decimal(0))],
        help_text=_("For a million tokens of the prompt."),
    )  # fmt: skip
    output_per_million = models.DecimalField(
        max_digits=10, decimal_places=4, validators=[MinValueValidator(Decimal(0))],
        help_text=_("For a million tokens of the answer."),
    )  # fmt: skip

    class Meta:
        ordering = ("model",)

    def __str__(self) -> str:
        return self.model


class AnswerLimits(models.Model):
    """The budgets of answers written by a model: a single row."""

    currency = models.CharField(max_length=8, default="USD")
    site_monthly = models.DecimalField(
        _("budget of the site a month"),
        max_digits=12, decimal_places=4, null=True, blank=True,
        validators=[MinValueValidator(Decimal(0))], help_text=_("Empty: unlimited."),
    )  # fmt: skip
    user_monthly = models.DecimalField(
        _("budget of a user a month"),
        max_digits=12, decimal_places=4, null=True, blank=True,
        validators=[MinValueValidator(Decimal(0))], help_text=_("Empty: unlimited."),
    )  # fmt: skip
    visitor_daily = models.PositiveIntegerField(
        _("answers of a visitor a day"),
        default=20,
        help_text=_(
            "The most answers a day that a model writes for one visitor who is not signed in."
        ),
    )

    class Meta:
        verbose_name_plural = _("answer limits")
        default_permissions = ("change", "view")
        constraints = (models.CheckConstraint(condition=Q(pk=1), name="answer_limits_one_row"),)

    def __str__(self) -> str:
        return "Answer limits"
