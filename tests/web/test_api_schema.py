"""The schema is valid, says what the API answers, and its documentation needs no other server."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qsl, urlsplit
from zipfile import ZipFile

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import transaction
from django.urls import resolve
from drf_spectacular.generators import SchemaGenerator
from knox.models import AuthToken
from rest_framework.test import APIClient

from common.accounts.models import User
from ingestion.documents import processing_steps
from ingestion.models import Document, Import
from search.answers.domain import CONFIDENCE, Answered
from search.api import views
from search.mcp.tool_results import AnswerItem
from search.models import SearchProfile
from search.tuning import drafts
from tests.support.api_rows import OTHER_PROTOCOLS, own_operations
from tests.support.factories import make_collection, make_document
from tests.support.programs import require_packages

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return made


def test_a_schema_that_several_ask_for_at_once_is_made_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its making changes inspectors that all threads share: it failed for some of them."""
    made: list[str] = []

    def get_schema(*_: Any, **__: Any) -> dict[str, str]:
        made.append("begun")
        time.sleep(0.05)
        return {"openapi": "3"}

    monkeypatch.setattr(SchemaGenerator, "get_schema", get_schema)
    views._schema.cache_clear()
    try:
        with ThreadPoolExecutor(4) as threads:
            schemas = [*threads.map(lambda _: views.SchemaOnce().get_schema(), range(4))]
    finally:
        views._schema.cache_clear()
    assert (len(made), schemas) == (1, [{"openapi": "3"}] * 4)


def test_the_schema_is_valid_and_without_warnings(tmp_path: Any) -> None:
    target = tmp_path / "schema.yml"

    call_command("spectacular", validate=True, fail_on_warn=True, file=str(target))

    assert "/api/v1/search/" in target.read_text()
    assert f"version: {settings.VERSION}\n" in target.read_text()


