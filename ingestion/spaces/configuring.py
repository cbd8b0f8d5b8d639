"""The configuration of an embedding space, and the space that is active."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from common import locks
from ingestion.embedding import EmbedderConfig
from ingestion.errors import EmbeddingRejected
from ingestion.models import EmbeddingSpace


def active_space() -> EmbeddingSpace | None:
    """The active space; None before the first document."""
    return EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.ACTIVE).first()


def hold_switch(*, exclusive: bool = False) -> None:
    """Lock the choice of the active space until the transaction ends; `exclusive` to change it.

    Documents become searchable under the shared lock: at a switch each is either complete in the
    new space or not yet searchable. Searches take no lock.
    """
    locks.hold(locks.EMBEDDING_SWITCH, shared=not exclusive)


# Options that determine the vectors and thus belong to the row.
OF_THE_MODEL = {
    "local": (
        "folder", "pooling", "query_prefix", "document_prefix", "max_tokens", "languages",
    ),
    "openai": (
        "model", "base_url", "dimensions", "query_prefix", "document_prefix", "max_tokens",
        "languages",
    ),
}  # fmt: skip
# Options that the row may also hold, because providers differ in them.
OF_THE_PROVIDER = {
    "local": ("batch_size",),
    "openai": ("api_key_env", "batch_size", "max_request_tokens", "timeout"),
}
KEY_OF_THE_SETTINGS = "OPENAI_API_KEY"


def config_of_settings() -> dict[str, Any]:
    """The `config` of a space for the embedder named in the settings."""
    kind = settings.EMBEDDER
    config = {"kind": kind, **_stated(settings.EMBEDDER_OPTIONS.get(kind, {}), kind)}
    if kind == "openai":
        config["api_key_env"] = KEY_OF_THE_SETTINGS
    return config


def config_of(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The `config` of a new space from a person's options; empty ones keep the model's default.

    Raises EmbeddingRejected for an option that this kind of model does not have.
    """
    known = (*OF_THE_MODEL.get(kind, ()), *OF_THE_PROVIDER.get(kind, ()))
    given = {name: value for name, value in options.items() if value not in (None, "", (), [])}
    unknown = sorted(set(given) - set(known))
    if not known or unknown:
        raise EmbeddingRejected(
            f'There is no kind of embedder "{kind}": use "local" or "openai".'
            if not known
            else f"A {kind} model has no {', '.join(unknown)}: leave it out."
        )
    if kind == "openai" and "api_key_env" not in given:
        # The key of one provider is never sent to the address of another.
        ours = settings.EMBEDDER_OPTIONS.get("openai", {}).get("base_url")
        if given.get("base_url") in (None, ours):
            given["api_key_env"] = KEY_OF_THE_SETTINGS
    return {"kind": kind, **given}


def embedder_config(config: Mapping[str, Any], *, dimensions: int | None = None) -> EmbedderConfig:
    """The embedder's configuration from `config` and the settings; `dimensions` if known.

    Raises EmbeddingRejected for invalid options and for a key that is not set.
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
        options |= {
            "api_key": api_key(name),
            "key_name": name,
            "known_dimensions": dimensions,
        }
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
    found = os.environ.get(name, "")
    if not found and name == KEY_OF_THE_SETTINGS:
        # May be empty: a provider that needs a key reports that itself.
        return str(settings.EMBEDDER_OPTIONS.get("openai", {}).get("api_key", ""))
    if not found:
        raise EmbeddingRejected(
            f"The environment variable {name}, which holds the key of this model's provider, is "
            "not set. Set it for the web server and the workers, and start them again."
        )
    return found


def _stated(options: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The options of the model that are set, as JSON values."""
    return {
        name: str(value) if isinstance(value, Path) else value
        for name, value in options.items()
        if name in OF_THE_MODEL.get(kind, ()) and value is not None
    }
