"""The server that the settings name: its address, its models, and what can go wrong with it.

Failures are `ModelUnavailable` with a message for readers; addresses and keys are for the log.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from common.circuit_breaker import PerProcess
from ingestion.embedding.config import OPENAI_BASE_URL
from ingestion.embedding.openai_client import connect, reason
from search.errors import ModelUnavailable

if TYPE_CHECKING:
    import openai

logger = logging.getLogger(__name__)

# OpenAI's server offers a hundred models, in no useful order.
OPENAI_MODEL = "gpt-5.4-mini"
# Seconds to ask a server for its models, and to remember that it did not answer (both guesses).
ASKING, NO_ANSWER = 5.0, 30.0
# Prompts that are compared with the estimate, and the fewest tokens of one: a server's own
# instructions weigh little in it. A server that counts without what it has cached must not fill the
# model's window. All are guesses; the ratios of languages are those of EstimatedTokenizer.
COUNTED, COUNTED_FROM, FEWEST, MOST = 8, 500, 0.6, 2.0
# The names of models that write no text.
_OTHER_TASKS = re.compile(
    r"embed|rerank|\bbge|\bgte\b|\be5\b|minilm|whisper|\btts|transcri|dall-e|image|moderation|guard"
    r"|\bclip\b|speech|audio|realtime",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Server:
    """An address and its key."""

    base_url: str
    api_key: str = field(repr=False)


@dataclass
class _Known:
    """Facts about servers that this process remembers, by address: a model, or a failure's time."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    models: dict[str, str] = field(default_factory=dict)
    failures: dict[str, tuple[float, ModelUnavailable]] = field(default_factory=dict)
    # Refused parameters by address and model.
    refused: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    # The server's counts of the last prompts as shares of the estimate, by address and model.
    counts: dict[tuple[str, str], deque[float]] = field(default_factory=dict)


_known: PerProcess[_Known] = PerProcess(_Known)


def configured() -> Server | None:
    """The configured server; None if answers are not to be generated."""
    if not settings.ANSWERS_GENERATED:
        return None
    return Server(settings.ANSWER_BASE_URL or OPENAI_BASE_URL, settings.ANSWER_API_KEY)


def warm_up() -> None:
    """Load the client, if there is a server to ask.

    It takes half a second, and is loaded where it is used, for all the processes that never ask.
    """
    if configured() is not None:
        import openai  # noqa: F401


def model_name(server: Server) -> str:
    """The model that the settings name, or else the server's first that writes text.

    Asks the server once per process. Raises ModelUnavailable.
    """
    if settings.ANSWER_MODEL:
        return str(settings.ANSWER_MODEL)
    if server.base_url.rstrip("/") == OPENAI_BASE_URL.rstrip("/"):
        return OPENAI_MODEL
    known = _known.get()
    with known.lock:
        if server.base_url not in known.models:
            when, failure = known.failures.get(server.base_url, (0.0, None))
            if failure is not None and time.monotonic() < when + NO_ANSWER:
                raise ModelUnavailable(failure.code, str(failure))
            try:
                known.models[server.base_url] = _first_model(server)
            except ModelUnavailable as error:
                known.failures[server.base_url] = (time.monotonic(), error)
                raise
        return known.models[server.base_url]


def refused_parameters(server: Server, model: str) -> frozenset[str]:
    """The parameters that the server refused for this model."""
    return _known.get().refused.get((server.base_url, model), frozenset())


def remember_refused(server: Server, model: str, names: frozenset[str]) -> None:
    """Leave these parameters out of further requests of this process."""
    _known.get().refused[server.base_url, model] = names


def counted_tokens(server: Server, model: str) -> float:
    """The model's tokens for each estimated one: the highest ratio of its last prompts.

    So the budget holds in every language. 1 for a model that this process has not called yet.
    """
    return max(_known.get().counts.get((server.base_url, model), ()), default=1.0)


def remember_count(server: Server, model: str, estimated: int, counted: int) -> None:
    """Store the ratio of the server's count of a prompt to the estimate."""
    if estimated >= COUNTED_FROM and counted:
        counts = _known.get().counts.setdefault((server.base_url, model), deque(maxlen=COUNTED))
        counts.append(min(max(counted / estimated, FEWEST), MOST))


