"""The addresses that may be fetched: checks of the URL, host, port and resolved addresses."""

from __future__ import annotations

import logging
import re
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from queue import Empty, SimpleQueue
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import idna

from ingestion.errors import AddressRefused, FetchError, TooLong
from ingestion.intake.private_networks import (
    Address,
    inner,
    is_beyond_names,
    read_address,
    why_special,
)

logger = logging.getLogger(__name__)

SCHEMES = {"http": 80, "https": 443}
# The length of Document.source.
MAX_URL_CHARS = 1000

Resolver = Callable[[str, int], Sequence[str]]
"""(host, port) -> the host's addresses as strings; raises OSError."""

_UNWANTED = re.compile(r"[\x00-\x20\x7f\\]")
# Forms that some resolvers accept as IPv4 addresses: 2130706433, 0x7f.1, 0177.0.0.1, 127.1.
_NUMBER_FORM = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*", re.IGNORECASE)
_SAFE_IN_PATH = "/:@!$&'()*+,;=~%-._"
_SAFE_IN_QUERY = f"{_SAFE_IN_PATH}?[]"


@dataclass(frozen=True, slots=True)
class Target:
    """An address to fetch, in canonical form. `host` is ASCII."""

    scheme: str
    host: str
    port: int
    url: str

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A host (with its subdomains if it begins with a dot) or a network, and optionally a port."""

    host: str = ""
    network: IPv4Network | IPv6Network | None = None
    port: int | None = None

    def matches_host(self, host: str, port: int) -> bool:
        if not self.host or self.port not in (None, port):
            return False
        return host == self.host.lstrip(".") or (
            self.host.startswith(".") and host.endswith(self.host)
        )

    def matches_address(self, address: Address, port: int) -> bool:
        if self.network is None or self.port not in (None, port):
            return False
        return any(
            one.version == self.network.version and one in self.network
            for one in (address, inner(address))
        )


def read_rules(texts: Iterable[str]) -> tuple[Rule, ...]:
    """The rules in a setting's list. Raises ValueError with the invalid entry."""
    return tuple(_read_rule(text.strip()) for text in texts if text.strip())


def _read_rule(text: str) -> Rule:
    host, port = text, None
    if match := re.fullmatch(r"(\[[^\]]*\]|[^:]*):(\d{1,5})", text):
        host, port = match[1], int(match[2])
    host = host.strip("[]")
    try:
        return Rule(network=ip_network(host, strict=False), port=port)
    except ValueError:
        dot = "." if host.startswith(".") else ""
        try:
            name = _ascii_host(host.removeprefix("."))
        except AddressRefused as error:
            raise ValueError(f"“{text}” is neither a host nor a network.") from error
        if "/" in host or "*" in host:
            raise ValueError(f"“{text}” is neither a host nor a network.") from None
        return Rule(host=dot + name, port=port)


@dataclass(frozen=True, slots=True)
class Guard:
    """The hosts, ports and addresses that may be reached. `deny` takes precedence over `allow`.

    `allow` permits internal addresses, by host name or network; a rule with a port permits that
    port as well. A host name alone never permits link-local and metadata addresses. Refusals name
    the settings that an administrator can change.
    """

    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    ports: frozenset[int] = frozenset(SCHEMES.values())
    allow_setting: str = "URL_IMPORT_ALLOW"

    def check(self, target: Target) -> None:
        """Raise AddressRefused if the URL itself is not allowed, without resolving its host."""
        if any(rule.matches_host(target.host, target.port) for rule in self.deny):
            raise AddressRefused(f"The host {target.host} is on the deny list.")
        literal = read_address(target.host)
        if literal is not None:
            self.check_address(literal, target.host, target.port)
        elif not self._may_use_port(target.host, None, target.port):
            raise self._port_refused(target.port)

    def check_address(self, address: Address, host: str, port: int) -> None:
        """Raise AddressRefused unless a connection for `host` may go to `address`."""
        if any(rule.matches_address(address, port) for rule in self.deny):
            raise AddressRefused(f"{host} resolves to an address on the deny list.")
        if not self._may_use_port(host, address, port):
            raise self._port_refused(port)
        if any(rule.matches_address(address, port) for rule in self.allow):
            return
        reason = why_special(address)
        by_name = any(rule.matches_host(host, port) for rule in self.allow)
        if reason and (is_beyond_names(address) or not by_name):
            # The message omits the internal address, which the person may not be allowed to know.
            logger.warning("Refused to fetch from %s, which is at %s (%s)", host, address, reason)
            raise AddressRefused(
                f"{host} is an internal address, or resolves to one. Only public addresses are "
                f"allowed; an administrator can add others to {self.allow_setting}."
            )

    def _may_use_port(self, host: str, address: Address | None, port: int) -> bool:
        return port in self.ports or any(
            rule.port == port
            and (
                rule.matches_host(host, port)
                or (address is None and rule.network is not None)
                or (address is not None and rule.matches_address(address, port))
            )
            for rule in self.allow
        )

    def _port_refused(self, port: int) -> AddressRefused:
        allowed = ", ".join(map(str, sorted(self.ports)))
        return AddressRefused(
            f"Port {port} is not allowed, only {allowed}. An administrator can add the host with "
            f"this port to {self.allow_setting}."
        )


