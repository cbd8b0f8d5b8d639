"""Embedding spaces: the active one, the configuration of each, and its embedder."""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.cache import cache

from common import database, metrics
from ingestion.embedding import CachedQueryEmbedder, Embedder, EmbedderConfig, build_embedder
from ingestion.embedding.config import IN_PROCESS
from ingestion.errors import EmbeddingError, EmbeddingRejected
from ingestion.lexical.languages import language_odds
from ingestion.models import EmbeddingSpace
from ingestion.spaces.allowed_servers import KEY_OF_THE_SETTINGS, require_address, require_key
from ingestion.spaces.metered_embedder import MeteredEmbedder

logger = logging.getLogger(__name__)


def active_space() -> EmbeddingSpace | None:
    """The active space; None before the first document."""
    return EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.ACTIVE).first()


def hold_switch(*, exclusive: bool = False) -> None:
    """Lock the choice of the active space until the transaction ends; `exclusive` to change it.

    Documents become searchable under the shared lock: at a switch each is either complete in the
    new space or not yet searchable. Searches take no lock.
    """
    database.hold(database.EMBEDDING_SWITCH, shared=not exclusive)


# Options that determine the vectors and thus belong to the row.
OF_THE_MODEL = {
    "local": (
        "model", "folder", "query_folder", "pooling", "query_prefix", "document_prefix",
        "max_tokens", "languages",
    ),
    "fastembed": ("model", "query_prefix", "document_prefix", "languages"),
    "openai": (
        "model", "base_url", "dimensions", "query_prefix", "document_prefix", "max_tokens",
        "languages",
    ),
}  # fmt: skip
# Options that the row may also hold, because providers differ in them.
OF_THE_PROVIDER = {"openai": ("api_key_env", "batch_size", "max_request_tokens", "timeout")}


def config_of_settings() -> dict[str, Any]:
    """The `config` of a space for the embedder named in the settings.

    `fastembed:BAAI/bge-small-en-v1.5` is a model that fastembed runs.
    """
    kind, _, model = settings.EMBEDDER.partition(":")
    if model and kind not in IN_PROCESS:
        kind = settings.EMBEDDER  # unknown, and named as such
    config = {"kind": kind, **_set_options(settings.EMBEDDER_OPTIONS.get(kind, {}), kind)}
    if model:
        config["model"] = model
    if kind == "openai":
        config["api_key_env"] = KEY_OF_THE_SETTINGS
    return config


