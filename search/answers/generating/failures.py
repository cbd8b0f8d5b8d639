"""What can go wrong with a language model, as `ModelUnavailable` with a message for readers.

Addresses and keys are for the log alone.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from search.errors import ModelUnavailable

if TYPE_CHECKING:
    import openai

logger = logging.getLogger(__name__)


def not_reached() -> ModelUnavailable:
    return ModelUnavailable(
        "not_reached", _("The language model cannot be reached. Try again in some minutes.")
    )


def not_recorded() -> ModelUnavailable:
    logger.exception("A call of the language model could not be recorded.")
    return ModelUnavailable(
        "not_recorded",
        _("The language model was not asked: its costs cannot be recorded. Try again later."),
    )


def too_slow(seconds: float) -> ModelUnavailable:
    return ModelUnavailable(
        "first_token_timeout",
        _("The language model did not begin to answer within %(duration)s. Try again.")
        % {"duration": _duration(seconds)},
    )


def stalled(seconds: float) -> ModelUnavailable:
    return ModelUnavailable(
        "token_timeout",
        _("The language model fell silent for %(duration)s in mid-answer. Ask again.")
        % {"duration": _duration(seconds)},
    )


def too_long(seconds: float) -> ModelUnavailable:
    return ModelUnavailable(
        "total_timeout",
        _("The language model was still writing after %(duration)s, and was stopped.")
        % {"duration": _duration(seconds)},
    )


def _duration(seconds: float) -> str:
    count = 1 if seconds == 1 else max(2, round(seconds))  # half a second has the plural, too
    return ngettext("%(seconds)g second", "%(seconds)g seconds", count) % {"seconds": seconds}


def cut() -> ModelUnavailable:
    return ModelUnavailable(
        "cut", _("The connection to the language model broke off in mid-answer. Ask again.")
    )


def malformed() -> ModelUnavailable:
    return ModelUnavailable(
        "malformed",
        _(
            "The language model's server sent something that cannot be read. If this continues, "
            "an administrator must check that it has OpenAI's chat API."
        ),
    )


def filtered() -> ModelUnavailable:
    return ModelUnavailable(
        "content_filter",
        _("The language model's provider withheld the answer. Word the question differently."),
    )


def declined() -> ModelUnavailable:
    return ModelUnavailable(
        "declined", _("The language model declined to answer. Word the question differently.")
    )


def empty() -> ModelUnavailable:
    return ModelUnavailable("empty", _("The language model's answer was empty. Ask again."))


def only_thoughts() -> ModelUnavailable:
    return ModelUnavailable(
        "only_thoughts",
        _(
            "The language model used its longest answer for reasoning alone. An administrator may "
            "raise that limit in the answer profile, or choose a model that reasons less."
        ),
    )


def no_model() -> ModelUnavailable:
    return ModelUnavailable(
        "no_model",
        _(
            "The language model's server names no model that writes text. An administrator must "
            "set ANSWER_MODEL."
        ),
    )


def refused(error: openai.APIStatusError) -> ModelUnavailable:
    """The failure for an HTTP status, logged with the server's own reason."""
    status = error.status_code
    words = _server_words(error)
    logger.warning("The language model's server answered %s (%s)", status, error.code or "no code")
    logger.debug("Its reason: %s", words)  # some quote the request
    if error.code == "insufficient_quota":  # a 429 that waiting does not resolve
        return ModelUnavailable(
            "quota",
            _(
                "The account at the language model's provider has no quota left. An administrator "
                "must check its plan."
            ),
        )
    if status == 429:
        return ModelUnavailable(
            "rate_limited", _("The language model is overloaded. Try again in some minutes.")
        )
    if status in (401, 403):
        return ModelUnavailable(
            "unauthorized",
            _("The language model's server refused access. An administrator must check its key."),
        )
    if status == 404:
        return ModelUnavailable(
            "unknown_model",
            _(
                "The language model does not exist on its server. An administrator must check its "
                "name and the server's address."
            ),
        )
    if status == 413 or error.code == "context_length_exceeded" or "context length" in words:
        return ModelUnavailable(
            "too_long",
            _(
                "The passages are too long for the language model. An administrator must lower "
                "the context budget of the answer profile."
            ),
        )
    if status >= 500:
        return ModelUnavailable(
            "server_error",
            _("The language model's server failed. Try again in some minutes."),
        )
    return ModelUnavailable(
        "refused",
        _("The language model's server refused the request (error %(status)d).")
        % {"status": status},
    )


def reported(error: openai.APIError) -> ModelUnavailable:
    """The failure that a server reports in the middle of a stream."""
    logger.warning("The language model's server broke off (%s)", error.code or "no code")
    logger.debug("Its reason: %s", error.message[:200])
    if error.code == "content_filter":
        return filtered()
    return ModelUnavailable(
        "model_error", _("The language model's server broke off with an error. Ask again.")
    )


def _server_words(error: openai.APIStatusError) -> str:
    """The server's own reason, on one short line."""
    body = error.body
    stated = body.get("message") if isinstance(body, dict) else None
    return " ".join(str(stated or "no reason given").split())[:200]
