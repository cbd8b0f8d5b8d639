"""The scale of a model's cosines (ADR 130), and what chance finds in a library with it (ADR 17).

The scale of a cosine differs by model: between unrelated texts it is .05 in one and .8 in another.
So a few questions that hardly any library answers are compared with one another, whatever the
library holds: that is the model's scale. And they are asked of the passages: their best cosines are
what chance gives with this model, in a library of this size.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from dataclasses import asdict
from datetime import timedelta

import numpy as np
from django.db import connection
from django.db.models import Q, Sum
from django.utils import timezone

from ingestion import spaces
from ingestion.embedding import Vectors
from ingestion.errors import EmbeddingError
from ingestion.models import CorpusChange, CorpusStatistics, EmbeddingSpace
from ingestion.spaces.vectors import literal
from search.models import SpaceBackground
from search.ranking.confidence import Background
from search.ranking.cosine_scale import MINILM, CosineScale

logger = logging.getLogger(__name__)

# Questions of many subjects, lengths and forms, as people type them. Some may have an answer: the
# median and the quartiles of all are read.
PROBES = (
    "how long should I boil a quail egg", "What do you feed a hedgehog in winter?",
    "which key is a trombone in", "repair a squeaky bicycle brake",
    "Who painted the ceiling of the opera house?", "When does the night train to Lisbon leave?",
    "knitting pattern for baby socks", "Is it safe to fly with a broken collarbone?",
    "how many players are on a water polo team", "cheapest way to heat a greenhouse",
    "What is the rent of the flat in Mill Lane?", "train a parrot to whistle a tune",
    "Why did the bakery close on Monday?", "tax on inherited farmland",
    "Can my neighbour cut down the walnut tree?", "how are violins varnished",
    "What time is low tide at the lighthouse?", "symptoms of iron deficiency in horses",
    "Which wine goes with roast duck?", "winner of the 1987 chess tournament in Brussels",
    "how to remove red wine from a carpet", "Does the ferry take dogs?",
    "renew a passport for a child under twelve", "What is the salary of a museum guard?",
    "the moon has a magnetic field", "how deep is the old salt mine",
    "origami crane instructions", "When are tulips planted?",
    "best tyres for a cargo scooter", "Who conducts the choir on Sunday?",
    "emergency number for mountain rescue", "How was amber traded in the Bronze Age?",
)  # fmt: skip
# A background is measured anew after a day, or once the library has changed by this share. Guesses.
OLD, GROWTH = timedelta(days=1), 0.25

# Uses the cast of the space's index, which finds the nearest.
_BEST = """
SELECT 1 - nearest.distance FROM unnest(%s::text[]) probe(vector), LATERAL (
    SELECT (e.vector::{halves}) <=> probe.vector::{halves} AS distance
    FROM ingestion_chunkembedding e WHERE e.space_id = {space} ORDER BY 1 LIMIT 1
) nearest
"""


def refresh() -> int:
    """Measure the missing and outdated backgrounds; return their number.

    For the active space and those that are ready to replace it.
    """
    passages = sum(
        model._default_manager.aggregate(total=Sum("chunks"))["total"] or 0
        for model in (CorpusStatistics, CorpusChange)
    )
    if not passages:
        return 0
    near = math.ceil(passages * (1 - GROWTH)), math.floor(passages * (1 + GROWTH))
    fresh = SpaceBackground.objects.filter(
        passages__range=near, measured_at__gt=timezone.now() - OLD, slope__isnull=False
    )
    ready = Q(state=EmbeddingSpace.State.BUILDING, filled_at__isnull=False)
    rows = EmbeddingSpace.objects.filter(ready | Q(state=EmbeddingSpace.State.ACTIVE))
    return sum(_measure(space, passages) for space in rows.exclude(pk__in=fresh.values("pk")))


def _measure(space: EmbeddingSpace, passages: int) -> bool:
    """Measure and store a space's background; False if it is empty or its model fails."""
    try:
        embedder = spaces.query_embedder(space)
        vectors = [embedder.embed_query(probe) for probe in PROBES]
        scale = scale_of(np.stack(vectors), embedder.embed_documents(PROBES))
    except EmbeddingError as error:
        logger.warning("The background of %s cannot be measured: %s", space, error)
        return False
    statement = _BEST.format(halves=f"halfvec({int(space.dimensions)})", space=int(space.pk))
    with connection.cursor() as cursor:
        cursor.execute(statement, [[literal(vector) for vector in vectors]])
        cosines = [cosine for (cosine,) in cursor.fetchall()]
    if not cosines:
        return False
    measured = {**asdict(Background.of(cosines)), **asdict(scale), "passages": passages}
    SpaceBackground.objects.update_or_create(
        space=space, defaults={**measured, "measured_at": timezone.now()}
    )
    return True


def scale_of(questions: Vectors, passages: Vectors) -> CosineScale:
    """The scale of a model that embeds PROBES so, as questions and as passages, a row each."""
    others = ~np.eye(len(questions), dtype=np.bool_)
    return CosineScale.of((questions @ passages.T)[others].astype(np.float64))


def read(space: EmbeddingSpace | None) -> tuple[Background | None, CosineScale]:
    """The space's background, None if it is not measured yet, and its scale, then MiniLM's."""
    row = SpaceBackground.objects.filter(space=space).first() if space else None
    if row is None:
        return None, MINILM
    return Background(row.level, row.scale), row.cosine_scale


def remarks(space: EmbeddingSpace) -> Iterable[str]:
    """A sentence on the scale on which the model's cosines are weighed, unless it is MiniLM's."""
    scale = read(space)[1]
    if scale != MINILM:
        yield (
            f"Weights read this model's cosines on the scale that they were chosen for, MiniLM's: "
            f"times {scale.slope:g}, {scale.offset:+g}."
        )
