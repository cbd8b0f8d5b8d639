"""Threads, answers with their sources, the calls of models, and what readers say of answers."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Count, Exists, ExpressionWrapper, F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.accounts.models import user_or_none
from ingestion.models import Chunk, Document, DocumentVersion
from ingestion.models.chunks import EqualsAny
from ingestion.models.visibility import Viewer
from search.answers import domain
from search.answers.models.settings import MODES
from search.query import MAX_QUERY_CHARS

STATES = [
    (domain.State.RUNNING.value, _("Running")),
    (domain.State.DONE.value, _("Answered")),
    (domain.State.REFUSED.value, _("Refused")),
    (domain.State.STOPPED.value, _("Stopped")),
    (domain.State.FAILED.value, _("Failed")),
]

# The annotations of `annotated` answers.
ALL_READABLE = {"readable": F("source_count")}


class ThreadQuerySet(models.QuerySet["Thread"]):
    def visible_to(self, viewer: Viewer) -> ThreadQuerySet:
        """The viewer's own threads, and those that other users share with them.

        For a token limited to collections, without threads that have a source in another
        collection.
        """
        if viewer is None or not viewer.is_authenticated or not viewer.is_active:
            return self.none()
        rows = self.filter(Q(user=viewer.pk) | Q(shared=True))
        if viewer.collections_limit is None:
            return rows
        elsewhere = Answer.objects.annotated(viewer).exclude(**ALL_READABLE)
        return rows.filter(~Exists(elsewhere.filter(thread=OuterRef("pk"))))

    def owned_by(self, viewer: Viewer) -> ThreadQuerySet:
        """The viewer's own threads, restricted as by `visible_to`."""
        return self.visible_to(viewer).filter(user=viewer.pk if viewer is not None else None)


class Thread(models.Model):
    """A conversation of a signed-in user. Nobody else reads it, staff included, unless shared."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="answer_threads"
    )
    title = models.CharField(max_length=200)
    shared = models.BooleanField(
        default=False, help_text=_("Signed-in users who have its address may read it.")
    )
    created = models.DateTimeField(default=timezone.now, editable=False)
    updated = models.DateTimeField(default=timezone.now, db_index=True)

    objects = ThreadQuerySet.as_manager()

    class Meta:
        ordering = ("-updated", "-pk")

    def __str__(self) -> str:
        return self.title


class AnswerQuerySet(models.QuerySet["Answer"]):
    def with_readable_sources(self, viewer: Viewer) -> AnswerQuerySet:
        """The answers, `annotated`; for a token limited to collections, only those within them: its
        holder is not to learn what else the user asked.
        """
        rows = self.annotated(viewer)
        if viewer is None or not viewer.is_authenticated or viewer.collections_limit is None:
            return rows
        return rows.filter(**ALL_READABLE)

    def annotated(self, viewer: Viewer) -> AnswerQuerySet:
        """The answers annotated with `readable`: how many of their sources `viewer` may read, and
        `own`: whether `viewer` asked. Those of visitors are read by who asked alone.

        A source is readable as long as its document is, and none of its passages was disabled by
        hand; a version that another replaced stays. An answer may be shown only if all of its
        `source_count` are: see `Answer.is_withheld`.
        """
        documents = Document.objects.visible_to(viewer).order_by().values("pk")
        is_present = Q(version=F("document__current"), searchable=False)
        disabled = Chunk.objects.filter(
            is_present | Q(edit__disabled=True), EqualsAny(F("pk"), OuterRef("chunk_ids"))
        )
        sources = AnswerSource.objects.filter(
            ~Exists(disabled), answer=OuterRef("pk"), document__in=documents
        ).order_by()
        counted = sources.values("answer").annotate(count=Count("pk")).values("count")
        own = Q(user=None) | Q(user=viewer.pk if viewer is not None else None)
        return self.annotate(
            readable=Coalesce(Subquery(counted), 0),
            own=ExpressionWrapper(own, models.BooleanField()),
        )

    def answers_of(self, viewer: Viewer, visitor: str = "") -> AnswerQuerySet:
        """The answers that the viewer asked for; a visitor's are found by their key."""
        if viewer is not None and viewer.is_authenticated:
            return self.filter(user=viewer.pk)
        return self.filter(user=None, visitor=visitor) if visitor else self.none()


