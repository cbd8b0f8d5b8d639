"""Document frequencies for BM25, by collection.

Writers only insert: when a version becomes searchable or stops being so, its counts go into the
Change tables, so that workers never wait for one another. `terms.fold` moves them into the
totals; readers sum both.
"""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from ingestion.models.library import Collection


class TermFrequency(models.Model):
    """The number of searchable chunks of a collection with a lexeme, as of the last fold."""

    # Without an index of its own: only the deletion of a collection looks for it alone.
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+", db_index=False)
    lexeme = models.TextField()
    chunks = models.BigIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint("lexeme", "collection", name="term_once_per_collection"),
        )

    def __str__(self) -> str:
        return f"{self.lexeme}: {self.chunks}"


class TermChange(models.Model):
    """A pending change of a TermFrequency.

    In the database `id` has no index: a row is written for each lexeme of a version, and read by
    its lexeme or with all others.
    """

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+", db_index=False)
    lexeme = models.TextField()
    chunks = models.IntegerField()

    class Meta:
        indexes = (models.Index(fields=("lexeme", "collection"), name="term_change_lexeme"),)

    def __str__(self) -> str:
        return f"{self.lexeme}: {self.chunks:+d}"


class CorpusStatistics(models.Model):
    """Number and total length of a collection's searchable chunks, by text configuration."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+")
    text_config = models.CharField(max_length=64)
    chunks = models.BigIntegerField()
    total_length = models.BigIntegerField()
    weighed_length = models.FloatField(
        default=0,
        help_text=_("Average length used for the stored weights; 0: none yet."),
    )

    class Meta:
        constraints = (
            models.UniqueConstraint("collection", "text_config", name="corpus_once_per_config"),
        )

    def __str__(self) -> str:
        return f"{self.text_config}: {self.chunks} chunks"


class CorpusChange(models.Model):
    """A pending change of a CorpusStatistics row."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+")
    text_config = models.CharField(max_length=64)
    chunks = models.IntegerField()
    total_length = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.text_config}: {self.chunks:+d} chunks"
