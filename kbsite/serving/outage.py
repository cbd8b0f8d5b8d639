"""The site during an outage of its database, of Redis or of the originals."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator

import kombu.exceptions
import psycopg
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.defaults import server_error as django_server_error
from redis.exceptions import RedisError

from common.circuit_breaker import CircuitOpen
from ingestion.errors import StorageUnavailable
from kbsite.serving.refusals import as_json, refusal

logger = logging.getLogger(__name__)

RETRY_AFTER = 5  # seconds; a supervisor needs about three to start a dead server again
# Postgres' codes for a server that shuts down, has crashed, starts, or takes no more connections.
# Errors without a code are those of the connection itself: refused, lost, or none free in time.
_AWAY = {"57P01", "57P02", "57P03", "53300"}


def is_outage(error: BaseException | None) -> bool:
    """Whether `error` says that the database is unavailable, rather than that a query failed."""
    cause = error.__cause__ if isinstance(error, OperationalError | InterfaceError) else error
    if not isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    code = cause.sqlstate
    return code is None or code in _AWAY or code.startswith("08")


def server_error(request: HttpRequest) -> HttpResponse:
    """The response to an exception that no view handled: 503 for an outage, otherwise 500."""
    error = sys.exc_info()[1]
    if is_outage(error):
        return unavailable(request)
    if isinstance(error, RedisError | kombu.exceptions.OperationalError):
        logger.warning("Redis is unavailable: %s", error)
        sentence = _(
            "The site's Redis server is unavailable; what was stored is safe, and this works again "
            "as soon as it is back."
        )
        return unavailable(request, sentence)
    if isinstance(error, StorageUnavailable):
        logger.warning("The originals are unavailable: %s", error.__cause__)
        return unavailable(request, str(error))
    sentence = _("An internal error occurred and has been logged. Try again in a moment.")
    shaped = as_json(request.path_info, "internal", sentence, 500)
    return shaped or django_server_error(request)


def unavailable(request: HttpRequest, sentence: str = "") -> HttpResponse:
    """Status 503 in the format of the address. Uses neither database nor cache."""
    return refusal(
        request.path_info,
        status=503,
        code="unavailable",
        heading=_("The site is unavailable for a moment"),
        sentence=sentence or _of_database(request),
        retry_after=RETRY_AFTER,
        method=request.method,
    )


def _of_database(request: HttpRequest) -> str:
    if request.method not in ("GET", "HEAD", "OPTIONS"):
        return _(
            "The site's database is unavailable, so nothing was changed: try again in a few "
            "seconds; what was stored before is safe."
        )
    return _(
        "The site's database is unavailable; nothing is lost, and this works again as soon as "
        "it is back, usually within seconds."
    )


class Brief(logging.Filter):
    """Shortens what an outage or a scanner writes into the log for every request to single lines.

    Dropped are uses of Redis within seconds of its last failure.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.security."):
            record.exc_info = None  # a foreign Host, say: where Django noticed it says nothing
        error = record.exc_info[1] if record.exc_info else None
        arguments = record.args if isinstance(record.args, tuple) else ()
        if any(isinstance(each, CircuitOpen) for each in (error, *arguments)):
            return False
        if error is not None and any(_is_of_outage(each) for each in _chain(error)):
            # Celery's beat puts the stack into the message, too.
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            line = record.getMessage().splitlines()[0]
            record.msg = line if reason in line else f"{line} ({reason})"
            record.args = record.exc_info = record.exc_text = None
        return True


def _is_of_outage(error: BaseException) -> bool:
    return is_outage(error) or isinstance(error, RedisError | kombu.exceptions.OperationalError)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and its causes."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
