"""A local web site for tests of fetching: pages, and any other behaviour of a server."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """A response of the site; `body` may be a function that writes to the connection itself."""

    body: bytes | Callable[[BaseHTTPRequestHandler], None] = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def page(body: str, **headers: str) -> Answer:
    """An HTML page; `headers` with underscores for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    text = f"<!doctype html><html><head><title>Page</title></head><body>{body}</body></html>"
    return Answer(text.encode(), headers={"Content-Type": "text/html", **named})


def redirect(to: str, status: int = 302) -> Answer:
    return Answer(status=status, headers={"Location": to})


Route = Answer | Callable[[Mapping[str, str]], Answer]


class Site:
    """The running site: its routes may change, and every request is recorded, with its body."""

    def __init__(self, port: int, scheme: str) -> None:
        self.routes: dict[str, Route] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.bodies: list[bytes] = []
        self.port = port
        self._scheme = scheme

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self._scheme}://{host}:{self.port}{path}"

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    def answer(self, path: str, headers: dict[str, str]) -> Answer:
        self.asked.append((path, headers))
        route = self.routes.get(path, Answer(b"nothing", 404))
        return route if isinstance(route, Answer) else route(headers)


@contextmanager
def local_site(tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> Iterator[Site]:
    """Run a site on a free port of this machine until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = site.answer(self.path, headers)
            if callable(response.body):
                response.body(self)
                return
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            if "Content-Length" not in response.headers:
                self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        def do_POST(self) -> None:
            site.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.do_GET()

        def log_message(self, *arguments: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *arguments: object) -> None:
            """Ignore clients that disconnect early: several tests do so on purpose."""

    with Server((host, 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        site = Site(server.server_address[1], "https" if tls else "http")
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