class Answer(models.Model):
    """An answer as it was given. Its sources are stored apart: see `AnswerSource`.

    `sentences` and `steps` are lists of objects, as of `as_json`. `visitor` is a keyed hash,
    as in `SearchEvent`. `source_count` is the number of passages in its context: where a reader
    may read fewer of them, or one was deleted, the answer is withheld.
    """

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    thread = models.ForeignKey(
        Thread, models.CASCADE, null=True, blank=True, related_name="answers"
    )
    user = user_or_none()
    visitor = models.CharField(max_length=64, blank=True, db_index=True)
    at = models.DateTimeField(default=timezone.now, db_index=True)
    channel = models.CharField(max_length=8, default="page")
    question = models.CharField(max_length=MAX_QUERY_CHARS)
    searched_for = models.CharField(max_length=MAX_QUERY_CHARS)
    filters = models.JSONField(default=dict, blank=True)
    asked_mode = models.CharField(max_length=8, choices=MODES)
    mode = models.CharField(max_length=8, choices=MODES)
    state = models.CharField(max_length=8, choices=STATES, default="running")
    error = models.CharField(max_length=40, blank=True, help_text=_("The code of a failure."))
    text = models.TextField(blank=True)
    sentences = models.JSONField(default=list, blank=True)
    steps = models.JSONField(default=list, blank=True)
    notes = ArrayField(models.TextField(), default=list, blank=True)
    degraded = ArrayField(models.CharField(max_length=20), default=list, blank=True)
    source_count = models.PositiveSmallIntegerField(default=0)
    confidence = models.FloatField(null=True, blank=True)
    retrieval_confidence = models.FloatField(null=True, blank=True)
    supported = models.FloatField(
        null=True, blank=True, help_text=_("Share of its checked sentences that are supported.")
    )
    dropped = models.PositiveIntegerField(default=0)
    context_tokens = models.PositiveIntegerField(default=0)
    model = models.CharField(max_length=120, blank=True)
    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    milliseconds = models.FloatField(default=0)
    first_token_ms = models.FloatField(null=True, blank=True)

    objects = AnswerQuerySet.as_manager()

    class Meta:
        ordering = ("-at", "-pk")

    def __str__(self) -> str:
        # Not the question: whoever reads this may not be allowed to read that.
        return f"{timezone.localtime(self.at):%Y-%m-%d %H:%M}"

    @property
    def is_withheld(self) -> bool:
        """Whether its reader may no longer read all of its sources.

        Only on rows of `with_readable_sources`; others raise AttributeError.
        """
        readable: int = self.readable  # type: ignore[attr-defined]
        return readable < self.source_count

    @property
    def is_own(self) -> bool:
        """Whether its reader asked for it. Only on rows of `with_readable_sources`."""
        own: bool = self.own  # type: ignore[attr-defined]
        return own


class AnswerSource(models.Model):
    """A passage of an answer's context, as it was then. It is deleted with its document.

    `text` is kept because documents change; `start` and `end` are offsets into its version's text.
    """

    answer = models.ForeignKey(Answer, models.CASCADE, related_name="sources")
    number = models.PositiveSmallIntegerField()
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    version = models.ForeignKey(
        DocumentVersion, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    chunk_ids = ArrayField(models.BigIntegerField())
    ordinal = models.PositiveIntegerField()
    page = models.PositiveIntegerField(null=True, blank=True)
    title = models.TextField()
    heading_path = ArrayField(models.TextField(), default=list)
    language = models.CharField(max_length=8, blank=True)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    text = models.TextField()
    tokens = models.PositiveIntegerField(default=0)
    score = models.FloatField()
    rank = models.PositiveIntegerField()
    cited = models.BooleanField(default=False)

    class Meta:
        ordering = ("answer", "number")
        constraints = (
            models.UniqueConstraint("answer", "number", name="answer_source_number_once"),
            models.CheckConstraint(
                condition=Q(end__gte=F("start")), name="answer_source_offsets_in_order"
            ),
        )

    def __str__(self) -> str:
        return f"{self.answer_id}[{self.number}]"


class ModelCall(models.Model):
    """One request to a language model. `cost` is an estimate until `settled`.

    The budgets count both, so that many askers at once cannot exceed them together.
    """

    answer = models.ForeignKey(Answer, models.SET_NULL, null=True, blank=True, related_name="calls")
    answer_key = models.UUIDField(
        null=True,
        blank=True,
        editable=False,
        db_index=True,
        help_text=_("The id of the answer, which is stored after its calls."),
    )
    user = user_or_none()
    visitor = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField(default=timezone.now, db_index=True)
    purpose = models.CharField(max_length=12)
    model = models.CharField(max_length=120)
    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    estimated = models.BooleanField(
        default=False, help_text=_("The server did not say how many tokens it used.")
    )
    cost = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    settled = models.BooleanField(default=False)
    milliseconds = models.FloatField(default=0)
    first_token_ms = models.FloatField(null=True, blank=True)
    error = models.CharField(max_length=40, blank=True)

    class Meta:
        ordering = ("-at", "-pk")
        indexes = (models.Index(fields=("user", "at"), name="model_call_of_user"),)

    def __str__(self) -> str:
        return f"{self.model}: {self.purpose}"


class AnswerFeedback(models.Model):
    """A reader's rating of an answer; a reader's later rating replaces it."""

    class Reason(models.TextChoices):
        WRONG = "wrong", _("It is wrong")
        INCOMPLETE = "incomplete", _("It is incomplete")
        SOURCE = "source", _("Wrong source")
        OUTDATED = "outdated", _("Out of date")
        OTHER = "other", _("Something else")

    answer = models.ForeignKey(Answer, models.CASCADE, related_name="feedback")
    user = user_or_none()
    visitor = models.CharField(max_length=64)
    helpful = models.BooleanField()
    reason = models.CharField(max_length=12, choices=Reason.choices, blank=True)
    source = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text=_("The number of the wrong or outdated source.")
    )
    note = models.CharField(max_length=1000, blank=True)
    at = models.DateTimeField(default=timezone.now, db_index=True)
    gathered = models.BooleanField(default=False, help_text=_("Processed for search gaps."))

    class Meta:
        ordering = ("-at", "-pk")
        constraints = (models.UniqueConstraint("answer", "visitor", name="answer_feedback_once"),)

    def __str__(self) -> str:
        return f"{self.answer_id}: {'+' if self.helpful else '-'}"
