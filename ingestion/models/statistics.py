"""Document frequencies for BM25, by collection.

Writers only insert: a version entering or leaving search adds its counts to the Change
tables, so that workers never wait on one another. `terms.fold` moves them into the totals;
a reader sums both.
"""

from __future__ import annotations

from django.db import models

from ingestion.models.library import Collection


class TermFrequency(models.Model):
    """In how many searchable chunks of a collection a lexeme stands, as of the last fold."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+")
    lexeme = models.TextField()
    chunks = models.BigIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint("lexeme", "collection", name="term_once_per_collection"),
        )

    def __str__(self) -> str:
        return f"{self.lexeme}: {self.chunks}"


class TermChange(models.Model):
    """A difference to a TermFrequency not yet folded in."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+")
    lexeme = models.TextField()
    chunks = models.IntegerField()

    class Meta:
        indexes = (models.Index(fields=("lexeme", "collection"), name="term_change_lexeme"),)

    def __str__(self) -> str:
        return f"{self.lexeme}: {self.chunks:+d}"


class CorpusStatistics(models.Model):
    """How many chunks of one text configuration a collection's search holds, and how long."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+")
    text_config = models.CharField(max_length=64)
    chunks = models.BigIntegerField()
    total_length = models.BigIntegerField()
    weighed_length = models.FloatField(
        default=0,
        help_text="Average length that the stored weights were computed with; 0: none yet.",
    )

    class Meta:
        constraints = (
            models.UniqueConstraint("collection", "text_config", name="corpus_once_per_config"),
        )

    def __str__(self) -> str:
        return f"{self.text_config}: {self.chunks} chunks"


class CorpusChange(models.Model):
    """A difference to a CorpusStatistics row not yet folded in."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+")
    text_config = models.CharField(max_length=64)
    chunks = models.IntegerField()
    total_length = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.text_config}: {self.chunks:+d} chunks"
