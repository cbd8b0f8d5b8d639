"""Which addresses may be fetched, in all the ways that they can be written."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.errors import AddressRefused, FetchError, TooLong
from ingestion.intake.url_guard import (
    Guard,
    Resolver,
    checked_addresses,
    read_rules,
    read_target,
    why_special,
)

PUBLIC = "93.184.216.34"


def resolver(*addresses: str) -> Resolver:
    """A name server that knows one answer."""
    return lambda host, port: list(addresses)


def reached(url: str, guard: Guard, *addresses: str) -> list[str]:
    """Where a connection for `url` would go, given what the name server says."""
    target = read_target(url)
    guard.check(target)
    found = checked_addresses(guard, resolver(*addresses), target.host, target.port, 1)
    return [str(address) for address in found]


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255"),
        *("192.168.1.1", "169.254.169.254", "169.254.0.1", "100.64.0.1", "100.100.100.200"),
        *("192.0.0.192", "168.63.129.16", "224.0.0.1", "239.1.1.1", "240.0.0.1", "198.18.0.1"),
        *("255.255.255.255", "192.0.2.1", "198.51.100.1", "203.0.113.1", "192.88.99.1"),
        *("::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1"),
        *("::127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1"),
        *("2002:7f00:1::", "2002:c0a8:101::1", "2001:0:1:2::3", "fe80::1", "fe80::1%eth0"),
        *("fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1", "3fff::1", "4000::1"),
        *("100::1", "2001:10::1", "5f00::1", "::ffff:0:127.0.0.1"),
    ],
)
def test_internal_addresses_are_refused(address: str) -> None:
    with pytest.raises(AddressRefused, match=r"internal address"):
        reached("https://example.org/", Guard(), address)


@pytest.mark.parametrize(
    "address", [PUBLIC, "8.8.8.8", "172.32.0.1", "2606:4700::1111", "64:ff9b::8.8.8.8"]
)
def test_public_addresses_are_allowed(address: str) -> None:
    assert reached("https://example.org/", Guard(), address) == [str(ip_address(address))]


def test_one_bad_address_among_good_ones_refuses_all() -> None:
    with pytest.raises(AddressRefused, match="internal address"):
        reached("https://example.org/", Guard(), PUBLIC, "10.0.0.1")


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/", "http://docs.localhost/",
        "http://127.0.0.1/", "http://[::1]/", "http://[::ffff:7f00:1]/", "http://[fe80::1%25eth0]/",
        "http://2130706433/", "http://0x7f000001/", "http://0x7f.1/", "http://0177.0.0.1/",
        "http://127.1/", "http://127.0.0.1./", "http://1.1/", "http://１２７.０.０.１/",
        "http://127。0。0。1/", "http://①②⑦.0.0.1/", "http://999.1.1.1/", "http://user@example.org/",
        "http://user:secret@example.org/", "http://example.org@127.0.0.1/",
        "http://127.0.0.1\\@example.org/", "http://example.org\t/", "http://exa mple.org/",
        "http://example.org%2eevil/", "http://exam\u0000ple.org/", "http://example..org/",
        "http:///path", "http://", "//example.org/", "example.org", "ftp://example.org/",
        "file:///etc/passwd", "gopher://example.org/", "javascript:alert(1)",
        "data:text/html,hello", "http://example.org:22/", "http://example.org:99999/",
        "http://example.org:0/", "http://example.org:x/", "http://[::1/",
        "http://example.org/" + "a" * 1_100,
    ],
    ids=lambda url: ascii(url)[:40],
)  # fmt: skip
def test_invalid_address_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(AddressRefused) as caught:
        reached(url, Guard(), PUBLIC)
    assert str(caught.value).endswith(".")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("HTTPS://Example.ORG", "https://example.org/"),
        ("https://example.org:443/a#part", "https://example.org/a"),
        ("http://example.org:443/", "http://example.org:443/"),
        (" https://example.org/a b ", "https://example.org/a%20b"),
        ("https://example.org./", "https://example.org/"),
        ("https://example.org/a/../b/./c", "https://example.org/b/c"),
        ("https://example.org/../..//a", "https://example.org//a"),
        ("https://example.org/a/..", "https://example.org/"),
        ("https://münchen.example/straße", "https://xn--mnchen-3ya.example/stra%C3%9Fe"),
        ("https://example.org?q=é&x=%41", "https://example.org/?q=%C3%A9&x=%41"),
        ("https://[2606:4700:0::1111]:443/", "https://[2606:4700::1111]/"),
        ("https://my_host.example/", "https://my_host.example/"),
    ],
)
def test_each_address_has_one_canonical_form(written: str, canonical: str) -> None:
    target = read_target(written)
    assert target.url == canonical
    assert read_target(target.url) == target


def test_links_are_resolved_against_their_page() -> None:
    base = "https://example.org/docs/a.html"
    assert read_target("../b?x#y", base).url == "https://example.org/b?x"
    assert read_target("//other.example/c", base).url == "https://other.example/c"
    assert read_target("?page=2", base).url == "https://example.org/docs/a.html?page=2"


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"https://example.org/{text}", f"http://{text}/a:b@c"):
        try:
            target = read_target(url)
        except AddressRefused:
            continue
        assert target.scheme in ("http", "https")
        assert target.url.isascii()
        assert target.url.isprintable()
        assert read_target(target.url) == target


@given(st.ip_addresses())
def test_an_address_is_public_only_where_python_agrees(address: object) -> None:
    """Ours is the stricter list; IPv4 within IPv6 is judged by what is inside."""
    one = ip_address(str(address))
    if one.version == 4 and not why_special(one):
        assert one.is_global


# --- lists -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allow", "url", "address"),
    [
        ("127.0.0.0/8", "http://127.0.0.1/", ""),
        ("127.0.0.1:8000", "http://127.0.0.1:8000/", ""),
        ("[::1]:8000", "http://[::1]:8000/", ""),
        ("10.0.0.0/8", "http://wiki.example/", "10.1.2.3"),
        ("10.0.0.0/8", "http://wiki.example/", "::ffff:10.1.2.3"),
        ("wiki.example", "http://wiki.example/", "10.1.2.3"),
        (".example", "http://a.wiki.example/", "192.168.0.1"),
        (".example", "http://example/", "192.168.0.1"),
        ("wiki.example:8443", "https://wiki.example:8443/", "10.1.2.3"),
        ("169.254.169.254", "http://169.254.169.254/", ""),
    ],
)
def test_allowed_internal_address_is_reached(allow: str, url: str, address: str) -> None:
    with pytest.raises(AddressRefused):
        reached(url, Guard(), address)
    assert reached(url, Guard(allow=read_rules([allow])), address)


@pytest.mark.parametrize(
    ("allow", "url", "address"),
    [
        # By its name a host may be internal, but never a cloud's metadata.
        ("wiki.example", "http://wiki.example/", "169.254.169.254"),
        ("wiki.example", "http://wiki.example/", "fd00:ec2::254"),
        ("wiki.example", "http://wiki.example/", "224.0.0.1"),
        ("wiki.example", "http://notwiki.example/", "10.1.2.3"),
        (".wiki.example", "http://notwiki.example/", "10.1.2.3"),
        ("wiki.example:8443", "https://wiki.example/", "10.1.2.3"),
        ("127.0.0.1:8000", "http://127.0.0.1:8001/", ""),
        ("10.0.0.0/8", "http://wiki.example/", "192.168.0.1"),
        ("10.0.0.0/8:8000", "http://wiki.example:8000/", PUBLIC),
    ],
)
def test_rule_does_not_allow_other_addresses(allow: str, url: str, address: str) -> None:
    with pytest.raises(AddressRefused):
        reached(url, Guard(allow=read_rules([allow])), address)


def test_deny_rule_wins_over_allow_rule() -> None:
    by_host = Guard(allow=read_rules([".example"]), deny=read_rules(["secret.example"]))
    assert reached("http://open.example/", by_host, "10.0.0.1")
    with pytest.raises(AddressRefused, match="deny list"):
        reached("http://secret.example/", by_host, "10.0.0.1")
    by_network = Guard(allow=read_rules(["10.0.0.0/8"]), deny=read_rules(["10.1.0.0/16"]))
    with pytest.raises(AddressRefused, match="deny list"):
        reached("http://a.example/", by_network, "10.1.0.1")


@pytest.mark.parametrize("text", ["exa mple", "*.example.org", "10.0.0.0/33", "a/b", "http://x/"])
def test_invalid_rules_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither a host nor a network"):
        read_rules([text])


# --- name servers ------------------------------------------------------------------------------


def test_silent_name_server_times_out() -> None:
    is_over = threading.Event()

    def slow(host: str, port: int) -> Sequence[str]:
        is_over.wait(60)
        return [PUBLIC]

    with pytest.raises(TooLong, match="could not be resolved"):
        checked_addresses(Guard(), slow, "example.org", 443, 0.1)
    is_over.set()


def test_unknown_name_is_an_error() -> None:
    def unknown(host: str, port: int) -> Sequence[str]:
        raise OSError

    with pytest.raises(FetchError, match="was not found"):
        checked_addresses(Guard(), unknown, "example.org", 443, 1)
    with pytest.raises(FetchError, match="no address"):
        checked_addresses(Guard(), resolver(), "example.org", 443, 1)
