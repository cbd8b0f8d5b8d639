"""Fetching over real connections: what is followed, what is refused, and what it may cost."""

from __future__ import annotations

import gzip
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler

import pytest
import trustme

from ingestion.errors import AddressRefused, FetchError, RetryLater, TooLong
from ingestion.intake.url_fetching import Fetched, Policy, fetch
from ingestion.intake.url_guard import Guard, read_rules, read_target
from tests.support.local_site import Answer, Site, local_site, page, redirect


def fetched(url: str, policy: Policy) -> tuple[bytes, Fetched]:
    with fetch(read_target(url), policy) as answer:
        return answer.file.read(), answer


def test_page_is_fetched_with_its_headers(site: Site, open_policy: Policy) -> None:
    site.routes["/a?b=c"] = page("The long arm", ETag='"1"')
    body, answer = fetched(site.url("/a?b=c#part"), open_policy)
    assert b"The long arm" in body
    assert answer.url == site.url("/a?b=c")
    assert answer.headers["etag"] == '"1"'
    sent = site.asked[0][1]
    assert sent["host"] == f"127.0.0.1:{site.port}"
    assert sent["user-agent"] == "Steelyard"
    assert "cookie" not in sent


def test_without_the_list_nothing_internal_is_fetched(site: Site) -> None:
    site.routes["/"] = page("secret")
    for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
        guard = Guard(ports=frozenset({site.port}))
        with pytest.raises(AddressRefused, match="internal address"):
            fetched(site.url("/", host), Policy(guard=guard))
    assert site.asked == []


@pytest.mark.parametrize(
    "to",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://localhost/",
        "//10.0.0.1/",
        "file:///etc/passwd",
    ],
)
def test_redirect_to_a_refused_address_is_refused(site: Site, open_policy: Policy, to: str) -> None:
    site.routes["/"] = redirect(to)
    with pytest.raises(AddressRefused):
        fetched(site.url(), open_policy)


def test_number_of_redirects_is_limited(site: Site, open_policy: Policy) -> None:
    for number in range(5):
        site.routes[f"/{number}"] = redirect(f"/{number + 1}", (301, 302, 303, 307, 308)[number])
    site.routes["/5"] = page("there")
    body, answer = fetched(site.url("/0"), open_policy)
    assert b"there" in body
    assert answer.url == site.url("/5")
    site.routes["/5"] = redirect("/0")
    with pytest.raises(FetchError, match="more than 5 redirects"):
        fetched(site.url("/0"), open_policy)


def test_every_redirect_is_checked_by_the_caller(site: Site, open_policy: Policy) -> None:
    site.routes["/a"] = redirect("/b")
    site.routes["/b"] = page("there")
    seen: list[str] = []

    def admit(target: object) -> None:
        seen.append(target.url)  # type: ignore[attr-defined]
        if seen[-1].endswith("/b"):
            raise KeyError("b")

    with pytest.raises(KeyError), fetch(read_target(site.url("/a")), open_policy, admit=admit):
        pass
    assert seen == [site.url("/a"), site.url("/b")]
    assert site.paths == ["/a"]


