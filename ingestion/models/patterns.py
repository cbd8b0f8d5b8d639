"""The patterns of identifiers in documents and questions."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.identifiers import NORMALISERS, Pattern, check_pattern, overlaps

# The fields that determine the index entries.
INDEXING_FIELDS = frozenset({"regex", "normaliser", "enabled", "position"})


class IdentifierPattern(models.Model):
    """One kind of identifier: its regular expression and its canonical form."""

    name = models.CharField(max_length=60, unique=True)
    regex = models.TextField(
        help_text=_(
            "A regular expression in RE2's syntax: Python's, but without looking ahead or behind. "
            "What surrounds an identifier need not be named."
        )
    )
    normaliser = models.CharField(
        max_length=40,
        choices=[(name, name) for name in sorted(NORMALISERS)],
        help_text=_(
            "How spellings are unified, and which parts of an identifier match it as well."
        ),
    )
    examples = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    counter_examples = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    enabled = models.BooleanField(default=True)
    position = models.PositiveSmallIntegerField(default=100)

    class Meta:
        ordering = ("position", "name")

    def __str__(self) -> str:
        return self.name

    def as_pattern(self) -> Pattern:
        return Pattern(
            name=self.name,
            regex=self.regex,
            normaliser=self.normaliser,
            examples=tuple(self.examples),
            counter_examples=tuple(self.counter_examples),
        )

    def clean(self) -> None:
        problems = check_pattern(self.as_pattern())
        if problems:
            raise ValidationError({"regex": problems})

    def neighbours(self) -> tuple[list[Pattern], list[Pattern]]:
        """The other enabled patterns: those tried before this one, and those after it."""
        rows = IdentifierPattern.objects.filter(enabled=True).exclude(pk=self.pk)
        place = (self.position, self.name)
        sides: tuple[list[Pattern], list[Pattern]] = ([], [])
        for row in rows:
            sides[(row.position, row.name) > place].append(row.as_pattern())
        return sides

    def surprises(self, *, rereads: bool) -> list[str]:
        """Warnings about a change; `rereads`: it affects how documents are read."""
        examples = list(overlaps(self.as_pattern(), *self.neighbours())) if self.enabled else []
        if rereads:
            note = gettext(
                "“%(name)s” now applies to questions. It applies to existing documents after "
                "they are reprocessed (see Collections)."
            )
            examples.append(note % {"name": self})
        return examples