def _first_model(server: Server) -> str:
    import openai

    try:
        with connect(
            server.base_url, server.api_key, timeout=ASKING, retries=0, longest_pause=0
        ) as client:
            rows = client.models.list().data
        names = [row.id for row in rows if isinstance(row.id, str)]
    except openai.APIConnectionError as error:
        raise unavailable("not_reached") from error
    except openai.NotFoundError as error:  # it does not list its models
        raise unavailable("no_model") from error
    except openai.APIStatusError as error:
        raise refused_by(error) from error
    except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
        raise unavailable("malformed") from error
    model = next((name for name in names if not _OTHER_TASKS.search(name)), None)
    if model is None:
        raise unavailable("no_model")
    logger.info("Answers are written by %s, the first model that the server names.", model)
    return model


# The message of each code.
MESSAGES = {
    "not_reached": _("The language model cannot be reached. Try again in a few minutes."),
    "not_recorded": _(
        "The language model was not asked: its costs cannot be recorded. Try again later."
    ),
    "first_token_timeout": _(
        "The language model did not begin to answer within %(duration)s. Try again."
    ),
    "token_timeout": _("The language model stopped for %(duration)s in mid-answer. Ask again."),
    "total_timeout": _("The language model was still writing after %(duration)s, and was stopped."),
    "cut": _("The connection to the language model broke off in mid-answer. Ask again."),
    "malformed": _(
        "The language model's server sent something that cannot be read. If this continues, "
        "an administrator must check that it has OpenAI's chat API."
    ),
    "content_filter": _(
        "The language model's provider withheld the answer. Word the question differently."
    ),
    "declined": _("The language model declined to answer. Word the question differently."),
    "empty": _("The language model's answer was empty. Ask again."),
    "only_thoughts": _(
        "The language model used up the length of its answer for reasoning. An administrator may "
        "raise the limit in the answer settings, or choose a model that reasons less."
    ),
    "no_model": _(
        "The language model's server names no model that writes text. An administrator must "
        "set ANSWER_MODEL."
    ),
    "quota": _(
        "The account at the language model's provider has no quota left. An administrator "
        "must check its plan."
    ),
    "rate_limited": _("The language model is overloaded. Try again in a few minutes."),
    "unauthorized": _(
        "The language model's server refused access. An administrator must check its key."
    ),
    "unknown_model": _(
        "The language model does not exist on its server. An administrator must check its "
        "name and the server's address."
    ),
    "too_long": _(
        "The passages are too long for the language model. An administrator must lower "
        "the context budget in the answer settings."
    ),
    "server_error": _("The language model's server failed. Try again in a few minutes."),
    "refused": _("The language model's server refused the request (error %(status)d)."),
    "model_error": _("The language model's server broke off with an error. Ask again."),
}
_BY_STATUS = {429: "rate_limited", 401: "unauthorized", 403: "unauthorized", 404: "unknown_model"}


def unavailable(code: str, **values: object) -> ModelUnavailable:
    """The ModelUnavailable error of that code, with its message in the reader's language."""
    message = str(MESSAGES[code])
    return ModelUnavailable(code, message % values if values else message)


def timed_out(code: str, seconds: float) -> ModelUnavailable:
    """The ModelUnavailable error of a wait that took longer than so many seconds."""
    count = 1 if seconds == 1 else max(2, round(seconds))  # half a second has the plural, too
    duration = ngettext("%(seconds)g second", "%(seconds)g seconds", count)
    return unavailable(code, duration=duration % {"seconds": seconds})


def refused_by(error: openai.APIStatusError) -> ModelUnavailable:
    """The ModelUnavailable error for an HTTP status; logs the server's own reason."""
    status = error.status_code
    words = reason(error)
    logger.warning("The language model's server answered %s (%s)", status, error.code or "no code")
    logger.debug("Its reason: %s", words)  # some quote the request
    if error.code == "insufficient_quota":  # a 429 that waiting does not resolve
        return unavailable("quota")
    if status in _BY_STATUS:
        return unavailable(_BY_STATUS[status])
    if status == 413 or error.code == "context_length_exceeded" or "context length" in words:
        return unavailable("too_long")
    return unavailable("server_error") if status >= 500 else unavailable("refused", status=status)


def reported(error: openai.APIError) -> ModelUnavailable:
    """The ModelUnavailable error for a failure that a server reports within a stream."""
    logger.warning("The language model's server broke off (%s)", error.code or "no code")
    logger.debug("Its reason: %s", error.message[:200])
    return unavailable("content_filter" if error.code == "content_filter" else "model_error")
