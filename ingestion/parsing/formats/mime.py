"""Parts of MIME messages, for the formats of mail that are turned into one."""

from __future__ import annotations

import base64
from email.message import Message


def leaf(kind: str, data: bytes, charset: str = "") -> Message:
    """A part of bytes, of a type such as "text/plain"."""
    part = Message()
    part["Content-Type"] = kind if kind.isascii() and kind.isprintable() else "text/plain"
    if charset:
        part.set_param("charset", charset)
    part["Content-Transfer-Encoding"] = "base64"
    part.set_payload(base64.b64encode(data).decode("ascii"))
    return part


def attachment(name: str, data: bytes, kind: str = "", *, is_inline: bool = False) -> Message:
    """An attached file."""
    part = leaf(kind or "application/octet-stream", data)
    part.add_header("Content-Disposition", "inline" if is_inline else "attachment")
    if name:
        part.set_param("filename", " ".join(name.split()), "Content-Disposition", charset="utf-8")
    return part


def alternatives(plain: str, html: bytes | str, charset: str) -> list[Message]:
    """The parts of a text and of a page, of which one may be empty; `charset` is that of bytes."""
    parts = []
    if plain.strip():
        parts.append(leaf("text/plain", plain.encode("utf-8", "replace"), "utf-8"))
    if isinstance(html, str):
        html, charset = html.encode("utf-8", "replace"), "utf-8"
    if html.strip():
        parts.append(leaf("text/html", html, charset))
    return parts
