"""A SAML identity provider over real HTTP: pysaml2's, another implementation than the site's.

It needs the command `xmlsec1`.
"""

from __future__ import annotations

import base64
import datetime
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of a cipher that it names and that is not used here
    from saml2 import BINDING_HTTP_REDIRECT, saml, xmldsig
    from saml2.config import IdPConfig
    from saml2.metadata import entity_descriptor
    from saml2.server import Server

PASSWORD = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"


class SamlProvider:
    """The provider. `person` is whoever sits at its sign-in page, `name_id` its name for them.

    The others spoil what it asserts: `is_signing`, `signature` (its algorithm), `audience`,
    `minutes` that an assertion lasts, and `answered`, the request that it answers.
    """

    def __init__(self, port: int, folder: Path) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.folder = folder
        self.person: dict[str, list[str]] = {}
        self.reset()

    def reset(self) -> None:
        self.name_id = "ann-1001"
        self.is_signing = True
        self.signature = xmldsig.SIG_RSA_SHA256
        self.audience = self.answered = ""
        self.minutes = 15

    @property
    def entity(self) -> str:
        return f"{self.address}/metadata"

    def metadata(self) -> bytes:
        """What the site reads under SAML_METADATA_URL."""
        return str(entity_descriptor(self._config(None))).encode()

    def respond(self, address: str, site: bytes) -> str:
        """The SAMLResponse for a browser that the site sent here; `site` is the site's metadata."""
        server = Server(config=self._config(site))
        query = parse_qs(urlsplit(address).query)
        asked = server.parse_authn_request(query["SAMLRequest"][0], BINDING_HTTP_REDIRECT)
        to = server.response_args(asked.message)
        response = server.create_authn_response(
            self.person,
            in_response_to=self.answered or to["in_response_to"],
            destination=to["destination"],
            sp_entity_id=self.audience or to["sp_entity_id"],
            name_id=saml.NameID(format=saml.NAMEID_FORMAT_PERSISTENT, text=self.name_id),
            authn={"class_ref": PASSWORD},
            sign_assertion=self.is_signing,
            sign_response=False,
            sign_alg=self.signature,
            digest_alg=xmldsig.DIGEST_SHA256,
        )
        return base64.b64encode(str(response).encode()).decode()

    def _config(self, site: bytes | None) -> IdPConfig:
        policy = {"lifetime": {"minutes": self.minutes}, "name_form": saml.NAME_FORMAT_URI}
        service = {
            "endpoints": {
                "single_sign_on_service": [(f"{self.address}/sign-on", BINDING_HTTP_REDIRECT)]
            },
            "policy": {"default": policy},
        }
        config: dict[str, Any] = {
            "entityid": self.entity,
            "service": {"idp": service},
            "key_file": str(self.folder / "key.pem"),
            "cert_file": str(self.folder / "certificate.pem"),
            "metadata": {"inline": [site.decode()] if site else []},
        }
        return IdPConfig().load(config)


@contextmanager
def saml_provider(folder: Path) -> Iterator[SamlProvider]:
    """Run a provider until the block ends; its key is made in `folder`."""
    write_key(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = provider.metadata() if self.path == "/metadata" else b""
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(found)))
            self.end_headers()
            self.wfile.write(found)

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider = SamlProvider(server.server_address[1], folder)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()


def write_key(folder: Path) -> None:
    """Write a key and its certificate, signed by itself."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Provider")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
