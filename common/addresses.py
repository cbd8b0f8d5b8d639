"""The network address behind a request, by which visitors and sign-in attempts are counted."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest


def address_of(request: HttpRequest) -> str:
    """The client's address; behind NUM_PROXIES proxies, the one that the first of them saw."""
    proxies: int = settings.REST_FRAMEWORK["NUM_PROXIES"] or 0
    forwarded = str(request.META.get("HTTP_X_FORWARDED_FOR", ""))
    direct = str(request.META.get("REMOTE_ADDR", ""))
    if not proxies or not forwarded:
        return direct
    addresses = [address.strip() for address in forwarded.split(",")]
    return addresses[-min(proxies, len(addresses))]


def network_of(address: str) -> str:
    """An IPv4 address, or the /64 network of an IPv6 address; without the port of some proxies."""
    host = address
    if address.startswith("["):
        host = address[1:].partition("]")[0]
    elif address.count(":") == 1:
        host = address.partition(":")[0]
    with suppress(ValueError):
        parsed = ip_address(host.partition("%")[0])
        if not isinstance(parsed, IPv6Address):
            return str(parsed)
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ip_network((parsed, 64), strict=False))
    return host
