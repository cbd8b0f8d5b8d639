"""An exported server: built, started on a database of its own, asked, and unable to change."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from asgiref.sync import async_to_sync
from django.core.management import CommandError, call_command
from django.urls import reverse
from mcp import Client

from ingestion.models import Collection, Visibility
from kbsite.embedded import EmbeddedServers
from search.models import SearchProfile
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("servers")]

PATIENCE = 180
CODES = "# Faults\n\n## Fan\n\nCode D40 means that the fan of the drier is blocked by lint.\n"
OTHERS = "# Other codes\n\nThe code D-41 is about the door, and E40 is about the pump.\n"


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The server of the folder, started by its serve.sh, with the packages of these tests."""
    _install(folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    unwanted = ("DJANGO_SETTINGS_MODULE", "STEELYARD_ENV_FILE", "STEELYARD_VAR", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    environment |= {"DATABASE_POOL": "4", "WEB_CONCURRENCY": "1", "PORT": str(port)}
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen([folder / "serve.sh"], env=environment, stdout=log, stderr=log)
        try:
            _wait(process, port, folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(60)
            left = EmbeddedServers(folder / "app" / "var").status()
            EmbeddedServers(folder / "app" / "var").stop()
    assert [server.name for server in left if server.up] == [], "It stops its database and queue."


def _install(folder: Path) -> None:
    """What serve.sh does where it is missing: the environment, and the note that it is whole."""
    environment = folder / ".venv"
    environment.mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (environment / name).symlink_to(Path(sys.prefix) / name)
    (environment / ".installed").touch()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def ask(url: str, **asked: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}/api/v1/search/?{urlencode(asked)}", timeout=60) as reply:
        return dict(json.load(reply))


def refused(url: str, method: str = "POST") -> tuple[int, str]:
    request = urllib.request.Request(
        url, b"{}", {"Content-Type": "application/json"}, method=method
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=60)
    return caught.value.code, caught.value.read().decode()


def test_an_exported_server_answers_as_the_site_does(tmp_path: Path) -> None:
    """S1-01, S1-27, S1-38, S1-42, S2-23: D40 first, by meaning, the profile's weights."""
    collection = make_collection("Drier", visibility=Visibility.SIGNED_IN)
    make_collection("Secret", visibility=Visibility.GROUPS)
    fan = make_document(collection, CODES, title="Fan")
    make_document(collection, OTHERS, title="Codes")
    make_document(collection, CONNECTIONS, title="Connections")
    active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
    weights = active.class_weights.get(query_class="lookup")
    weights.vector, weights.keyword, weights.title = "0.3100", "0.5900", "0.1000"
    weights.recency = weights.synonym = weights.concept = weights.wordnet = "0"
    weights.save()
    folder = tmp_path / "drier"
    call_command("export_collection", "Drier", server=folder)

    assert not [path for path in folder.rglob("*") if path.name in ("tests", ".git", "secret_key")]
    with running(folder) as url:
        found = ask(url, q="D-40", **{"class": "lookup"})
        assert found["results"][0]["document"]["id"] == str(fan.public_id)
        used = {name: share for name, share in found["weights"].items() if share}
        assert used == pytest.approx({"vector": 0.31, "keyword": 0.59, "title": 0.1})
        found = ask(url, q="ventilator obstructed by fluff in the laundry machine")
        assert found["results"][0]["document"]["id"] == str(fan.public_id)
        readme = (folder / "README.md").read_text()
        for path in re.findall(r"http://localhost:8000(/api/\S+/\S*?),? ", readme):
            with urllib.request.urlopen(url + path.replace("QUESTION", "fan"), timeout=60) as reply:
                assert "Deprecation" not in reply.headers, path

        async def names() -> list[str]:
            async with Client(f"{url}/mcp") as client:
                called = await client.call_tool("list_collections", {})
            (item,) = called.content
            return [each["name"] for each in json.loads(item.text)["collections"]]

        assert async_to_sync(names)() == ["Drier"]
        status, error = refused(f"{url}/api/v1/documents/")
        assert (status, json.loads(error)["code"]) == (403, "read_only")
        assert refused(f"{url}/api/v1/documents/{fan.public_id}/", "DELETE")[0] == 403
        for closed in ("admin/login/", "login/"):
            assert refused(f"{url}/{closed}", "GET")[0] == 404


def test_the_compose_file_fits_the_folder_and_its_image(tmp_path: Path) -> None:
    """There is no Docker here: what it would read exists, and the two files agree."""
    make_collection("Drier")
    folder = tmp_path / "drier"
    call_command("export_collection", "Drier", server=folder)
    compose = yaml.safe_load((folder / "compose.yaml").read_text())
    (web,) = compose["services"].values()
    steps = _steps(folder / web["build"] / "Dockerfile")
    for copied in steps["COPY"]:
        source = copied.removeprefix("--chown=steelyard ").split()[0]
        assert (folder / web["build"] / source).exists(), copied

    variables = dict(pair.split("=", 1) for line in steps["ENV"] for pair in line.split())
    (mounted,) = web["volumes"]
    volume, _, inside = mounted.partition(":")
    assert volume in compose["volumes"]
    assert inside == variables["STEELYARD_VAR"]
    assert variables["HOST"] == "0.0.0.0"  # else the port could not be published
    assert web["ports"] == [f"{port}:{port}" for port in steps["EXPOSE"]]
    assert reverse("health") in web["healthcheck"]["test"][-1]
    assert json.loads(steps["CMD"][-1])[1:3] == ["manage.py", "serve_export"]


def _steps(dockerfile: Path) -> dict[str, list[str]]:
    """The arguments of each kind of instruction."""
    found: dict[str, list[str]] = {}
    for line in dockerfile.read_text().splitlines():
        name, _, rest = line.partition(" ")
        found.setdefault(name, []).append(rest)
    return found


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    make_collection("Drier")
    with pytest.raises(CommandError, match="already exists"):
        call_command("export_collection", "Drier", server=tmp_path)
    with pytest.raises(CommandError, match="no collection"):
        call_command("export_collection", "Nothing", server=tmp_path / "new")
    with pytest.raises(CommandError, match="either"):
        call_command("export_collection", "Drier")
    assert Collection.objects.count() == 1
