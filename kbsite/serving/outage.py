"""The site during an outage of its database, of Redis or of the originals.

The first request that meets an outage of the database waits for a connection; those after it are
refused without waiting, until a thread that keeps trying has been connected again.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator

import kombu.exceptions
import psycopg
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.defaults import server_error as django_server_error
from redis.exceptions import RedisError

from common.circuit_breaker import CircuitOpen
from ingestion.errors import StorageUnavailable
from kbsite.operations import endpoints
from kbsite.serving.refusals import as_json, refusal

logger = logging.getLogger(__name__)

RETRY_AFTER = 5  # seconds; a supervisor needs about three to start a dead server again
PROBE_PAUSE = 0.5
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


class Outage:
    """This process's state of a database outage: refuses requests until a connection succeeds."""

    def __init__(self, answers: Callable[[], bool]) -> None:
        self._answers = answers
        self._is_on = threading.Event()
        self._beginning = threading.Lock()

    @property
    def is_on(self) -> bool:
        return self._is_on.is_set()

    def begin(self) -> None:
        """Refuse requests until the database answers; nothing if they are refused already."""
        with self._beginning:
            if self.is_on:
                return
            self._is_on.set()
        threading.Thread(target=self._probe, name="outage", daemon=True).start()

    def _probe(self) -> None:
        logger.warning("The database is unavailable: requests get status 503 until it answers")
        began = time.monotonic()
        try:
            while not self._answers():
                time.sleep(PROBE_PAUSE)
        finally:
            self._is_on.clear()
        logger.warning("The database answers again, after %.0f s", time.monotonic() - began)


database_outage = Outage(endpoints.database_answers)


def refuse_during_outage(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Answer 503 at once while the database is known to be unavailable."""

    def middleware(request: HttpRequest) -> HttpResponse:
        return unavailable(request) if database_outage.is_on else get_response(request)

    return middleware


def server_error(request: HttpRequest) -> HttpResponse:
    """The response to an exception that no view handled: 503 for an outage, otherwise 500."""
    error = sys.exc_info()[1]
    if is_outage(error):
        database_outage.begin()
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

    Dropped are refused requests, and uses of Redis within seconds of its last failure.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if database_outage.is_on and getattr(record, "status_code", 0) == 503:
            return False
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
