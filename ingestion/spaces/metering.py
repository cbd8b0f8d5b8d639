"""What a space may call: the allowed addresses, the rate limits of servers, the count of calls."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext

from common.observing import metrics
from common.observing.tracing import span
from ingestion.embedding import Embedder
from ingestion.embedding.config import OPENAI_BASE_URL
from ingestion.embedding.protocol import ModelCard, Tokenizer, Vectors
from ingestion.errors import EmbeddingRejected, EmbeddingUnavailable

KEY_OF_THE_SETTINGS = "OPENAI_API_KEY"
# Stricter than any library that reads it, so that all of them read the same host.
_ADDRESS = re.compile(
    r"https?://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:/[\w./~-]*)?",
    re.IGNORECASE | re.ASCII,
)
_PORTS = {"http": 80, "https": 443}


def origin(address: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of a server's address in its plain form; None for any other text."""
    if not _ADDRESS.fullmatch(address):
        return None
    parts = urlsplit(address.lower())
    try:
        return parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme]
    except ValueError:  # a port above 65535
        return None


def require_address(address: str | None) -> None:
    """Raise EmbeddingRejected unless the settings name the server at `address`.

    None is OpenAI's own. Paths do not count. The server's name is resolved as it is for the
    settings' own server: a private address is a normal one for a model on the same network.
    """
    ours = settings.EMBEDDER_OPTIONS.get("openai", {}).get("base_url")
    listed = (OPENAI_BASE_URL, *([ours] if ours else []), *settings.EMBEDDING_ADDRESSES)
    if not address or address == ours:
        return
    wanted_origin = origin(address)
    if wanted_origin is not None and wanted_origin in map(origin, listed):
        return
    raise EmbeddingRejected(
        gettext(
            "No texts are sent to %(address)s: this server is not in the settings. Somebody with "
            "access to them can add its address to EMBEDDING_ADDRESSES, for the web server and "
            "the workers, and start them again."
        )
        % {"address": "".join(c if c.isprintable() else "?" for c in address[:200])}
    )


def require_key(name: str) -> None:
    """Raise EmbeddingRejected unless the settings name this environment variable as a key."""
    if name in ("", KEY_OF_THE_SETTINGS, *settings.EMBEDDING_KEY_VARIABLES):
        return
    raise EmbeddingRejected(
        gettext(
            "The variable %(name)s is not sent to a model's server: it is not in the settings. "
            "Somebody with access to them can add its name to EMBEDDING_KEY_VARIABLES, for the "
            "web server and the workers, and start them again."
        )
        % {"name": "".join(c if c.isprintable() else "?" for c in name[:100])}
    )


def why_refused(config: Mapping[str, Any]) -> str:
    """Why the settings do not allow this `config` of a space; empty if they do."""
    try:
        require_key(str(config.get("api_key_env", "")))
        require_address(config.get("base_url"))
    except EmbeddingRejected as error:
        return str(error)
    return ""


# The burst: a tenth of a minute's allowance (a guess). A whole minute's would let the first minute
# send twice the limit.
BURST_SECONDS = 6.0

# Returns the wait until the request may be sent; updates the row only if that is soon enough.
_TAKE = """
WITH asked AS (
    SELECT id,
           GREATEST(
               COALESCE(requests_due - now.at - make_interval(secs => %(burst)s), '0'),
               COALESCE(tokens_due - now.at - make_interval(secs => %(burst)s), '0'),
               COALESCE(held_until - now.at, '0'),
               '0'
           ) AS wait, now.at
    FROM ingestion_embeddingspace, (SELECT clock_timestamp() AS at) now
    WHERE id = %(space)s
    FOR NO KEY UPDATE OF ingestion_embeddingspace
), taken AS (
    UPDATE ingestion_embeddingspace s SET
        requests_due = CASE WHEN s.requests_per_minute > 0 THEN
            GREATEST(s.requests_due, asked.at) + make_interval(secs => 60.0 / s.requests_per_minute)
            END,
        tokens_due = CASE WHEN s.tokens_per_minute > 0 THEN
            GREATEST(s.tokens_due, asked.at)
                + make_interval(secs => 60.0 * %(tokens)s / s.tokens_per_minute)
            END
    FROM asked WHERE s.id = asked.id AND asked.wait <= make_interval(secs => %(longest)s)
)
SELECT extract(epoch FROM wait)::float8 FROM asked
"""
_HOLD = """
UPDATE ingestion_embeddingspace
SET held_until = GREATEST(held_until, clock_timestamp() + make_interval(secs => %s))
WHERE id = %s
"""


