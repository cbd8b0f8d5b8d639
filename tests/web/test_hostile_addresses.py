"""Addresses and forms that no browser sends: an error page of the site, never a fault."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import URLResolver, get_resolver

from common.accounts.models import User

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "servers")]

# What each kind of placeholder accepts and no table holds.
ODD = {
    "int": "99999999999999999999",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "path": "a%00b",
    "str": "a%00b",
    "slug": "a" * 3000,
}
NUL = {
    "q": "a\0b",
    "collection": "a\0b",
    "page": "\0",
    "next": "/\0",
    "profile": "default@" + "9" * 4400,
}
SURROGATE = "%ED%A0%80"


def addresses(patterns: Any = None, before: str = "/") -> Iterator[str]:
    """Every address of the site, with odd values for what is variable in it."""
    for each in patterns or get_resolver().url_patterns:
        shown = str(each.pattern)
        if shown.startswith("^"):
            continue
        filled = before + re.sub(
            r"<(?:(\w+):)?\w+>", lambda found: ODD.get(found[1] or "str", "a%00b"), shown
        )
        if isinstance(each, URLResolver):
            yield from addresses(each.url_patterns, filled)
        elif "logout" not in filled:
            yield filled


def faults(client: Client) -> list[str]:
    client.raise_request_exception = False
    found = []
    for address in dict.fromkeys(addresses()):
        # One oddity at a time: in the address where something in it is variable, else after it.
        is_odd = any(each in address for each in ODD.values())
        response = client.get(address, {} if is_odd else NUL)
        if response.status_code >= 500:
            found.append(f"{response.status_code} {address[:80]}")
    return found


@pytest.mark.parametrize("who", ["visitor", "superuser"])
def test_no_address_is_a_fault(client: Client, administrator: User, who: str) -> None:
    if who == "superuser":
        client.force_login(administrator)
    assert faults(client) == []


@pytest.mark.parametrize("given", ["a\0b", "\ud800", "9" * 5000], ids=["nul", "half", "long"])
def test_no_form_of_visitors_is_a_fault(client: Client, given: str) -> None:
    client.raise_request_exception = False
    value = given.encode("utf-8", "surrogatepass")
    for address, names in (
        ("/", ("q", "collection", "profile", "page")),
        ("/login/", ("username", "password", "next")),
        ("/admin/login/", ("username", "password", "next")),
    ):
        for name in names:
            body = b"&".join(
                b"%s=%s" % (each.encode(), value if each == name else b"x") for each in names
            )
            kind = "application/x-www-form-urlencoded"
            assert client.post(address, body, content_type=kind).status_code < 500, (address, name)
    for address in ("/", "/library/", "/concepts/", "/login/"):
        assert client.get(f"{address}?q={SURROGATE}&collection={SURROGATE}").status_code < 500


def test_a_cookie_that_cannot_be_a_session_is_none(client: Client) -> None:
    client.raise_request_exception = False
    for value in ("a\0b", "x" * 4000):
        client.cookies["sessionid"] = value
        assert client.get("/").status_code == 200


@pytest.mark.parametrize(
    "line",
    [
        '{"query": "x", "document": "00000000-0000-0000-0000-000000000000", "grade": NaN}',
        '{"query": "x", "document": "a\\u0000b", "grade": 3}',
        '{"query": "' + "x" * 200_000 + '", "document": "d", "grade": 1e999}',
        '{"query": "\\ud800", "document": "d", "grade": 1}',
        "query,document,grade\nx,d,nan\n",
        "query\tdocument\tgrade\nx\td\tinf\n",
        "query,document,grade\na\0b,d,3\n",
        "query,document,grade\n" + "x" * 200_000 + ",d,3\n",
    ],
    ids=lambda line: line[:40],
)
def test_no_import_of_judgements_is_a_fault(client: Client, administrator: User, line: str) -> None:
    client.raise_request_exception = False
    client.force_login(administrator)
    for name in ("judged.jsonl", "judged.csv", "judged.tsv"):
        file = SimpleUploadedFile(name, line.encode())
        response = client.post("/admin/tuning/goldenquery/import/", {"file": file})
        assert response.status_code < 500
        file.seek(0)
        response = client.post("/api/v1/judgements/import/", {"file": file})
        assert response.status_code < 500


def test_no_form_of_the_admin_is_a_fault_when_empty_or_odd(
    client: Client, administrator: User
) -> None:
    client.raise_request_exception = False
    client.force_login(administrator)
    found = []
    names = (
        "name",
        "title",
        "slug",
        "pattern",
        "query_class",
        "terms",
        "weight",
        "username",
        "kind",
    )
    for address in dict.fromkeys(addresses()):
        if not re.fullmatch(r"/admin/\w+/\w+/add/", address):
            continue
        for value in (None, "a\0b", "\ud800", "9" * 400):
            posted = {} if value is None else dict.fromkeys(names, value)
            body = "&".join(f"{name}={value}" for name, value in posted.items())
            response = client.post(
                address,
                body.encode("utf-8", "surrogatepass"),
                content_type="application/x-www-form-urlencoded",
            )
            if response.status_code >= 500:
                found.append((address, value))
    assert found == []
