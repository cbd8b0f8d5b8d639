"""How much may be sent to which address, and by whom."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.conf import settings as site_settings
from django.test import Client as Browser
from django.urls import URLResolver, get_resolver
from rest_framework.parsers import MultiPartParser

from common.accounts import tokens
from common.accounts.models import User
from kbsite.serving import limits
from kbsite.serving.limits import BodyLimits
from tests.faults.asgi import scope

SMALL = site_settings.DATA_UPLOAD_MAX_MEMORY_SIZE
HUGE = 100 * 1024 * 1024
UPLOAD = "/api/v1/documents/"


class Reader:
    """Stands for Django: reads the body, then answers."""

    def __init__(self) -> None:
        self.read = io.BytesIO()

    async def __call__(self, given: Any, receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            self.read.write(message["body"])
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def post(
    path: str, *parts: bytes, ends: bool = True, length: int | None = None, **headers: str
) -> tuple[int, bytes, int]:
    """The status, the response's body, and how many bytes the application was given."""

    async def asked() -> tuple[int, bytes, int]:
        reader = Reader()
        given = scope(path, "POST")
        stated = ("transfer-encoding", "chunked") if length is None else ("content-length", length)
        for name, value in ((stated), *headers.items()):
            given["headers"].append((name.encode(), str(value).encode()))
        client = ApplicationCommunicator(BodyLimits(reader), given)
        for number, part in enumerate(parts, 1):
            more = not ends or number < len(parts)
            await client.send_input({"type": "http.request", "body": part, "more_body": more})
        start = await client.receive_output(5)
        body = (await client.receive_output(5)).get("body", b"")
        await client.send_input({"type": "http.disconnect"})
        await client.wait(5)
        return start["status"], body, len(reader.read.getvalue())

    return asyncio.run(asked())


@pytest.mark.parametrize("path", ["/", "/login/", "/admin/login/", "/nowhere/", "/v1/embeddings"])
def test_a_large_body_is_refused_before_it_arrives(path: str) -> None:
    status, body, read = post(path, b"x" * 1000, ends=False, length=HUGE)
    assert (status, read) == (413, 0)
    assert b"is larger than this address accepts (2.6 MB)" in body


def test_so_is_one_in_chunks_once_it_is_too_large() -> None:
    status, body, read = post("/api/v1/search/", *[b"x" * 1_000_000] * 9)
    assert (status, json.loads(body)["code"]) == (413, "body_too_large")
    assert read <= SMALL


@pytest.mark.parametrize("length", [5, None], ids=["stated", "chunked"])
def test_a_small_body_is_passed_on(length: int | None) -> None:
    assert post("/", b"ab", b"cde", length=length) == (200, b"", 5)


@pytest.mark.django_db(transaction=True)
def test_files_are_accepted_from_users_and_tokens_only(
    servers: Any, administrator: User, settings: Any
) -> None:
    client = Browser()
    client.force_login(administrator)
    session = f"{settings.SESSION_COOKIE_NAME}={client.cookies['sessionid'].value}"
    _, token = tokens.make(administrator, scopes=["upload"])
    for headers, expected in (
        ({}, 413),
        ({"cookie": f"{settings.SESSION_COOKIE_NAME}=made-up"}, 413),
        ({"authorization": "Token made-up"}, 413),
        ({"cookie": session}, 200),
        ({"authorization": f"Token {token}"}, 200),
    ):
        assert post(UPLOAD, b"x", length=HUGE, **headers)[0] == expected
    assert post("/login/", b"x", length=HUGE, cookie=session)[0] == 413
    most = settings.MAX_UPLOAD_BYTES + 2 * 1024 * 1024
    assert post(UPLOAD, b"x", length=most, cookie=session)[0] == 413


# What has files must state it: nothing else is accepted above 2.6 MB.
LARGE = {
    "/admin/ingestion/document/add/": "IMPORT_MAX_BYTES",
    "/admin/ingestion/document/1/new-version/": "MAX_UPLOAD_BYTES",
    "/admin/ingestion/import/add/": "IMPORT_MAX_BYTES",
    "/admin/tuning/goldenquery/import/": "MAX_UPLOAD_BYTES",
    UPLOAD: "MAX_UPLOAD_BYTES",
    f"{UPLOAD}00000000-0000-0000-0000-000000000000/versions/": "MAX_UPLOAD_BYTES",
    "/api/v1/imports/": "IMPORT_MAX_BYTES",
    "/api/v1/judgements/import/": "MAX_UPLOAD_BYTES",
}


@pytest.mark.parametrize(("path", "setting"), LARGE.items())
def test_a_view_that_accepts_files_states_how_large(path: str, setting: str) -> None:
    expected = getattr(site_settings, setting) + 1024 * 1024
    assert limits.most_bytes(limits.view_of(path)) == expected


def test_every_multipart_parser_of_a_view_states_its_limit() -> None:
    def walk(patterns: Any) -> Iterator[Any]:
        for each in patterns:
            if isinstance(each, URLResolver):
                yield from walk(each.url_patterns)
            else:
                yield each.callback

    for view in walk(get_resolver().url_patterns):
        parsers = list(limits._parsers(view))
        if any(issubclass(parser, MultiPartParser) for parser in parsers):
            assert limits.most_bytes(view), view
