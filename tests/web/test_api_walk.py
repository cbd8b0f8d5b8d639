"""Every operation of the schema: a wrong parameter, body or header is refused by its name.

What is refused changes nothing, so all operations are asked with the same rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.urls import resolve
from rest_framework.test import APIClient
from rest_framework.throttling import SimpleRateThrottle

from common.api.views import StrictView
from search.api.old_addresses import OLD
from search.api.views import SchemaOnce
from tests.support.api_rows import Rows, cached_tokens, own_operations, rows_of_every_kind
from tests.support.database import lasting
from tests.support.url_walker import routes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "servers")]

PREFIX = "api/v1/"
OLD_RESOURCES = {old.split("/")[0] for old in OLD if old.count("/") == 1}
RESOURCES = sorted(
    {each.route.split("/")[2] for each in routes() if each.route.startswith(PREFIX)} - OLD_RESOURCES
)
# By the type of a parameter: values that are none of it.
WRONG = {
    "boolean": ("", "zzz", "yes", "no", "on", "2", "3", "null", "None", "true,false"),
    "integer": ("", "zzz", "1.5", "9" * 40, "null", "1_0", "٥"),
    "number": ("", "zzz", "nan", "inf", "1_0", "٥"),
    "enum": ("", "zzz", "null"),
    "uuid": ("", "zzz", "0"),
    "date-time": ("", "yesterday", "2024-13-01", "12:00"),
    "date": ("", "yesterday", "2024-13-01", "2024"),
    "string": ("", "\0"),
}
# By the type of a field of a body: JSON that is none of it.
WRONG_JSON: dict[str, tuple[Any, ...]] = {
    "string": (5, 1.5, True, [], {}),
    "uuid": (5, True, "zzz", [], {}),
    "date": (5, True, "yesterday", "2024-02-30", [], {}),
    "uri": (5, True, [], {}),
    "enum": ("zzz", 5, True, [], {}),
    "integer": ("zzz", "1_0", "٥", "nan", 1.5, True, [], {}),
    "number": ("zzz", "1_0", "٥", "nan", "inf", True, [], {}),
    "boolean": ("yes", 2, 1.5, [], {}),
    "array": ("x", 5, True, {}, [[[]]], [None]),
    "object": (5, True, [], "x"),
}
# A search for nothing lists what its filters leave; hides of all questions have the empty one.
MAY_BE_EMPTY = {("search", "query"), ("curation", "query")}
FILES = {"export", "original", "file"}
METHODS = ("get", "post", "put", "patch", "delete")
# By the old address: the status of each method, as 0.2 answered where it was deprecated.
OLD_ANSWERS = {
    "auth/logout/": {"post": 204},
    "auth/logoutall/": {"post": 204},
    "pins/": {"get": 200, "post": 400},
    "pins/<int:pk>/": {"get": 200, "patch": 200, "delete": 204},
    "hides/": {"get": 200, "post": 400},
    "hides/<int:pk>/": {"get": 200, "patch": 200, "delete": 204},
    "collections/<slug:slug>/restore/": {"post": 200},
    "documents/<uuid:public_id>/restore/": {"post": 200},
    "documents/<uuid:public_id>/reprocess/": {"post": 202},
    "documents/<uuid:public_id>/retry/": {"post": 202},
    "documents/<uuid:public_id>/versions/<int:number>/original/": {"get": 200},
    "documents/<uuid:public_id>/versions/<int:number>/make-current/": {"post": 409},
    "documents/<uuid:public_id>/chunks/<int:chunk>/edit/": {"put": 200, "delete": 204},
    "imports/<int:number>/cancel/": {"post": 409},
    "imports/<int:number>/resume/": {"post": 202},
    "imports/<int:number>/retry/": {"post": 202},
    "judgements/export/": {"get": 200},
    "judgements/import/": {"post": 400},
    "profiles/<profile:profile>/publish/": {"post": 400},  # it is active already
    "publications/<int:publication>/cancel/": {"post": 409},
    "runs/<int:run>/cancel/": {"post": 200},
}
# The row of `rows` that is not the first: one in the bin, one that failed, an edit.
OTHER_ROW = {"restore": 3, "retry": 2, "edit": 1, "publish": 1}
READING = {"edit", "import", "publish", "pins", "hides"}

# What the rest of a body leaves unread, by the name in the error.
UNREAD = [
    ("patch", "documents/{id}/", {"state": "queued", "version": 1}, "version"),
    ("post", "searches/{id}/interactions/", {"kind": "solved", "seconds": 5}, "seconds"),
    ("post", "answers/", {"query": "x", "stream": True, "rectangles": True}, "rectangles"),
    ("post", "runs/", {"profile": "default@5", "baseline": "default@5"}, "baseline"),
    ("patch", "curation/pin/{id}/", {"position": 0}, "position"),
    ("post", "profiles/default@5/publish/", {"profile": "default@4"}, "profile"),
]

Operation = tuple[str, str, dict[str, Any]]


@pytest.fixture(scope="module")
def rows(django_db_setup: None, django_db_blocker: Any) -> Iterator[Rows]:
    with lasting(django_db_blocker), rows_of_every_kind() as made:
        yield made


@pytest.fixture
def client(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> Iterator[APIClient]:
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "login", "100000/min")
    with cached_tokens():
        yield APIClient(headers={"authorization": f"Bearer {rows.token}"})


def operations(resource: str, rows: Rows) -> Iterator[Operation]:
    """The method, the address of a row that exists, and the description of each operation."""
    for path, method, operation in own_operations(SchemaOnce().get_schema()):
        if path.split("/")[3] == resource:
            address = path
            for name, values in rows.of(path).items():
                address = address.replace(f"{{{name}}}", str(values[0]))
            yield method, address, operation


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema itself, where it is a reference to one."""
    (schema,) = schema.get("allOf", [schema])
    if "$ref" in schema:
        schema = SchemaOnce().get_schema()["components"]["schemas"][schema["$ref"].split("/")[-1]]
    return schema


