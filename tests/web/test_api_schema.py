"""The schema is valid, says what the API answers, and its documentation needs no other server."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from common.accounts.models import User
from common.api.schema import ERRORS, error_response
from ingestion import services
from ingestion.models import Visibility
from search.api.examples import SEARCH, SEARCH_EXPLAINED
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return made


def operations(schema: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]


def test_the_schema_is_valid_and_without_warnings(tmp_path: Any) -> None:
    target = tmp_path / "schema.yml"

    call_command("spectacular", validate=True, fail_on_warn=True, file=str(target))

    assert "/api/v1/search/" in target.read_text()


def test_every_operation_states_its_errors_in_the_one_shape(schema: dict[str, Any]) -> None:
    for path, method, operation in operations(schema):
        errors = {code: r for code, r in operation["responses"].items() if int(code) >= 400}
        assert "429" in errors, (method, path)
        for error in errors.values():
            content = error["content"]["application/json"]
            assert content["schema"] == {"$ref": "#/components/schemas/Error"}
            assert content["examples"]


def test_every_operation_has_a_summary(schema: dict[str, Any]) -> None:
    unnamed = [(method, path) for path, method, op in operations(schema) if not op.get("summary")]

    assert unnamed == []


def shape(value: Any) -> Any:
    """Names and kinds, without the values; a list is as its first item."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value[:1]]
    return "number" if isinstance(value, float | int) else type(value).__name__


@pytest.mark.parametrize(
    ("example", "parameters"), [(SEARCH, {}), (SEARCH_EXPLAINED, {"explain": 1})],
    ids=["plain", "explained"],
)  # fmt: skip
def test_the_examples_look_like_real_answers(
    api: APIClient, example: dict[str, Any], parameters: dict[str, Any]
) -> None:
    document = make_document(
        make_collection("Samples"),
        "# Mine safety rules\n\nUnder 30 CFR 75.1725 machinery shall be kept in safe condition.\n",
        file_name="mine-safety-rules.md",
    )
    services.describe(document, metadata={"department": "Law", "year": 1969}, acting_user=None)

    body = api.get("/api/v1/search/", {"q": "30 CFR 75.1725", **parameters}).json()

    assert shape(body) == shape(example)


@pytest.mark.parametrize("status", sorted(ERRORS))
def test_the_examples_of_errors_have_their_shape(status: int) -> None:
    [example] = error_response(status)["content"]["application/json"]["examples"].values()
    assert set(example["value"]) == {"code", "message", "details"}


def test_the_schema_is_served(api: APIClient, schema: dict[str, Any]) -> None:
    response = api.get("/api/schema/", {"format": "json"})

    assert response.status_code == 200
    assert response.json()["paths"].keys() == schema["paths"].keys()


def test_the_documentation_loads_nothing_from_elsewhere(api: APIClient) -> None:
    html = documentation(api)

    assert "swagger-ui-bundle" in html
    assert re.findall(r"(?:src|href)=[\"'](?:https?:)?//", html) == []
    assert "<script>" not in html
    # The program itself would ask a validator on the internet about the schema.
    assert "validatorUrl: null" in Path("static/search/api_docs.js").read_text()


def test_it_opens_with_commands_for_this_site(api: APIClient, reader: User) -> None:
    make_collection("Harbour")
    make_collection("Crew", visibility=Visibility.GROUPS)
    api.force_login(reader)

    html = unescape(documentation(api))

    assert '<html lang="en">' in html
    commands = "\n".join(re.findall(r"<code>(.*?)</code>", html, re.DOTALL))
    for part in (
        "KB=http://testserver/api/v1\n",
        '{"username": "reader", "password": "correct horse"}',
        "$KB/auth/token/",
        "$KB/search/",
        "$KB/documents/",
        "collection=harbour ",
    ):
        assert part in commands
    assert "crew" not in html.lower()


def documentation(api: APIClient) -> str:
    page = api.get("/api/docs/", headers={"accept": "text/html"})
    assert page.status_code == 200
    return page.content.decode()


def test_search_comes_first_and_every_group_has_a_description(schema: dict[str, Any]) -> None:
    described = [tag["name"] for tag in schema["tags"]]
    used = {tag for _, _, operation in operations(schema) for tag in operation["tags"]}

    assert described[0] == "search"
    assert sorted(described) == sorted(used)


def test_bodies_that_refuse_unknown_fields_say_so(schema: dict[str, Any]) -> None:
    components = schema["components"]["schemas"]

    for name in ("CredentialsRequest", "SearchParametersRequest", "PatchedPinRequest"):
        assert components[name]["additionalProperties"] is False
    assert "additionalProperties" not in components["SearchResponse"]