_patience: ContextVar[float] = ContextVar("patience", default=float("inf"))


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Limit waits for a provider within the block; a longer one raises EmbeddingUnavailable."""
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


class SharedThrottle:
    """The rate limits of one space's provider; a change on the row applies to the next request.

    Queries are not counted: they are few, and must not wait for a backfill.
    """

    def __init__(self, space_id: int) -> None:
        self._space_id = space_id

    @property
    def patience(self) -> float:
        """The longest wait in seconds, set by the enclosing `patience` block."""
        return _patience.get()

    def take(self, tokens: int, *, longest: float) -> None:
        """Wait until the request may be sent. Raises EmbeddingUnavailable if not in time."""
        longest = min(longest, _patience.get())
        values = {
            "space": self._space_id, "tokens": tokens, "longest": max(longest, 0.0),
            "burst": BURST_SECONDS,
        }  # fmt: skip
        with connection.cursor() as cursor:
            cursor.execute(_TAKE, values)
            row = cursor.fetchone()
        wait = row[0] if row else 0.0
        if wait > longest:
            raise EmbeddingUnavailable(
                f"The provider's allowance is used up for {wait:.0f} seconds.", wait
            )
        if wait > 0:
            time.sleep(wait)

    def hold(self, seconds: float) -> None:
        """Keep all workers from sending for `seconds`."""
        with connection.cursor() as cursor:
            cursor.execute(_HOLD, (seconds, self._space_id))


class MeteredEmbedder:
    """Another embedder, its calls counted by `kind` (local, openai), use and outcome."""

    def __init__(self, embedder: Embedder, kind: str) -> None:
        self._embedder = embedder
        self._kind = kind

    @property
    def card(self) -> ModelCard:
        return self._embedder.card

    @property
    def tokenizer(self) -> Tokenizer:
        return self._embedder.tokenizer

    def embed_batches(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[int], Vectors]]:
        """The embedder's batches; the time in which the caller stores one is not counted."""
        return self._metered(self._embedder.embed_batches(texts))

    def _metered(
        self, batches: Iterator[tuple[Sequence[int], Vectors]]
    ) -> Iterator[tuple[Sequence[int], Vectors]]:
        while True:
            with self._counted("passages"):
                batch = next(batches, None)
            if batch is None:
                return
            self._embedded("passages", len(batch[0]))
            yield batch

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        with self._counted("passages"):
            vectors = self._embedder.embed_documents(texts)
        self._embedded("passages", len(texts))
        return vectors

    def embed_query(self, text: str, *, timeout: float | None = None) -> Vectors:
        with self._counted("query"):
            vector = self._embedder.embed_query(text, timeout=timeout)
        self._embedded("query", 1)
        return vector

    @contextmanager
    def _counted(self, use: str) -> Iterator[None]:
        started, outcome = time.perf_counter(), "ok"
        try:
            with span(f"embed {use}", kind=self._kind):
                yield
        except EmbeddingUnavailable:
            outcome = "unavailable"
            raise
        except Exception:
            outcome = "rejected"
            raise
        finally:
            metrics.observe(
                metrics.EMBEDDER_SECONDS,
                time.perf_counter() - started,
                kind=self._kind,
                use=use,
                outcome=outcome,
            )

    def _embedded(self, use: str, texts: int) -> None:
        metrics.count(metrics.EMBEDDED, texts, kind=self._kind, use=use)