def read_target(url: str, base: str = "") -> Target:
    """The target of a URL, relative to `base`. Raises AddressRefused."""
    text = url.strip()
    try:
        joined = urljoin(base, text) if base else text
        parts = urlsplit(joined)
        port = parts.port
    except ValueError as error:
        raise AddressRefused(f"“{_clean(url)}” is not a web address.") from error
    if _UNWANTED.search(parts.netloc) or re.search(r"[\x00-\x1f\x7f]", text):
        raise AddressRefused(
            f"“{_clean(url)}” contains characters that are not allowed in a web address."
        )
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise AddressRefused(
            f"“{_clean(url)}” cannot be fetched. Enter an address that begins with https:// or "
            "http://."
        )
    if "@" in parts.netloc:
        raise AddressRefused(
            "Addresses with a user name or password are not allowed. Remove them from the address."
        )
    host = _ascii_host(parts.hostname)
    port = SCHEMES[parts.scheme] if port is None else port
    if port == 0:
        raise AddressRefused("Port 0 is not a valid port.")
    canonical = _canonical(parts.scheme, host, port, parts.path, parts.query)
    if len(canonical) > MAX_URL_CHARS:
        raise AddressRefused(f"The address is longer than {MAX_URL_CHARS} characters.")
    return Target(parts.scheme, host, port, canonical)


def _canonical(scheme: str, host: str, port: int, path: str, query: str) -> str:
    literal = f"[{host}]" if ":" in host else host
    netloc = literal if port == SCHEMES[scheme] else f"{literal}:{port}"
    path = _without_dots(quote(path or "/", safe=_SAFE_IN_PATH))
    return urlunsplit((scheme, netloc, path, quote(query, safe=_SAFE_IN_QUERY), ""))


def _without_dots(path: str) -> str:
    """The path with "." and ".." segments resolved, never above the root."""
    result: list[str] = []
    segments = path.split("/")[1:]
    for place, segment in enumerate(segments):
        if segment not in (".", ".."):
            result.append(segment)
            continue
        if segment == ".." and result:
            result.pop()
        if place == len(segments) - 1:
            result.append("")
    return "/" + "/".join(result)


def _ascii_host(host: str) -> str:
    """The host in lower-case ASCII, an IP address in canonical form. Raises AddressRefused."""
    literal = read_address(host)
    if literal is not None and "%" not in host:
        return str(literal)
    try:
        name = idna.encode(host.rstrip("."), uts46=True).decode() if host else ""
    except idna.IDNAError:
        # Names with underscores violate the standard but are in use.
        name = host.rstrip(".").lower()
    literal = read_address(name)
    if literal is not None and "%" not in name:
        return str(literal)
    if _NUMBER_FORM.fullmatch(name) or not re.fullmatch(r"[a-z0-9_.-]+", name) or ".." in name:
        raise AddressRefused(
            f"“{_clean(host)}” is neither a host name nor an IP address in its usual form."
        )
    return name


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:120])


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses found by the system's resolver."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in addresses))


def checked_addresses(
    guard: Guard, resolver: Resolver, host: str, port: int, seconds: float
) -> list[Address]:
    """The addresses of `host`, all of which may be connected to.

    One refused address among them refuses them all, since it could be tried next. Raises
    AddressRefused, TooLong, FetchError.
    """
    literal = read_address(host)
    texts = [host] if literal is not None else _resolved(resolver, host, port, seconds)
    addresses = [address for text in texts if (address := read_address(text)) is not None]
    if not addresses:
        raise FetchError(f"The host {host} has no address. Check its spelling.")
    for address in addresses:
        guard.check_address(address, host, port)
    return addresses


def _resolved(resolver: Resolver, host: str, port: int, seconds: float) -> Sequence[str]:
    """The resolver's answer. Raises TooLong after `seconds`: the system's has no time-out."""
    answers: SimpleQueue[Sequence[str] | OSError | UnicodeError] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(resolver(host, port))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True, name="resolve").start()
    try:
        answer = answers.get(timeout=max(seconds, 0.01))
    except Empty:
        raise TooLong(
            f"The name of {host} could not be resolved in time. Try again later."
        ) from None
    if isinstance(answer, Exception):
        raise FetchError(f"The host {host} was not found. Check its spelling.") from answer
    return answer
