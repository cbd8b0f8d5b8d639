"""One address -> its bytes in a file, with what its server said of them."""

from __future__ import annotations

import hashlib
import ssl
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO

import httpcore2

from common.backoff import retry_after
from ingestion.intake.fetching.connecting import Deadline, pool
from ingestion.intake.fetching.errors import FetchError, PauseWanted, TooLong
from ingestion.intake.fetching.guard import Guard, Resolver, Target, read_target, resolve
from ingestion.intake.fetching.inflating import MIB, counted, inflated

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_IN_MEMORY = 4 * MIB
_ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})
# What a server that fails is given before it is asked again; a longer wish of its own counts.
_PAUSE_SECONDS, _LONGEST_PAUSE = 30.0, 3600.0


@dataclass(frozen=True, slots=True)
class Policy:
    """How anything is fetched. `seconds` and `size` (bytes, unpacked) hold for all redirects."""

    guard: Guard = field(default_factory=Guard)
    seconds: float = 60
    size: int = 50 * MIB
    redirects: int = 5
    agent: str = "Steelyard"
    resolver: Resolver = resolve
    tls: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer. `url` is where the redirects ended; `headers` by lower-case name.

    Where `unchanged`, the server still has what we fetched before, and `file` is empty.
    """

    url: str
    file: IO[bytes]
    sha256: str
    headers: Mapping[str, str]
    unchanged: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """What was fetched from an address before, as its server named that state."""

    etag: str = ""
    last_modified: str = ""

    def headers(self) -> Iterator[tuple[str, str]]:
        if self.etag:
            yield "If-None-Match", self.etag
        if self.last_modified:
            yield "If-Modified-Since", self.last_modified


Admit = Callable[[Target], None]
"""Raises what it likes for a target that must not be asked; sees every redirect."""


@contextmanager
def fetch(
    target: Target,
    policy: Policy,
    *,
    known: Known | None = None,
    admit: Admit = lambda target: None,
) -> Iterator[Fetched]:
    """The answer at the end of the redirects; its file is gone after the block. Raises FetchError.

    Every target on the way is checked as the first one was, and what it leads to is connected to
    only after that.
    """
    with (
        tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, prefix="steelyard-fetch-") as file,
        Deadline(policy.seconds) as deadline,
    ):
        for _ in range(policy.redirects + 1):
            policy.guard.check(target)
            admit(target)
            answer = _ask(target, policy, deadline, known or Known(), file)
            if isinstance(answer, Fetched):
                yield answer
                return
            target = answer
        raise FetchError(
            f"The address leads on and on: more than {policy.redirects} redirects. Name the "
            "address of the page itself."
        )


def _ask(
    target: Target, policy: Policy, deadline: Deadline, known: Known, file: IO[bytes]
) -> Fetched | Target:
    """The answer, its bytes in `file`; or the target that it sends us to."""
    headers = [
        ("User-Agent", policy.agent),
        ("Accept", "*/*"),
        ("Accept-Encoding", "gzip, deflate"),
        ("Connection", "close"),
        *known.headers(),
    ]
    wait = max(deadline.left, 0.01)
    patience = {"connect": wait, "read": wait, "write": wait, "pool": wait}
    try:
        with (
            pool(policy.guard, policy.resolver, deadline, policy.tls) as connections,
            connections.stream(
                "GET", target.url, headers=headers, extensions={"timeout": patience}
            ) as response,
        ):
            return _read(response, target, policy, deadline, file)
    except (
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        ssl.SSLError,
    ) as error:
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
    if response.status == 304:
        return Fetched(target.url, file, "", headers, unchanged=True)
    _refuse_status(response.status, headers, target)
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > policy.size:
        next(counted([b" " * (policy.size + 1)], policy.size), None)
    digest = hashlib.sha256()
    for part in _plain_bytes(response.iter_stream(), headers, policy.size):
        if deadline.left <= 0:
            raise _too_slow(policy)
        digest.update(part)
        file.write(part)
    file.seek(0)
    return Fetched(target.url, file, digest.hexdigest(), headers)


def _plain_bytes(parts: Iterable[bytes], headers: Mapping[str, str], limit: int) -> Iterator[bytes]:
    """The body without its content encodings; every layer of it is counted."""
    names = [name.strip().lower() for name in headers.get("content-encoding", "").split(",")]
    encodings = [name for name in names if name not in ("", "identity")]
    if len(encodings) > 2 or not _ENCODINGS.issuperset(encodings):
        raise FetchError(
            f"The server packs its answer as “{', '.join(encodings)[:60]}”, which was not asked "
            "for. Download the page and upload it as a file."
        )
    plain = counted(parts, limit)
    for _ in encodings:
        plain = counted(inflated(plain), limit)
    yield from plain


def _refuse_status(status: int, headers: Mapping[str, str], target: Target) -> None:
    if status in (200, 203):
        return
    if status in (429, 503):
        asked = retry_after(headers.get("retry-after"))
        seconds = min(max(_PAUSE_SECONDS if asked is None else asked, 1.0), _LONGEST_PAUSE)
        raise PauseWanted(f"{target.host} asks for a pause ({status}).", seconds)
    if status >= 500:
        raise PauseWanted(f"{target.host} failed to answer ({status}).", _PAUSE_SECONDS)
    if status in (401, 402, 403, 407, 451):
        raise FetchError(
            f"{target.host} does not show this page to everyone ({status}). Download it and "
            "upload it as a file."
        )
    if status in (404, 410):
        raise FetchError(f"There is nothing at this address ({status}). Check its spelling.")
    raise FetchError(f"{target.host} answered with status {status}, which is no page.")


def _failure(target: Target, policy: Policy, deadline: Deadline, error: Exception) -> FetchError:
    if deadline.left <= 0 or isinstance(error, httpcore2.TimeoutException):
        return _too_slow(policy)
    # The library passes on what it caught as the argument of its own.
    cause = next(iter(error.args), None)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return FetchError(
            f"The certificate of {target.host} is not valid ({cause.verify_message}). Tell its "
            "owner, or name the authority in SSL_CERT_FILE."
        )
    return FetchError(f"{target.host} cannot be reached, or broke off. Try again later.")


def _too_slow(policy: Policy) -> TooLong:
    return TooLong(
        f"The answer took longer than {policy.seconds:g} seconds. Try again later, or ask an "
        "administrator to raise URL_IMPORT_SECONDS."
    )
