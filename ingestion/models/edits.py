"""Hand edits of a document's chunks, stored apart from the chunks."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.accounts.models import user_or_none
from ingestion.models.documents import Document

# As many as a question may have (`search.query.parse`): any may be pinned.
MAX_QUESTION_CHARS = 4000


class ChunkEdit(models.Model):
    """A hand edit of one chunk of a document. It outlives the chunk (`ingestion.edits.anchoring`).

    Its anchor locates it: the hashes of the chunk's parsed text and of its neighbours', the
    headings and the ordinal. `Chunk.edit` refers to the edit wherever it is applied.
    """

    class State(models.TextChoices):
        APPLIED = "applied", _("Applied")
        HOMELESS = "homeless", _("Unplaced")

    document = models.ForeignKey(Document, models.CASCADE, related_name="edits")
    text = models.TextField(
        blank=True, help_text=_("Replacement text; leave empty to keep the text.")
    )
    disabled = models.BooleanField(default=False, help_text=_("Exclude the passage from search."))
    questions = ArrayField(
        models.CharField(max_length=MAX_QUESTION_CHARS),
        default=list,
        blank=True,
        help_text=_("Exact questions for which the passage ranks first, one per line."),
    )
    note = models.TextField(blank=True, help_text=_("Shown to staff only."))

    original = models.TextField(editable=False)
    content_hash = models.CharField(max_length=64, editable=False)
    hash_before = models.CharField(max_length=64, blank=True, editable=False)
    hash_after = models.CharField(max_length=64, blank=True, editable=False)
    heading_path = ArrayField(models.TextField(), default=list, editable=False)
    ordinal = models.PositiveIntegerField(editable=False)

    state = models.CharField(
        max_length=8, choices=State.choices, default=State.APPLIED, db_index=True, editable=False
    )
    reason = models.TextField(
        blank=True, editable=False, help_text=_("Why the edit could not be placed.")
    )
    added_by = user_or_none(editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        default_permissions = ()  # who may change a document may edit its passages
        ordering = ("document", "ordinal", "pk")
        verbose_name = _("hand edit")

    def __str__(self) -> str:
        return f"Edit of passage {self.ordinal + 1} of {self.document}"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of change that the edit makes."""
        done = (
            (bool(self.text), "text"),
            (self.disabled, "disabled"),
            (bool(self.questions), "pinned"),
            (bool(self.note), "note"),
        )
        return tuple(word for does, word in done if does)
