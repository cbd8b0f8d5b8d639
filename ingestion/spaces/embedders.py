"""The embedder of each space, for its passages and queries, loaded once per process.

The space's row decides: EMBEDDER and its settings only open the first space. An embedder with
another fingerprint than the space's is refused, so that vectors of two models never mix.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache

from ingestion.embedding import CachedQueryEmbedder, Embedder, EmbedderConfig, build_embedder
from ingestion.errors import EmbeddingError, EmbeddingRejected
from ingestion.models import EmbeddingSpace
from ingestion.spaces.configuring import active_space, config_of_settings, embedder_config
from ingestion.spaces.throttle import SharedThrottle

logger = logging.getLogger(__name__)

# The active, the building and the previous space, and one to test an unused model. The packaged
# model takes 217 MB.
HELD = 4


@dataclass(frozen=True, slots=True)
class _Loaded:
    embedder: Embedder
    questions: CachedQueryEmbedder


_held: OrderedDict[tuple[EmbedderConfig, int | None], _Loaded] = OrderedDict()
_ahead: set[int] = set()
_loading = threading.Lock()


def settings_embedder(dimensions: int | None = None) -> Embedder:
    """The embedder named in the settings, which opens the first space.

    `dimensions` saves a request to a server that would have to be asked for them.
    """
    return build(embedder_config(config_of_settings(), dimensions=dimensions)).embedder


def embedder(space: EmbeddingSpace | None = None) -> Embedder:
    """The embedder of `space`; default: of the active one, or of the settings if none exists.

    Raises EmbeddingRejected if it is not the model that filled the space.
    """
    return _of(space).embedder


def query_embedder(space: EmbeddingSpace | None = None) -> CachedQueryEmbedder:
    """The embedder of `space` with the query cache in Redis."""
    return _of(space).questions


def resolve(space: EmbeddingSpace) -> EmbeddingSpace:
    """The space with its `config`, which rows older than that field take from the settings.

    Raises EmbeddingRejected if the settings name another model than the one that filled it.
    """
    if not space.config:
        config = config_of_settings()
        named = settings_embedder(space.dimensions).card
        if named.fingerprint != space.fingerprint:
            raise EmbeddingRejected(
                f"The documents are embedded with {space.name}, but the settings name "
                f"{named.name}. Vectors of two models cannot be compared: set EMBEDDER and its "
                "model back. To change the model, see “Changing the embedding model” in "
                "docs/operations.md."
            )
        # No signal: the configuration of searches has not changed.
        EmbeddingSpace.objects.filter(pk=space.pk, config={}).update(config=config)
        space.config = config
    return space


def load_ahead(space: EmbeddingSpace) -> None:
    """Load the space's model once, in a separate thread, so that no query waits for it later."""

    with _loading:
        if space.pk in _ahead:
            return
        _ahead.add(space.pk)

    def load() -> None:
        try:
            embedder(space).embed_query("warm up")
        except EmbeddingError as error:
            logger.warning("The model of %s is not available: %s", space, error)

    try:
        resolve(space)  # here, so that the thread needs no database
    except EmbeddingError as error:
        logger.warning("The model of %s is not available: %s", space, error)
        return
    threading.Thread(target=load, name="load-ahead", daemon=True).start()


def forget_embedders() -> None:
    """Drop the loaded embedders: after a change of settings, and in tests."""
    with _loading:
        _held.clear()
        _ahead.clear()


def build(config: EmbedderConfig, space_id: int | None = None) -> _Loaded:
    """The embedder of a configuration, cached; requests count against `space_id`'s rate limit."""
    key = (config, space_id if config.kind == "openai" else None)
    with _loading:
        if key not in _held:
            throttle = SharedThrottle(space_id) if space_id is not None else None
            made = build_embedder(config, throttle)
            cached = CachedQueryEmbedder(made, cache, ttl=settings.QUERY_EMBEDDING_TTL)
            _held[key] = _Loaded(made, cached)
        _held.move_to_end(key)
        while len(_held) > HELD:
            _held.popitem(last=False)
        return _held[key]


def _of(space: EmbeddingSpace | None) -> _Loaded:
    space = space or active_space()
    if space is None:
        return build(embedder_config(config_of_settings()))
    resolve(space)
    loaded = build(embedder_config(space.config, dimensions=space.dimensions), space.pk)
    card = loaded.embedder.card
    if card.fingerprint != space.fingerprint:
        raise EmbeddingRejected(
            f"The vectors of {space} were made by {space.fingerprint}, but its model is now "
            f"{card.fingerprint}: its files or its address changed. Put them back, or make a "
            "new space of it."
        )
    return loaded
