"""An OpenID Connect provider over real HTTP: discovery, keys, code flow with PKCE, refresh."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from tests.support.oidc_dialects import HOUSE, Dialect

CLIENT, SECRET = "steelyard-client", "a-secret-of-the-client"


class OidcProvider:
    """The provider on a free port while the context is open.

    `person` is whoever sits at its sign-in page. `changes` spoil the ID token; with `forged` it is
    signed by another key under the right name. `refusing` ends all refresh tokens.
    """

    def __init__(self, dialect: Dialect = HOUSE, **person: Any) -> None:
        self.dialect = dialect
        self.person: dict[str, Any] = {"sub": "1001", "preferred_username": "ann", **person}
        self.changes: dict[str, Any] = {}
        self.userinfo_changes: dict[str, Any] = {}
        self.forged = self.refusing = self.is_down = False
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.codes: dict[str, dict[str, str]] = {}
        self.refresh_tokens: set[str] = set()
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def issuer(self) -> str:
        return self.base + self.dialect.issuer

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)

    # --- the endpoints ---

    def answer(self, method: str, path: str, given: dict[str, str], bearer: str) -> Any:
        """The status and the body, or the address of a redirect, for a request."""
        self.asked.append((path, given))
        if self.is_down:
            return 503, {}
        ways = self.dialect
        if path == f"{ways.server}/.well-known/openid-configuration":
            return 200, {
                "issuer": self.issuer,
                "authorization_endpoint": self.base + ways.authorize,
                "token_endpoint": self.base + ways.token,
                "userinfo_endpoint": self.base + ways.userinfo,
                "jwks_uri": self.base + ways.keys,
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            }
        if path == ways.keys:
            return 200, {"keys": self._keys()}
        if path == ways.authorize:
            return 302, self._authorize(given)
        if path == ways.token and method == "POST":
            return self._token(given)
        if path == ways.userinfo:
            if bearer != "access":
                return 401, {}
            return 200, {**ways.told(self.person)[1], **self.userinfo_changes}
        return 404, {}

    def _keys(self) -> list[dict[str, Any]]:
        public = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
        key = {**public, "kid": "k1", "alg": "RS256", "use": "sig"}
        for name in self.dialect.key_left_out:
            del key[name]
        other = {**public, "kid": "k0", "alg": "RSA-OAEP", "use": "enc"}
        return [other, key] if self.dialect.has_encryption_key else [key]

    def _authorize(self, given: dict[str, str]) -> str:
        assert given["client_id"] == CLIENT
        assert given["response_type"] == "code"
        assert given["code_challenge_method"] == "S256"
        unknown = set(given["scope"].split()) - self.dialect.scopes
        if unknown:
            query = urlencode({"error": "invalid_scope", "state": given["state"]})
            return f"{given['redirect_uri']}?{query}"
        code = secrets.token_urlsafe()
        self.codes[code] = given
        query = urlencode({"code": code, "state": given["state"]})
        return f"{given['redirect_uri']}?{query}"

    def _token(self, given: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if (given.get("client_id"), given.get("client_secret")) != (CLIENT, SECRET):
            return 401, {"error": "invalid_client"}
        if given.get("grant_type") == "refresh_token":
            if self.refusing or given.get("refresh_token") not in self.refresh_tokens:
                return 400, {"error": "invalid_grant"}
            self.refresh_tokens.discard(given["refresh_token"])
            return 200, self._tokens(is_lasting=True)
        asked = self.codes.pop(given.get("code", ""), None)
        digest = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or asked["code_challenge"] != challenge:
            return 400, {"error": "invalid_grant"}
        if asked["redirect_uri"] != given["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        # The house's own gives them unasked.
        lasting = self.dialect is HOUSE or "offline_access" in asked["scope"].split()
        return 200, self._tokens(is_lasting=lasting)

    def _tokens(self, *, is_lasting: bool) -> dict[str, Any]:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300}
        claims |= {"jti": secrets.token_urlsafe(), **self.dialect.told(self.person)[0]}
        key = self.key
        if self.forged:
            key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        token = jwt.encode({**claims, **self.changes}, key, "RS256", headers={"kid": "k1"})
        found: dict[str, Any] = {
            "access_token": "access",
            "token_type": "Bearer",
            "expires_in": 300,
        }
        if is_lasting:
            found["refresh_token"] = secrets.token_urlsafe()
            self.refresh_tokens.add(found["refresh_token"])
        return {**found, "expires_in": 300, "id_token": token}


def _handler(provider: OidcProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET", urlsplit(self.path).query)

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            self._answer("POST", self.rfile.read(size).decode())

        def _answer(self, method: str, text: str) -> None:
            given = {name: values[-1] for name, values in parse_qs(text).items()}
            bearer = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            status, body = provider.answer(method, urlsplit(self.path).path, given, bearer)
            self.send_response(status)
            if isinstance(body, str):
                self.send_header("Location", body)
                body = {}
            data = json.dumps(body).encode()
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    return Handler
