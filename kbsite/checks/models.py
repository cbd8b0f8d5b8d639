"""Checks of the settings of embedding, reranking and questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.utils.module_loading import import_string

from ingestion.errors import EmbeddingError
from search.query import MAX_QUERY_CHARS

Apps = Sequence[AppConfig] | None


@register()
def check_embedder(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """The settings must describe an embedder. Nothing is loaded and no server is contacted."""
    # Here, because it imports models, which are not loaded yet when this module is.
    from ingestion.spaces.configuring import config_of_settings, embedder_config

    try:
        config = embedder_config(config_of_settings())
        if config.kind == "local":
            from ingestion.embedding.local import require_installed

            require_installed(config.local)
    except EmbeddingError as error:
        return [
            Error(
                str(error),
                hint="docs/operations.md lists the variables of the embedder.",
                id="steelyard.E002",
            )
        ]
    return []


@register()
def check_embedding_addresses(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Each entry of EMBEDDING_ADDRESSES must be the base URL of a server."""
    from ingestion.spaces.allowed import origin

    return [
        Error(
            f"EMBEDDING_ADDRESSES contains “{address}”, which is not the address of a server.",
            hint="Use base URLs separated by commas: https://models.example.org/v1",
            id="steelyard.E020",
        )
        for address in settings.EMBEDDING_ADDRESSES
        if origin(address) is None
    ]


@register()
def check_base_rate(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """A share of 0 or 1 leaves nothing for a confidence to say."""
    if 0 < settings.CONFIDENCE_BASE_RATE < 1:
        return []
    return [
        Error(
            f"CONFIDENCE_BASE_RATE is {settings.CONFIDENCE_BASE_RATE}: not between 0 and 1.",
            hint="Set it to the share of your readers' questions that the library can answer.",
            id="steelyard.E013",
        )
    ]


@register()
def check_query_chars(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Questions must fit into the tables that record them."""
    if settings.SEARCH_QUERY_CHARS <= MAX_QUERY_CHARS:
        return []
    return [
        Error(
            f"SEARCH_QUERY_CHARS is {settings.SEARCH_QUERY_CHARS}: more than the tables hold.",
            hint=f"Set it to {MAX_QUERY_CHARS} or less.",
            id="steelyard.E011",
        )
    ]


@register()
def check_reranker(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """The settings must describe a reranker, or none. No server is contacted."""
    # Here, because it imports models, which are not loaded yet when this module is.
    from search import reranking

    try:
        reranking.configured()
    except ValueError as error:
        hint = "docs/operations.md lists the variables of the reranker."
        return [Error(str(error), hint=hint, id="steelyard.E012")]
    return []


@register()
def check_query_classifier(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """QUERY_CLASSIFIER must name a class with `classify`. It is imported and not called."""
    path = settings.QUERY_CLASSIFIER
    if not path:
        return []
    hint = "docs/tuning.md describes a classifier of your own; leave it empty for none."
    try:
        found = import_string(path)
    except ImportError as error:
        text = f"QUERY_CLASSIFIER names {path!r}, which cannot be imported: {error}"
        return [Error(text, hint=hint, id="steelyard.E014")]
    if isinstance(found, type) and callable(getattr(found, "classify", None)):
        return []
    text = f"QUERY_CLASSIFIER names {path!r}, which is not a class with a method `classify`."
    return [Error(text, hint=hint, id="steelyard.E014")]