def wrong_json(schema: dict[str, Any]) -> Iterator[Any]:
    """JSON that does not fit the schema of a field of a body."""
    if not schema.get("nullable"):
        yield None
    schema = resolved(schema)
    if "type" not in schema:  # anything, or one of several
        return
    kind = "enum" if "enum" in schema else schema.get("format", schema["type"])
    yield from WRONG_JSON.get(kind, WRONG_JSON[schema["type"]])
    yield from out_of_bounds(schema)
    if "minItems" in schema:
        yield []
    if "minLength" in schema:
        yield ""


def wrong_bodies(properties: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Bodies with one wrong value of each field that has some left, until each value was in one."""
    wrong = {name: list(wrong_json(schema)) for name, schema in properties.items()}
    for place in range(max(map(len, wrong.values()), default=0)):
        yield {name: values[place] for name, values in wrong.items() if place < len(values)}


def out_of_bounds(schema: dict[str, Any]) -> Iterator[Any]:
    """Values beyond the bounds that the schema states."""
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1)
    if "minimum" in schema:
        yield schema["minimum"] - 1
    if "maximum" in schema:
        yield schema["maximum"] + 1


def wrong_values(schema: dict[str, Any]) -> Iterator[str]:
    """Values that do not fit the schema of a parameter."""
    schema = resolved(schema.get("items", schema))
    kind = "enum" if "enum" in schema else schema.get("format", schema["type"])
    yield from WRONG.get(kind, WRONG["string"])
    yield from map(str, out_of_bounds(schema))


def is_refused(response: Any, name: str) -> bool:
    """Whether the response is a 400 that names `name`."""
    return response.status_code == 400 and name in response.json()["details"]


def queries_of(resource: str, operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each parameter of the address with each query that is wrong for it."""
    yield "nonsense", {"nonsense": "1"}
    yield "format", {"format": "json"}
    for each in operation.get("parameters", ()):
        name, schema = each["name"], each["schema"]
        if each["in"] != "query":
            continue
        yield from (
            (name, {name: value})
            for value in wrong_values(schema)
            if value or (resource, name) not in MAY_BE_EMPTY
        )
        if schema.get("type") != "array":
            yield name, {name: ["1", "1"]}
        yield f"{name}s", {f"{name}s": "1"}


@pytest.mark.parametrize("resource", RESOURCES)
def test_every_wrong_parameter_of_an_address_is_refused_by_its_name(
    client: APIClient, rows: Rows, resource: str
) -> None:
    accepted = []
    for method, address, operation in operations(resource, rows):
        for name, query in queries_of(resource, operation):
            query = _required(operation) | query
            response = client.generic(method, address, query_params=query)
            if not is_refused(response, name):
                accepted.append((method, address, query, response.status_code, response.content))
    assert not accepted


@pytest.mark.parametrize("resource", RESOURCES)
def test_every_wrong_body_is_refused(client: APIClient, rows: Rows, resource: str) -> None:
    accepted = []
    for method, address, operation in operations(resource, rows):
        content = operation.get("requestBody", {}).get("content", {})
        needed = _required(operation)
        for body, name in _bodies(content):
            response = client.generic(
                method, address, body, "application/json", query_params=needed
            )
            if not is_refused(response, name):
                accepted.append((method, address, body, response.status_code, response.content))
        if "multipart/form-data" in content:
            form = {"nonsense": "1", "csrfmiddlewaretoken": "1"}
            body, kind = encode_multipart(BOUNDARY, form), MULTIPART_CONTENT
            response = client.generic(method, address, body, kind, query_params=needed)
            if not all(is_refused(response, name) for name in form):
                accepted.append((method, address, form, response.status_code, response.content))
    assert not accepted


@pytest.mark.parametrize("resource", RESOURCES)
def test_every_field_of_another_type_is_refused_by_its_name(
    client: APIClient, rows: Rows, resource: str
) -> None:
    accepted = []
    for method, address, operation in operations(resource, rows):
        content = operation.get("requestBody", {}).get("content", {})
        form = resolved(content.get("application/json", {}).get("schema", {}))
        for body in wrong_bodies(form.get("properties", {})):
            together = client.generic(method, address, json.dumps(body), "application/json")
            for name, value in body.items():
                response = together
                if not is_refused(response, name):  # perhaps later than what it came with
                    alone = json.dumps({name: value})
                    response = client.generic(method, address, alone, "application/json")
                if not is_refused(response, name):
                    accepted.append((method, address, name, value, response.content))
    assert not accepted


@pytest.mark.parametrize(("method", "route", "body", "name"), UNREAD)
def test_a_field_that_would_not_be_read_is_refused(
    client: APIClient, rows: Rows, method: str, route: str, body: dict[str, Any], name: str
) -> None:
    kind = "pins" if "pin" in route else route.split("/")[0]
    address = f"/{PREFIX}{route.format(id=rows.values.get(kind, [''])[0])}"
    assert is_refused(getattr(client, method)(address, body, format="json"), name)


def test_queries_beside_a_file_that_has_them_are_refused(client: APIClient, rows: Rows) -> None:
    form = {name: SimpleUploadedFile(name, b"query,document") for name in ("file", "queries")}
    response = client.post(f"/{PREFIX}judgements/file/", form, format="multipart")
    assert is_refused(response, "queries")


def test_a_profile_without_a_version_has_differences(client: APIClient, rows: Rows) -> None:
    response = client.get(f"/{PREFIX}profiles/default/differences/", {"against": "keyword-only"})
    assert response.json()["differences"]


def test_the_capitals_of_a_checksum_make_no_difference(client: APIClient, rows: Rows) -> None:
    row = client.get(f"/{PREFIX}documents/{rows.values['documents'][0]}/").json()
    found = client.get(f"/{PREFIX}documents/", {"checksum": row["checksum"].upper()}).json()
    assert [each["id"] for each in found["results"]] == [row["id"]]
    wrong = client.get(f"/{PREFIX}documents/", {"checksum": row["checksum"][1:]})
    assert is_refused(wrong, "checksum")


@pytest.mark.parametrize("resource", RESOURCES)
def test_another_media_type_is_refused_in_words(
    client: APIClient, rows: Rows, resource: str
) -> None:
    for method, address, _ in operations(resource, rows):
        if method == "get" and not FILES & {*address.split("/")}:
            response = client.get(address, headers={"accept": "application/xml"})
            assert response.status_code == 406, address
            assert "There is application/json" in response.json()["message"]


@pytest.mark.parametrize("resource", RESOURCES)
def test_a_guard_that_is_not_obeyed_is_refused(
    client: APIClient, rows: Rows, resource: str
) -> None:
    for method, address, operation in operations(resource, rows):
        parameters = {each["name"] for each in operation.get("parameters", ())}
        names = {*StrictView.guards} - parameters if method != "get" else ()
        for name in names:
            needed = _required(operation)
            response = client.generic(method, address, query_params=needed, headers={name: "x"})
            assert is_refused(response, name), (method, address, name)


@pytest.mark.parametrize("old", OLD)
def test_an_old_address_answers_as_before_and_names_the_present_one(
    client: APIClient, rows: Rows, old: str
) -> None:
    last = old.split("/")[-2]
    address = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", old)
    if old.startswith("collections/"):
        client.delete(f"/api/v1/collections/{rows.values['collections'][0]}/")
    for name, values in rows.of(address).items():
        value = values[OTHER_ROW.get(last, 0) if len(values) > OTHER_ROW.get(last, 0) else 0]
        address = address.replace(f"{{{name}}}", str(value))
    address = f"/api/v1{address}"
    if not READING & {*old.split("/")} and "post" in OLD_ANSWERS[old]:
        assert client.post(address, {"note": "x"}, format="json").status_code == 400
    answers = {name: 405 for name in METHODS if name not in OLD_ANSWERS[old]} | OLD_ANSWERS[old]
    for method, status in answers.items():
        kind = {} if method == "get" else {"format": "multipart" if last == "import" else "json"}
        response = getattr(client, method)(address, **kind)
        assert response.status_code == status, (method, address, response.content)
        assert response.headers["Deprecation"]
        *_, link = response.headers["Link"].split(", ")
        present, relation = re.fullmatch(r"<(.*)>; (.*)", link).groups()  # type: ignore[union-attr]
        assert relation == 'rel="successor-version"'
        assert resolve(urlsplit(present).path).url_name != "missing"
        if response.streaming:
            response.getvalue()  # to its end: an original is an open file


def _required(operation: dict[str, Any]) -> dict[str, Any]:
    """A value of each parameter of the address that must be there."""
    parameters = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
    return {each["name"]: "x" for each in parameters if each.get("required")}


def _bodies(content: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """JSON that the operation does not take, each with the name that the error is about."""
    if not content:
        yield json.dumps({"nonsense": 1}), "non_field_errors"
        yield "[1", "non_field_errors"
    elif "application/json" in content:
        yield '{"nonsense": 1, "nonsense": 1}', "nonsense"
        for name in ("nonsense", "format", "csrfmiddlewaretoken"):
            yield json.dumps({name: 1}), name
