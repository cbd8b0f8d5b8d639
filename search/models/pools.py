"""W5: the candidates of golden queries, kept with their raw scores."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from search.models.golden import GoldenQuery


class CandidatePool(models.Model):
    """What a wide find brought for a golden query: see `search.evaluation.pooled`.

    `key` names all that changes what the database returns and that no other field says; `corpus`
    what the library held. `facts` are everything but the arrays.
    """

    query = models.ForeignKey(GoldenQuery, models.CASCADE, related_name="pools")
    key = models.CharField(max_length=64, db_index=True)
    corpus = models.CharField(max_length=64)
    asked = models.CharField(max_length=64, help_text="The question and where it is asked.")
    facts = models.JSONField()
    rows = models.BinaryField()
    embeddings = models.BinaryField()
    candidates = models.PositiveIntegerField()
    built = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint("query", "key", name="pool_once_per_query_and_key"),)

    def __str__(self) -> str:
        return f"{self.query}: {self.candidates} candidates"