def test_rebinding_name_is_resolved_once(site: Site) -> None:
    """The second answer of a rebinding name server is never asked for."""
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])
    asked: list[str] = []

    def rebinding(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return next(answers)

    site.routes["/"] = page("there")
    guard = Guard(allow=read_rules([f"rebind.example:{site.port}"]))
    policy = Policy(guard=guard, resolver=rebinding, seconds=5)
    body, _ = fetched(site.url("/", "rebind.example"), policy)
    assert b"there" in body
    assert asked == ["rebind.example"]
    assert site.asked[0][1]["host"] == f"rebind.example:{site.port}"
    with pytest.raises(AddressRefused, match="internal address"):
        fetched(site.url("/", "rebind.example"), policy)
    assert site.paths == ["/"]


def test_a_name_that_leads_inside_is_never_connected_to(site: Site) -> None:
    guard = Guard(ports=frozenset({site.port}))
    policy = Policy(guard=guard, resolver=lambda host, port: ["127.0.0.1"])
    with pytest.raises(AddressRefused, match="internal address"):
        fetched(site.url("/", "innocent.example"), policy)
    assert site.asked == []


def test_proxies_of_the_environment_are_not_used(
    site: Site, open_policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.routes["/"] = page("direct")
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert b"direct" in fetched(site.url(), open_policy)[0]


# --- size and time -----------------------------------------------------------------------------


def test_response_with_a_too_large_content_length_is_refused(
    site: Site, open_policy: Policy
) -> None:
    site.routes["/"] = Answer(b"x", headers={"Content-Length": "99999999"})
    with pytest.raises(TooLong, match="larger than 1 MB"):
        fetched(site.url(), replace(open_policy, size=2**20))


def test_endless_response_is_cut_off(site: Site, open_policy: Policy) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:
            handler.wfile.write(b"x" * 65536)

    site.routes["/"] = Answer(endless)
    with pytest.raises(TooLong, match="larger than 3 MB"):
        fetched(site.url(), replace(open_policy, size=3 * 2**20))


def test_server_is_asked_for_no_compression(site: Site, open_policy: Policy) -> None:
    """What it unpacks to could be a thousand times larger, and hardly any server ignores this."""
    site.routes["/"] = Answer(gzip.compress(b"long"), headers={"Content-Encoding": "gzip"})
    with pytest.raises(FetchError, match="“gzip”, although it was asked for none"):
        fetched(site.url(), open_policy)
    site.routes["/"] = Answer(b"The long arm", headers={"Content-Encoding": "identity"})
    assert fetched(site.url(), open_policy)[0] == b"The long arm"
    assert site.asked[-1][1]["accept-encoding"] == "identity"


def _drip(start: bytes, part: bytes) -> Answer:
    def body(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(start)
        while True:
            handler.wfile.write(part)
            time.sleep(0.02)

    return Answer(body)


@pytest.mark.parametrize(
    ("start", "part"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"a"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"a"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", b"a"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["headers", "body", "body-without-length", "chunks", "continue"],
)
def test_slow_response_is_cut_off_at_the_deadline(
    site: Site, open_policy: Policy, start: bytes, part: bytes
) -> None:
    """Each single read is quick; all together would never end."""
    site.routes["/"] = _drip(start, part)
    with pytest.raises(TooLong, match=r"longer than 0\.2 seconds"):
        fetched(site.url(), replace(open_policy, seconds=0.2))


def test_a_page_cut_at_the_deadline_is_not_whole(site: Site, open_policy: Policy) -> None:
    """Without a stated length, a body whose connection was shut down looks like one that ended."""

    def half(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nThe first half")
        handler.wfile.flush()
        time.sleep(0.4)

    site.routes["/"] = Answer(half)
    with pytest.raises(TooLong, match=r"longer than 0\.2 seconds"):
        fetched(site.url(), replace(open_policy, seconds=0.2))


def test_silent_server_times_out(open_policy: Policy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        guard = Guard(allow=read_rules([f"127.0.0.1:{port}"]))
        for scheme in ("http", "https"):
            with pytest.raises(TooLong):
                fetched(f"{scheme}://127.0.0.1:{port}/", Policy(guard=guard, seconds=0.15))


def test_closed_connection_is_an_error(site: Site, open_policy: Policy) -> None:
    site.routes["/"] = Answer(lambda handler: handler.connection.close())
    with pytest.raises(FetchError, match="cannot be reached, or closed"):
        fetched(site.url(), open_policy)


def test_endless_headers_are_an_error(site: Site, open_policy: Policy) -> None:
    def many(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            handler.wfile.write(b"X-%d: y\r\n" % time.monotonic_ns() * 100)

    site.routes["/"] = Answer(many)
    with pytest.raises(FetchError):
        fetched(site.url(), open_policy)


# --- statuses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "message"),
    [(404, "nothing at this address"), (403, "refuses to show"), (418, "status 418"), (204, "204")],
)
def test_error_statuses_are_explained(
    site: Site, open_policy: Policy, status: int, message: str
) -> None:
    site.routes["/"] = Answer(status=status)
    with pytest.raises(FetchError, match=message):
        fetched(site.url(), open_policy)


@pytest.mark.parametrize(
    ("status", "after", "seconds"),
    [
        (429, "7", 7.0),
        (503, "999999", 3600.0),
        (503, "Wed, 21 Oct 2015 07:28:00 GMT", 1.0),
        (429, "soon", 30.0),
        (500, "", 30.0),
    ],
)
def test_retry_after_delays_the_next_attempt(
    site: Site, open_policy: Policy, status: int, after: str, seconds: float
) -> None:
    site.routes["/"] = Answer(status=status, headers={"Retry-After": after} if after else {})
    with pytest.raises(RetryLater) as caught:
        fetched(site.url(), open_policy)
    assert caught.value.seconds == seconds


# --- TLS ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def secure_site(authority: trustme.CA) -> Iterator[Site]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("secure.example").configure_cert(context)
    with local_site(context) as running:
        running.routes["/"] = page("over TLS")
        yield running


def _policy(site: Site, authority: trustme.CA | None, host: str) -> Policy:
    tls = ssl.create_default_context()
    if authority is not None:
        authority.configure_trust(tls)
    return Policy(
        guard=Guard(allow=read_rules([f"{host}:{site.port}"])),
        resolver=lambda host, port: ["127.0.0.1"],
        seconds=5,
        tls=tls,
    )


def test_certificate_is_checked_for_the_name(secure_site: Site, authority: trustme.CA) -> None:
    """The connection goes to a checked address; the name in the handshake stays the host's."""
    policy = _policy(secure_site, authority, "secure.example")
    assert b"over TLS" in fetched(secure_site.url("/", "secure.example"), policy)[0]


def test_invalid_certificates_are_refused(secure_site: Site, authority: trustme.CA) -> None:
    other = _policy(secure_site, authority, "other.example")
    with pytest.raises(FetchError, match=r"certificate of other\.example is not valid"):
        fetched(secure_site.url("/", "other.example"), other)
    unknown = _policy(secure_site, None, "secure.example")
    with pytest.raises(FetchError, match=r"certificate of secure\.example is not valid"):
        fetched(secure_site.url("/", "secure.example"), unknown)
    assert secure_site.asked == []
