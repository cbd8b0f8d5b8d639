"""Documents from web addresses, restricted to addresses that anyone on the internet could fetch.

url_guard -> which addresses may be connected to; read first
url_transport   -> connections to checked addresses, a deadline
here            -> one address, its redirects followed, into a file
site_crawling   -> a site's robots.txt and sitemaps, the links of its pages
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO

import httpcore2

from common.retries import retry_after
from ingestion.errors import FetchError, RetryLater, TooLong
from ingestion.intake.url_guard import Guard, Resolver, Target, read_target, resolve
from ingestion.intake.url_transport import FAILURES, MIB, Deadline, counted, pool

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_IN_MEMORY = 4 * MIB
# Wait before retrying a failing server, unless it asks for longer; and the longest wait.
_PAUSE_SECONDS, _LONGEST_PAUSE = 30.0, 3600.0


@dataclass(frozen=True, slots=True)
class Policy:
    """How to fetch. `seconds` and `size` (bytes) apply to all redirects together."""

    guard: Guard = field(default_factory=Guard)
    seconds: float = 60
    size: int = 50 * MIB
    redirects: int = 5
    agent: str = "Steelyard"
    resolver: Resolver = resolve
    tls: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response. `url` is the end of the redirects; `headers` by lower-case name."""

    url: str
    file: IO[bytes]
    headers: Mapping[str, str]


Admit = Callable[[Target], None]
"""A callback for every target, including redirects; raises to refuse one."""


@contextmanager
def fetch(
    target: Target, policy: Policy, *, admit: Admit = lambda target: None
) -> Iterator[Fetched]:
    """The response at the end of the redirects; its file is deleted after the block.

    Every redirect target is checked like the first one before connecting to it. Raises FetchError.
    """
    with (
        tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, prefix="steelyard-fetch-") as file,
        Deadline(policy.seconds) as deadline,
    ):
        for _ in range(policy.redirects + 1):
            policy.guard.check(target)
            admit(target)
            answer = _ask(target, policy, deadline, file)
            if isinstance(answer, Fetched):
                yield answer
                return
            target = answer
        raise FetchError(
            f"The address leads to more than {policy.redirects} redirects. Enter the address of "
            "the page itself."
        )


def _ask(target: Target, policy: Policy, deadline: Deadline, file: IO[bytes]) -> Fetched | Target:
    """The response, with its bytes in `file`; or the target of its redirect."""
    headers = [
        ("User-Agent", policy.agent),
        ("Accept", "*/*"),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
    ]
    wait = max(deadline.left, 0.01)
    timeout = {"connect": wait, "read": wait, "write": wait, "pool": wait}
    try:
        with (
            pool(policy.guard, policy.resolver, deadline, policy.tls) as connections,
            connections.stream(
                "GET", target.url, headers=headers, extensions={"timeout": timeout}
            ) as response,
        ):
            return _read(response, target, policy, deadline, file)
    except FAILURES as error:
        raise _failure(target, policy, deadline, error) from error


def _read(
    response: httpcore2.Response,
    target: Target,
    policy: Policy,
    deadline: Deadline,
    file: IO[bytes],
) -> Fetched | Target:
    headers = {
        name.decode("ascii", "replace").lower(): value.decode("latin-1")
        for name, value in response.headers
    }
    if response.status in _REDIRECTS and headers.get("location"):
        location = headers["location"].encode("latin-1").decode("utf-8", "replace")
        return read_target(location, target.url)
    _refuse_status(response.status, headers, target)
    length = headers.get("content-length", "")
    stated = int(length) if length.isdecimal() else 0
    encoding = headers.get("content-encoding", "identity")
    if encoding.lower() not in ("", "identity"):
        raise FetchError(
            f"The server uses the content encoding “{encoding[:60]}”, although it was asked for "
            "none. Download the page and upload it as a file."
        )
    for part in counted(response.iter_stream(), policy.size, stated=stated):
        if deadline.left <= 0:
            raise _too_slow(policy)
        file.write(part)
    # Without a stated length, a body that the deadline cut looks like one that ended.
    if deadline.left <= 0:
        raise _too_slow(policy)
    file.seek(0)
    return Fetched(target.url, file, headers)


def _refuse_status(status: int, headers: Mapping[str, str], target: Target) -> None:
    if status in (200, 203):
        return
    if status in (429, 503):
        wait = retry_after(headers.get("retry-after"))
        seconds = min(max(_PAUSE_SECONDS if wait is None else wait, 1.0), _LONGEST_PAUSE)
        raise RetryLater(f"{target.host} asks to retry later ({status}).", seconds)
    if status >= 500:
        raise RetryLater(f"{target.host} failed with a server error ({status}).", _PAUSE_SECONDS)
    if status in (401, 402, 403, 407, 451):
        raise FetchError(
            f"{target.host} refuses to show this page without a sign-in ({status}). "
            "Download it and upload it as a file."
        )
    if status in (404, 410):
        raise FetchError(f"There is nothing at this address ({status}). Check its spelling.")
    raise FetchError(f"{target.host} answered with status {status} and no page.")


def _failure(target: Target, policy: Policy, deadline: Deadline, error: Exception) -> FetchError:
    if deadline.left <= 0 or isinstance(error, httpcore2.TimeoutException):
        return _too_slow(policy)
    # The library wraps the original error as its argument.
    cause = next(iter(error.args), None)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return FetchError(
            f"The certificate of {target.host} is not valid ({cause.verify_message}). Tell its "
            "owner, or add the certificate authority to SSL_CERT_FILE."
        )
    return FetchError(
        f"{target.host} cannot be reached, or closed the connection. Try again later."
    )


def _too_slow(policy: Policy) -> TooLong:
    return TooLong(
        f"The response took longer than {policy.seconds:g} seconds. Try again later, or download "
        "it and upload it as a file."
    )
