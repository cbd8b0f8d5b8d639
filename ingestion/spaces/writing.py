"""The spaces that are written to: the active one, opened on first use, and those beside it."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from ingestion.models import EmbeddingSpace
from ingestion.models.index import WRITTEN_STATES
from ingestion.spaces.configuring import config_of_settings
from ingestion.spaces.embedders import settings_embedder
from ingestion.spaces.index import create_index
from ingestion.spaces.rows import active_space, hold_switch


def writing_space() -> EmbeddingSpace:
    """The active space, made on first use of the embedder that the settings name."""
    return active_space() or _open_first_space()


def writing_spaces() -> tuple[EmbeddingSpace, ...]:
    """The spaces that hold a vector of every searchable chunk, or come to: the active one first.

    A document is ready with a vector in the first; the others are filled behind it (`backfill`),
    so that an outage of their providers holds nothing up.
    """
    active = writing_space()
    others = EmbeddingSpace.objects.filter(state__in=WRITTEN_STATES).exclude(pk=active.pk)
    return (active, *others.order_by("pk"))


def _open_first_space() -> EmbeddingSpace:
    card = settings_embedder().card
    with transaction.atomic():
        # Workers that start together must not both find no space.
        hold_switch(exclusive=True)
        active = active_space()
        if active is not None:
            return active
        space = EmbeddingSpace.objects.create(
            name=card.name,
            fingerprint=card.fingerprint,
            config=config_of_settings(),
            dimensions=card.dimensions,
            max_tokens=card.max_tokens,
            languages=list(card.languages),
            state=EmbeddingSpace.State.ACTIVE,
            activated_at=timezone.now(),
            filled_at=timezone.now(),
        )
        create_index(space)
    return space
