"""Public and special IP addresses, from the IANA registries.

Python's ipaddress.is_global is not enough: it changed between Python releases, and it ignores IPv6
addresses that embed an IPv4 address.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

# IANA IPv4 and IPv6 Special-Purpose Address Registries, and two addresses of cloud providers.
_SPECIAL_V4 = {
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
}
_SPECIAL_V6 = {
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
_V4 = tuple((IPv4Network(net), reason) for net, reason in _SPECIAL_V4.items())
_V6 = tuple((IPv6Network(net), reason) for net, reason in _SPECIAL_V6.items())
_UNICAST = IPv6Network("2000::/3")
_TRANSLATED = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_NEVER_BY_NAME = (
    *(IPv4Network(net) for net in ("0.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16")),
    *(IPv4Network(net) for net in ("192.0.0.192/32", "100.100.100.200/32")),
    *(IPv4Network(net) for net in ("224.0.0.0/4", "240.0.0.0/4")),
)
_NEVER_BY_NAME_V6 = tuple(
    IPv6Network(net) for net in ("::/128", "fd00:ec2::254/128", "fe80::/10", "ff00::/8")
)


def inner(address: Address) -> Address:
    """The IPv4 address embedded in an IPv6 one (mapped, compatible, NAT64), else itself."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _TRANSLATED or (address in _COMPATIBLE and int(address) > 0xFFFF):
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def why_special(address: Address) -> str:
    """The reason why an address is not public, in a few words; empty for a public one."""
    address = inner(address)
    if isinstance(address, IPv4Address):
        return next((reason for net, reason in _V4 if address in net), "")
    reason = next((reason for net, reason in _V6 if address in net), "")
    return reason or ("" if address in _UNICAST else "reserved")


def is_beyond_names(address: Address) -> bool:
    """Whether no host name may resolve to it, even if allowed: metadata, multicast, unspecified."""
    address = inner(address)
    if isinstance(address, IPv4Address):
        return any(address in net for net in _NEVER_BY_NAME)
    return any(address in net for net in _NEVER_BY_NAME_V6)


def read_address(text: str) -> Address | None:
    """The address in `text`, without the zone of a link-local one; None if it is a name."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None
