"""Generated requests to every operation of the schema: no 5xx, and answers as it declares them.

The requests are the same in every run. FUZZ_EXAMPLES=200 makes more of them for each operation:

    FUZZ_EXAMPLES=200 make test ARGS="tests/web/test_api_fuzz.py"
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.test import Client
from django.urls import URLResolver, get_resolver
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as limits
from hypothesis import strategies as st
from rest_framework.test import APIClient
from rest_framework.throttling import SimpleRateThrottle
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import FailureGroup
from schemathesis.schemas import APIOperation, BaseSchema

from common.accounts.models import User
from tests.support.api_rows import OTHER_PROTOCOLS, Rows, cached_tokens, rows_of_every_kind
from tests.support.database import lasting
from tests.support.url_walker import routes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "servers")]

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "5"))
PREFIX = "api/v1/"
RESOURCES = sorted({each.route.split("/")[2] for each in routes() if each.route.startswith(PREFIX)})
CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)


@pytest.fixture(scope="module")
def rows(django_db_setup: None, django_db_blocker: Any) -> Iterator[Rows]:
    with lasting(django_db_blocker), rows_of_every_kind() as made:
        yield made


@pytest.fixture(scope="module")
def served(rows: Rows) -> Iterator[BaseSchema]:
    """The schema as the site serves it, and the site in this process."""
    load_all_checks()
    # As Django's own test client does: the connection has the rows in its transaction.
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    with cached_tokens():
        yield schemathesis.openapi.from_wsgi("/api/schema/?format=json", closing(WSGIHandler()))
    for signal in signals:
        signal.connect(close_old_connections)


def closing(site: WSGIHandler) -> Callable[..., list[bytes]]:
    """The site, with its responses closed once they are read: downloads hold a file open."""

    def answer(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        response: Any = site(environ, start_response)
        try:
            return [b"".join(response)]
        finally:
            response.close()

    return answer


@pytest.fixture(autouse=True)
def _as_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    # A fault of the program is then reported with its traceback.
    monkeypatch.setattr(settings, "DEBUG_PROPAGATE_EXCEPTIONS", True)
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "login", "100000/min")


def cases(operation: APIOperation, rows: Rows) -> st.SearchStrategy[Case]:
    """Requests to the operation: by the schema or against it, most of them to a row that exists."""
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    generated = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes))
    existing = {name: st.sampled_from(values) for name, values in rows.of(operation.path).items()}

    def to_row(drawn: tuple[Case, dict[str, Any], bool]) -> Case:
        case, row, exists = drawn
        if exists:
            case.path_parameters = {**(case.path_parameters or {}), **row}
        if isinstance(case.body, dict) and "stream" in case.body:
            case.body["stream"] = False  # events have tests of their own
        return case

    usually = st.sampled_from((True, True, True, False))
    return st.tuples(generated, st.fixed_dictionaries(existing), usually).map(to_row)


def ask(operation: APIOperation, rows: Rows) -> None:
    """Send the requests, as a superuser and as a visitor; each leaves the rows as they were."""
    checks = [CHECKS.get_one(name) for name in CHECKED]

    @given(case=cases(operation, rows), signed_in=st.sampled_from((True, True, False)))
    @limits(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    def each(case: Case, signed_in: bool) -> None:
        # The client of these tests does not unpack what it is sent.
        headers = {"Accept-Encoding": "identity"}
        if signed_in:
            headers["Authorization"] = f"Token {rows.token}"
        with transaction.atomic():
            case.call_and_validate(checks=checks, headers=headers)
            transaction.set_rollback(True)

    each()


@pytest.mark.parametrize("begin", [*(f"{PREFIX}{each}/" for each in RESOURCES), "v1/"])
def test_every_response_matches_the_schema(begin: str, served: BaseSchema, rows: Rows) -> None:
    failures = []
    for found in served.include(path_regex=f"^/{begin}").get_all_operations():
        operation = found.ok()
        try:
            ask(operation, rows)
        except (Exception, FailureGroup) as error:
            failures.append(f"{operation.label}: {error}")
            shown = getattr(error, "exceptions", ())
            failures += [str(one) for one in shown]

    assert not failures, "\n\n".join(failures)


BODIES = {
    "scalar": b"false", "number": b"1", "text": b'"x"', "list": b"[]", "null": b"null",
    "torn": b"{", "binary": b"\xff\xfe", "deep": b"[" * 100_000,
    "surrogate": b'{"kind": "\\ud800", "\\udfff": 1}',
}  # fmt: skip


def test_no_body_causes_a_server_error(served: BaseSchema, rows: Rows) -> None:
    faults = []
    for found in served.exclude(tag=sorted(OTHER_PROTOCOLS)).get_all_operations():
        operation = found.ok()
        if not operation.body:
            continue
        row = {name: values[0] for name, values in rows.of(operation.path).items()}
        address = operation.path.format(**row)
        for name, body in BODIES.items():
            for header in ({"HTTP_AUTHORIZATION": f"Token {rows.token}"}, {}):
                with transaction.atomic():
                    response = APIClient().generic(
                        operation.method, address, body, "application/json", **header
                    )
                    transaction.set_rollback(True)
                is_shaped = {"type", "title", "status", "detail", "code", "errors"} <= set(
                    response.json()
                )
                if not (400 <= response.status_code < 500 and is_shaped):
                    faults.append((operation.label, name, response.status_code))

    assert faults == []


# --- Addresses and forms that no browser sends: an error page of the site, never a fault ---------

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
def test_no_address_causes_a_server_error(client: Client, administrator: User, who: str) -> None:
    if who == "superuser":
        client.force_login(administrator)
    assert faults(client) == []


@pytest.mark.parametrize("given", ["a\0b", "\ud800", "9" * 5000], ids=["nul", "half", "long"])
def test_no_form_of_visitors_causes_a_server_error(client: Client, given: str) -> None:
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


def test_invalid_session_cookie_is_ignored(client: Client) -> None:
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
def test_no_judgement_file_causes_a_server_error(
    client: Client, administrator: User, line: str
) -> None:
    client.raise_request_exception = False
    client.force_login(administrator)
    for name in ("judged.jsonl", "judged.csv", "judged.tsv"):
        file = SimpleUploadedFile(name, line.encode())
        response = client.post("/admin/tuning/goldenquery/import/", {"file": file})
        assert response.status_code < 500
        file.seek(0)
        response = client.post("/api/v1/judgements/file/", {"file": file})
        assert response.status_code < 500


def test_no_form_of_the_admin_causes_a_server_error(client: Client, administrator: User) -> None:
    client.raise_request_exception = False
    client.force_login(administrator)
    found = []
    names = (
        "name", "title", "slug", "pattern", "query_class", "terms", "weight", "username", "kind",
    )  # fmt: skip
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