def test_a_client_generated_from_it_goes_the_round(
    schema: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    edit: APIClient,
    administrator: User,
) -> None:
    """The generator of docs/agents.md, and what it makes, against this site."""
    require_packages("openapi-python-client")
    (tmp_path / "schema.json").write_text(json.dumps(schema, default=str))
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"]
    command += ["--path", "schema.json", "--output-path", "kb"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stdout + made.stderr
    monkeypatch.syspath_prepend(tmp_path)
    kb, models, types = map(import_module, ("kb", "kb.models", "kb.types"))

    def answer(request: httpx.Request) -> httpx.Response:
        kind, address = request.headers.get("Content-Type", ""), request.url.raw_path.decode()
        guard = {name: request.headers[name] for name in ("If-Match",) if name in request.headers}
        told = edit.generic(request.method, address, request.read(), kind, headers=guard)
        return httpx.Response(told.status_code, headers=dict(told.items()), content=b"".join(told))

    here = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://testserver")
    client = kb.AuthenticatedClient("http://testserver", "token").set_httpx_client(here)

    def call(operation: str, **given: Any) -> Any:
        answer = whole(operation, **given)
        assert answer.status_code < 300, answer.content
        return answer.parsed

    def whole(operation: str, **given: Any) -> Any:
        return import_module(f"kb.api.{operation}").sync_detailed(client=client, **given)

    make_collection("Handbook")
    target = models.SyncTargetRequest(collection="handbook")
    assert call("sources.sources_update", name="wiki", body=target).documents == 0
    file = types.File(io.BytesIO(b"# Tides\n\nHigh water comes twice a day.\n"), "tides.md")
    readers = models.ReadersRequest(people=["editor"], groups=[])
    body = models.SyncDocumentRequest(etag="1", file=file, readers=readers)
    put = call("sources.sources_documents_update", name="wiki", id="a/b", body=body)
    assert (put.id, put.outcome) == ("a/b", "added")
    processing_steps.advance(Document.objects.get(public_id=put.document).latest_id or 0)
    (first,) = call("search.search", query="When is high water?").results
    assert first.document.id == put.document
    other = types.File(io.BytesIO(b"# Ebb\n\nLow water.\n"), "ebb.md")
    body = models.DocumentUploadRequest(file=other, collection="handbook", readers=readers)
    made = call("documents.documents_create", body=body)
    for document in (made, call("documents.documents_retrieve", public_id=put.document)):
        assert document.readers.to_dict() == {"groups": [], "people": ["editor"]}

    asked = models.AskParametersRequest(query="When is high water?")
    assert call("answers.answers_create", body=asked).state == "done"
    streamed = {**asked.to_dict(), "stream": True}
    told = client.get_httpx_client().post("/api/v1/answers/", json=streamed).text
    assert told.index("event: sources") < told.index("event: done")
    edit.force_authenticate(administrator)
    shown = whole("profiles.profiles_retrieve", profile="default")
    weights = models.ClassSharesRequest.from_dict({"general": {"vector": 0.5, "keyword": 0.5}})
    body = models.PatchedProfileEditRequest(weights=weights)
    guarded = {"body": body, "if_match": shown.headers["ETag"]}
    draft = call("profiles.profiles_partial_update", profile=shown.parsed.key, **guarded)
    late = whole("profiles.profiles_partial_update", profile=draft.key, **guarded)
    assert (draft.key, late.parsed.code) == ("default@6", "precondition_failed")


def test_every_operation_has_a_summary_and_states_its_errors_in_the_one_shape(
    schema: dict[str, Any],
) -> None:
    for path, method, operation in own_operations(schema):
        errors = {code: r for code, r in operation["responses"].items() if int(code) >= 400}
        assert "429" in errors, (method, path)
        assert operation.get("summary"), (method, path)
        for error in errors.values():
            content = error["content"]["application/problem+json"]
            assert content["schema"] == {"$ref": "#/components/schemas/Error"}


def test_other_protocols_are_groups_of_their_own_whose_addresses_exist(settings: Any) -> None:
    settings.OAUTH = "registration"
    schema = SchemaGenerator().get_schema(request=None, public=True)

    own = {path for path, _, _ in own_operations(schema)}
    others = schema["paths"].keys() - own
    assert {path.split("/")[1] for path in others} == {"v1", "oauth", ".well-known"}
    names = [tag["name"] for tag in schema["tags"]]
    assert (names[0], set(names[-2:])) == ("search", OTHER_PROTOCOLS)
    for path in others:
        address = path.format(model="steelyard", resource="mcp")
        for method in schema["paths"][path]:
            answer = APIClient().generic(method.upper(), address)
            # Refused for want of a body or of parameters, maybe; but there is such a view.
            assert answer.status_code not in (404, 405), (method, address)


def test_without_oauth_its_addresses_are_not_described(schema: dict[str, Any]) -> None:
    assert "/v1/chat/completions" in schema["paths"]
    assert not [path for path in schema["paths"] if path.startswith(("/oauth", "/.well"))]
    assert "OAuthTokens" not in schema["components"]["schemas"]


def test_the_confidence_of_an_answer_means_one_thing(schema: dict[str, Any]) -> None:
    (meaning, _) = CONFIDENCE.split(";")
    page = (settings.BASE_DIR / "docs/answers.md").read_text()
    for text in (page, Answered.__doc__ or ""):
        assert meaning.removeprefix("The") in " ".join(text.split())
    for name in ("Answer", "StoredAnswer", "AnswerSummary"):
        field = schema["components"]["schemas"][name]["properties"]["confidence"]
        assert field["description"] == CONFIDENCE
    assert AnswerItem.model_fields["confidence"].description == CONFIDENCE


def test_schema_is_generated_once_for_all_readers(api: APIClient, edit: APIClient) -> None:
    first = api.get("/api/schema/?format=json")
    with mock.patch.object(SchemaGenerator, "get_schema", side_effect=AssertionError):
        assert (
            edit.get("/api/schema/?format=json", HTTP_ACCEPT_LANGUAGE="de").content == first.content
        )


def test_the_documentation_loads_nothing_from_elsewhere(api: APIClient) -> None:
    page = api.get("/api/docs/", headers={"accept": "text/html"})
    assert page.status_code == 200
    html = page.content.decode()
    assert "swagger-ui-bundle" in html
    assert re.findall(r"(?:src|href)=[\"'](?:https?:)?//", html) == []
    assert "<script>" not in html
    # The program itself would ask a validator on the internet about the schema.
    assert "validatorUrl: null" in Path("static/search/api_docs.js").read_text()


def test_schema_marks_bodies_that_refuse_unknown_fields(schema: dict[str, Any]) -> None:
    components = schema["components"]["schemas"]

    for name in ("CredentialsRequest", "SearchBodyRequest", "PatchedCurationRequest"):
        assert components[name]["additionalProperties"] is False
    assert "additionalProperties" not in components["SearchResponse"]


# --- Each curl command of docs/api*.md is sent ---------------------------------------------------


def _archive() -> bytes:
    target = io.BytesIO()
    with ZipFile(target, "w") as members:
        members.writestr("ebb.md", "# Ebb")
    return target.getvalue()


PAGES = sorted(Path(settings.BASE_DIR, "docs").glob("api*.md"))
FILES = {
    "handbook.zip": _archive(),
    "tides.md": b"# Tides\n\nHigh water.\n",
    "new.md": b"# Tides\n\nLow water, too.\n",
}
# What a command may meet that is right, and whose rows are not all there: it must be understood.
UNDERSTOOD = {200, 201, 202, 204, 207, 404, 409, 412}


@dataclass
class Command:
    """A curl command, read."""

    text: str
    address: str = ""
    method: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    data: list[str] = field(default_factory=list)
    form: list[tuple[str, str]] = field(default_factory=list)
    in_address: bool = False

    @classmethod
    def read(cls, words: list[str], text: str) -> Command:
        command, rest = cls(text), iter(words[1:])
        for word in rest:
            match word:
                case "-H":
                    name, _, value = next(rest).partition(": ")
                    command.headers[name] = value
                case "-X":
                    command.method = next(rest).lower()
                case "-d" | "--data-urlencode":
                    command.data.append(next(rest))
                case "-F":
                    name, _, value = next(rest).partition("=")
                    command.form.append((name, value))
                case "-G":
                    command.in_address = True
                case "-OJ":
                    pass
                case _:
                    command.address = word
        return command

    def send(self, api: APIClient) -> Any:
        writes = (self.data and not self.in_address) or self.form
        send = getattr(api, self.method or ("post" if writes else "get"))
        headers = {name: value for name, value in self.headers.items() if name != "Content-Type"}
        if self.form:
            body: dict[str, Any] = {}
            for name, value in self.form:
                body.setdefault(name, []).append(_file(value) if value[0] == "@" else value)
            return send(self.address, body, format="multipart", headers=headers)
        if writes:
            assert self.headers["Content-Type"] == "application/json"
            kind = "application/json"
            return send(self.address, self.data[0], content_type=kind, headers=headers)
        query = dict(pair.split("=", 1) for pair in self.data)
        query |= dict(parse_qsl(urlsplit(self.address).query))
        return send(urlsplit(self.address).path, query, headers=headers)


def _file(value: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(value[1:], FILES[value[1:]])


def commands(variables: dict[str, str]) -> Iterator[Command]:
    """The commands of the pages' shell blocks, with the variables in place."""
    pages = "\n".join(page.read_text() for page in PAGES)
    for block in re.findall(r"```sh\n(.*?)```", pages, re.DOTALL):
        text = ""
        for line in block.replace("\\\n", " ").splitlines():
            text = f"{text}\n{line}" if text else line
            for name, value in variables.items():
                text = text.replace(f"${name}", value)
            try:
                words = shlex.split(text, comments=True)
            except ValueError:  # a quotation goes on in the next line
                continue
            if words and words[0] == "curl":
                yield Command.read(words, text)
            text = ""


@pytest.fixture
def document(administrator: User) -> Document:
    Group.objects.create(name="Crew")
    shelf = make_collection("Handbook", chunk_tokens=32, overlap_tokens=0)
    sections = (f"# Rule {n}\n\n{'The harbour master decides. ' * 8}\n" for n in range(8))
    document = make_document(shelf, "\n".join(sections))
    assert document.chunks.count() > 4
    Import.objects.create(pk=7, collection=shelf, kind="archive", state="done")
    active = SearchProfile.objects.get(state="active")
    assert str(drafts.draft_from(active, acting_user=administrator)) == "default v6"
    return document


def test_every_example_command_is_understood(
    api: APIClient, administrator: User, document: Document, settings: Any
) -> None:
    settings.URL_IMPORT = True
    User.objects.create_user("ada", password="correct horse")
    found = api.get("/api/v1/search/", {"q": "harbour master"}).json()
    _, token = AuthToken.objects.create(user=administrator)
    variables = {
        "KB": "/api/v1", "AUTH": f"Authorization: Token {token}", "ID": str(document.public_id),
        "ANSWER": "00000000-0000-4000-8000-00000000000b", "V1": "/v1", "TOKEN": token,
        "THREAD": "00000000-0000-4000-8000-00000000000c", "SEARCH": found["search_id"],
        "JSON": "Content-Type: application/json",
    }  # fmt: skip

    told, count = [], 0
    for command in commands(variables):
        path = urlsplit(command.address).path
        assert resolve(path).url_name != "missing", command.text
        with transaction.atomic():
            answer = command.send(api)
            if answer.streaming:  # read to its end, it closes its file
                assert b"".join(answer.streaming_content)
            transaction.set_rollback(True)
        count += 1
        # Nothing was published before, so that there is nothing to roll back to.
        if answer.status_code not in UNDERSTOOD and b"profile_error" not in answer.content:
            told.append(f"{answer.status_code} {command.text}: {answer.content[:300]!r}")
    assert not told, "\n".join(told)
    assert count > 50