def config_of(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The `config` of a new space from a person's options; empty ones keep the model's default.

    Raises EmbeddingRejected for an option that this kind of model does not have.
    """
    fields = (*OF_THE_MODEL.get(kind, ()), *OF_THE_PROVIDER.get(kind, ()))
    values = {name: value for name, value in options.items() if value not in (None, "", (), [])}
    unknown = sorted(set(values) - set(fields))
    if not fields or unknown:
        raise EmbeddingRejected(
            f'Unknown kind of embedder "{kind}": use one of {", ".join(OF_THE_MODEL)}.'
            if not fields
            else f"A {kind} model has no {', '.join(unknown)}: leave it out."
        )
    if kind == "openai" and "api_key_env" not in values:
        # The key of one provider is never sent to the address of another.
        ours = settings.EMBEDDER_OPTIONS.get("openai", {}).get("base_url")
        if values.get("base_url") in (None, ours):
            values["api_key_env"] = KEY_OF_THE_SETTINGS
    return {"kind": kind, **values}


def embedder_config(config: Mapping[str, Any], *, dimensions: int | None = None) -> EmbedderConfig:
    """The embedder's configuration from `config` and the settings; `dimensions` if known.

    Raises EmbeddingRejected for invalid options, for a server or a key that the settings do not
    name, and for a key that is not set.
    """
    kind = str(config.get("kind", ""))
    here = {
        name: value
        for name, value in settings.EMBEDDER_OPTIONS.get(kind, {}).items()
        if name not in OF_THE_MODEL.get(kind, ()) and name != "api_key"
    }
    options = here | {name: value for name, value in config.items() if name != "kind"}
    if options.get("languages") is not None:
        options["languages"] = tuple(options["languages"])
    if kind == "openai":
        name = options.pop("api_key_env", "")
        require_key(name)
        require_address(options.get("base_url"))
        options |= {"api_key": api_key(name), "key_name": name, "known_dimensions": dimensions}
    try:
        return EmbedderConfig.of(kind, **options)
    except TypeError as error:  # an option of another version of this program
        raise EmbeddingRejected(f"The space's model cannot be built: {error}.") from error


def api_key(name: str) -> str:
    """The key in the environment variable `name`; empty without a name.

    Raises EmbeddingRejected if the variable is not set.
    """
    if not name:
        return ""
    key = os.environ.get(name, "")
    if not key and name == KEY_OF_THE_SETTINGS:
        # May be empty: a provider that needs a key reports that itself.
        return str(settings.EMBEDDER_OPTIONS.get("openai", {}).get("api_key", ""))
    if not key:
        raise EmbeddingRejected(
            f"The environment variable {name}, which holds the key of this model's provider, is "
            "not set. Set it for the web server and the workers, and start them again."
        )
    return key


def _set_options(options: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The options of the model that are set, as JSON values."""
    return {
        name: str(value) if isinstance(value, Path) else value
        for name, value in options.items()
        if name in OF_THE_MODEL.get(kind, ()) and value is not None
    }


# The active, the building and the previous space, and one to test an unused model. The packaged
# model takes 217 MB.
MAX_LOADED = 4


@dataclass(frozen=True, slots=True)
class _Loaded:
    embedder: Embedder
    questions: CachedQueryEmbedder


_loaded: OrderedDict[EmbedderConfig, _Loaded] = OrderedDict()
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


def load_ahead(space: EmbeddingSpace) -> None:
    """Load the space's model once, in a separate thread, so that no query waits for it later."""

    with _loading:
        if space.pk in _ahead:
            return
        _ahead.add(space.pk)

    def load() -> None:
        try:
            embedder(space).embed_query("warm up")
            if len(space.languages) != 1:  # then a search asks for its question's language
                language_odds("warm up")
        except EmbeddingError as error:
            logger.warning("The model of %s is not available: %s", space, error)

    threading.Thread(target=load, name="load-ahead", daemon=True).start()


def forget_embedders() -> None:
    """Drop the loaded embedders: after a change of settings, and in tests."""
    with _loading:
        _loaded.clear()
        _ahead.clear()


def build(config: EmbedderConfig) -> _Loaded:
    """The embedder of a configuration, cached."""
    with _loading:
        if config not in _loaded:
            embedder = MeteredEmbedder(build_embedder(config), config.kind)
            cached = CachedQueryEmbedder(
                embedder, cache, ttl=settings.QUERY_EMBEDDING_TTL, on_lookup=_count_lookup
            )
            _loaded[config] = _Loaded(embedder, cached)
        _loaded.move_to_end(config)
        while len(_loaded) > MAX_LOADED:
            _loaded.popitem(last=False)
        return _loaded[config]


def _count_lookup(result: str) -> None:
    metrics.count(metrics.CACHE, cache="query_embeddings", result=result)


def _of(space: EmbeddingSpace | None) -> _Loaded:
    space = space or active_space()
    if space is None:
        return build(embedder_config(config_of_settings()))
    loaded = build(embedder_config(space.config, dimensions=space.dimensions))
    card = loaded.embedder.card
    if card.fingerprint != space.fingerprint:
        raise EmbeddingRejected(
            f"The vectors of {space} were made by {space.fingerprint}, but its model is now "
            f"{card.fingerprint}: its files or its address changed. Restore them, or create a "
            f"new space for it."
        )
    return loaded
