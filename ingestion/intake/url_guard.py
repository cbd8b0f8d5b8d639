"""The addresses that may be fetched: checks of the URL, host, port and resolved addresses."""

from __future__ import annotations

import logging
import re
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from queue import Empty, SimpleQueue
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import idna

from ingestion.errors import AddressRefused, FetchError, TooLong

# Python's ipaddress.is_global is not enough: it changed between Python releases, and it ignores
# IPv6 addresses that embed an IPv4 address.
Address = IPv4Address | IPv6Address

# IANA IPv4 and IPv6 Special-Purpose Address Registries, and two addresses of cloud providers.
_SPECIAL = {
    "0.0.0.0/8": "not a host address",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "shared by customers of a provider",
    "127.0.0.0/8": "this machine",
    "168.63.129.16/32": "internal to a cloud provider",
    "169.254.0.0/16": "link-local, with cloud metadata",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "reserved",
    "192.0.2.0/24": "reserved for documentation",
    "192.88.99.0/24": "6to4 relay",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "reserved for benchmarks",
    "198.51.100.0/24": "reserved for documentation",
    "203.0.113.0/24": "reserved for documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
    "::/128": "not a host address",
    "::1/128": "this machine",
    "64:ff9b:1::/48": "translated within one network",
    "fc00::/7": "private",
    "fe80::/10": "link-local",
    "fec0::/10": "private",
    "ff00::/8": "multicast",
    "2001::/32": "Teredo tunnel",
    "2001::/23": "reserved",
    "2001:db8::/32": "reserved for documentation",
    "2002::/16": "6to4 tunnel",
    "3fff::/20": "reserved for documentation",
}
_NETWORKS = tuple((ip_network(net), reason) for net, reason in _SPECIAL.items())
_UNICAST = IPv6Network("2000::/3")
_TRANSLATED = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_NEVER_BY_NAME = tuple(
    ip_network(net)
    for net in (
        "0.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "192.0.0.192/32",
        "100.100.100.200/32", "224.0.0.0/4", "240.0.0.0/4",
        "::/128", "fd00:ec2::254/128", "fe80::/10", "ff00::/8",
    )
)  # fmt: skip


def _inner(address: Address) -> Address:
    """The IPv4 address embedded in an IPv6 one (mapped, compatible, NAT64), else itself."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _TRANSLATED or (address in _COMPATIBLE and int(address) > 0xFFFF):
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def why_special(address: Address) -> str:
    """The reason why an address is not public, in a few words; empty for a public one."""
    address = _inner(address)
    reason = next((reason for net, reason in _NETWORKS if address in net), "")
    is_assigned = isinstance(address, IPv4Address) or address in _UNICAST
    return reason or ("" if is_assigned else "reserved")


def _is_beyond_names(address: Address) -> bool:
    """Whether no host name may resolve to it, even if allowed: metadata, multicast, unspecified."""
    inner = _inner(address)
    return any(inner in net for net in _NEVER_BY_NAME)


def _read_address(text: str) -> Address | None:
    """The address in `text`, without the zone of a link-local one; None if it is a name."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


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
        return any(one in self.network for one in (address, _inner(address)))


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
        is_loopback = f".{target.host}".endswith(".localhost")  # RFC 6761
        literal = IPv4Address("127.0.0.1") if is_loopback else _read_address(target.host)
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
        if reason and (_is_beyond_names(address) or not by_name):
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
    literal = _read_address(host)
    if literal is not None and "%" not in host:
        return str(literal)
    try:
        name = idna.encode(host.rstrip("."), uts46=True).decode() if host else ""
    except idna.IDNAError:
        # Names with underscores violate the standard but are in use.
        name = host.rstrip(".").lower()
    literal = _read_address(name)
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
    literal = _read_address(host)
    texts = [host] if literal is not None else _resolved(resolver, host, port, seconds)
    addresses = [address for text in texts if (address := _read_address(text)) is not None]
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
