"""An OpenID Connect provider over real HTTP: discovery, keys, code flow with PKCE, refresh.

It speaks as one of four providers does by its documentation: paths, claims, what is missing. All
stand on one port, though Google's and Entra ID's endpoints are on several hosts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

Claims = dict[str, Any]
TENANT = "8eaef023-2b34-4da1-9baa-8bc8c9d6a490"
CLIENT, SECRET = "steelyard-client", "a-secret-of-the-client"


@dataclass(frozen=True)
class Dialect:
    """A provider's ways. Paths are those of its addresses; `server` is what OIDC_SERVER names.

    `claims_of` makes the claims of the ID token and of the user info from the data of a person:
    sub, login, email, groups.
    """

    server: str
    issuer: str
    authorize: str
    token: str
    userinfo: str
    keys: str
    claims_of: Callable[[Mapping[str, Any]], tuple[Claims, Claims]]
    key_left_out: tuple[str, ...] = ()
    has_encryption_key: bool = False
    scopes: frozenset[str] = frozenset({"openid", "profile", "email", "offline_access"})


def _entra(person: Mapping[str, Any]) -> tuple[Claims, Claims]:
    # https://learn.microsoft.com/en-us/entra/identity-platform/id-token-claims-reference
    groups: Claims = {"groups": list(person["groups"])}
    if len(person["groups"]) > 200:
        source = f"https://graph.windows.net/{TENANT}/users/{person['sub']}/getMemberObjects"
        groups = {
            "_claim_names": {"groups": "src1"},
            "_claim_sources": {"src1": {"endpoint": source}},
        }
    token = {
        "sub": person["sub"], "name": "Ann Example", "oid": "690222be-ff1a-4d56-abd1-7e4f7d38e474",
        "preferred_username": person["email"], "email": person["email"], "tid": TENANT,
        "ver": "2.0", **groups,
    }  # fmt: skip
    info = {"sub": person["sub"], "name": "Ann Example", "email": person["email"]}
    return token, {**info, "given_name": "Ann", "family_name": "Example"}


def _google(person: Mapping[str, Any]) -> tuple[Claims, Claims]:
    # https://developers.google.com/identity/openid-connect/openid-connect
    shared = {
        "sub": person["sub"], "hd": person["email"].partition("@")[2], "email": person["email"],
        "email_verified": True, "name": "Ann Example", "given_name": "Ann",
    }  # fmt: skip
    return {**shared, "azp": "steelyard-client", "at_hash": "HK6E_P6Dh8Y93mRNtsDB1Q"}, shared


def _keycloak(person: Mapping[str, Any]) -> tuple[Claims, Claims]:
    # https://www.keycloak.org/docs/latest/server_admin/ (Group Membership; realm roles)
    shared = {
        "sub": person["sub"],
        "email_verified": False,
        "preferred_username": person["login"],
        "email": person["email"],
        "groups": [f"/{name}" for name in person["groups"]],
    }
    roles = {"realm_access": {"roles": ["offline_access", *person.get("roles", [])]}}
    return {**shared, **roles, "typ": "ID", "azp": "steelyard-client", "acr": "1"}, shared


def _authentik(person: Mapping[str, Any]) -> tuple[Claims, Claims]:
    # https://docs.goauthentik.io/add-secure-apps/providers/oauth2/
    shared = {
        "sub": person["sub"], "email": person["email"], "email_verified": False,
        "name": "Ann Example", "preferred_username": person["login"], "nickname": person["login"],
        "groups": list(person["groups"]),
    }  # fmt: skip
    return {**shared, "acr": "goauthentik.io/providers/oauth2/default"}, shared


HOUSE = Dialect(
    server="/realm",
    issuer="/realm",
    authorize="/realm/authorize",
    token="/realm/token",
    userinfo="/realm/userinfo",
    keys="/realm/keys",
    claims_of=lambda person: (dict(person), dict(person)),
)
ENTRA = Dialect(
    server=f"/{TENANT}/v2.0",
    issuer=f"/{TENANT}/v2.0",
    authorize=f"/{TENANT}/oauth2/v2.0/authorize",
    token=f"/{TENANT}/oauth2/v2.0/token",
    userinfo="/oidc/userinfo",
    keys=f"/{TENANT}/discovery/v2.0/keys",
    claims_of=_entra,
    key_left_out=("alg",),
)
GOOGLE = Dialect(
    server="",
    issuer="",
    authorize="/o/oauth2/v2/auth",
    token="/token",
    userinfo="/v1/userinfo",
    keys="/oauth2/v3/certs",
    claims_of=_google,
    # Another one is an error there: invalid_scope.
    scopes=frozenset({"openid", "profile", "email"}),
)
KEYCLOAK = Dialect(
    server="/realms/REALM",
    issuer="/realms/REALM",
    authorize="/realms/REALM/protocol/openid-connect/auth",
    token="/realms/REALM/protocol/openid-connect/token",
    userinfo="/realms/REALM/protocol/openid-connect/userinfo",
    keys="/realms/REALM/protocol/openid-connect/certs",
    claims_of=_keycloak,
    has_encryption_key=True,
)
AUTHENTIK = Dialect(
    server="/application/o/APPLICATION",
    # The slash at its end is part of the issuer.
    issuer="/application/o/APPLICATION/",
    authorize="/application/o/authorize/",
    token="/application/o/token/",
    userinfo="/application/o/userinfo/",
    keys="/application/o/APPLICATION/jwks/",
    claims_of=_authentik,
)


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

    def answer(self, method: str, path: str, parameters: dict[str, str], bearer: str) -> Any:
        """The status and the body, or the address of a redirect, for a request."""
        self.asked.append((path, parameters))
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
            return 302, self._authorize(parameters)
        if path == ways.token and method == "POST":
            return self._token(parameters)
        if path == ways.userinfo:
            if bearer != "access":
                return 401, {}
            return 200, {**ways.claims_of(self.person)[1], **self.userinfo_changes}
        return 404, {}

    def _keys(self) -> list[dict[str, Any]]:
        public = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
        key = {**public, "kid": "k1", "alg": "RS256", "use": "sig"}
        for name in self.dialect.key_left_out:
            del key[name]
        other = {**public, "kid": "k0", "alg": "RSA-OAEP", "use": "enc"}
        return [other, key] if self.dialect.has_encryption_key else [key]

    def _authorize(self, parameters: dict[str, str]) -> str:
        assert parameters["client_id"] == CLIENT
        assert parameters["response_type"] == "code"
        assert parameters["code_challenge_method"] == "S256"
        unknown = set(parameters["scope"].split()) - self.dialect.scopes
        if unknown:
            query = urlencode({"error": "invalid_scope", "state": parameters["state"]})
            return f"{parameters['redirect_uri']}?{query}"
        code = secrets.token_urlsafe()
        self.codes[code] = parameters
        query = urlencode({"code": code, "state": parameters["state"]})
        return f"{parameters['redirect_uri']}?{query}"

    def _token(self, parameters: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if (parameters.get("client_id"), parameters.get("client_secret")) != (CLIENT, SECRET):
            return 401, {"error": "invalid_client"}
        if parameters.get("grant_type") == "refresh_token":
            if self.refusing or parameters.get("refresh_token") not in self.refresh_tokens:
                return 400, {"error": "invalid_grant"}
            self.refresh_tokens.discard(parameters["refresh_token"])
            return 200, self._tokens(is_lasting=True)
        request = self.codes.pop(parameters.get("code", ""), None)
        digest = hashlib.sha256(parameters.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if request is None or request["code_challenge"] != challenge:
            return 400, {"error": "invalid_grant"}
        if request["redirect_uri"] != parameters["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        # The house's own gives them unasked.
        lasting = self.dialect is HOUSE or "offline_access" in request["scope"].split()
        return 200, self._tokens(is_lasting=lasting)

    def _tokens(self, *, is_lasting: bool) -> dict[str, Any]:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300}
        claims |= {"jti": secrets.token_urlsafe(), **self.dialect.claims_of(self.person)[0]}
        key = self.key
        if self.forged:
            key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        token = jwt.encode({**claims, **self.changes}, key, "RS256", headers={"kid": "k1"})
        response: dict[str, Any] = {
            "access_token": "access",
            "token_type": "Bearer",
            "expires_in": 300,
        }
        if is_lasting:
            response["refresh_token"] = secrets.token_urlsafe()
            self.refresh_tokens.add(response["refresh_token"])
        return {**response, "expires_in": 300, "id_token": token}


def _handler(provider: OidcProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET", urlsplit(self.path).query)

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            self._answer("POST", self.rfile.read(size).decode())

        def _answer(self, method: str, text: str) -> None:
            parameters = {name: values[-1] for name, values in parse_qs(text).items()}
            bearer = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            status, body = provider.answer(method, urlsplit(self.path).path, parameters, bearer)
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
