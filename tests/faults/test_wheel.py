"""The wheel, installed outside of the checkout: what is in it, and the site that it serves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import time
import urllib.request
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from kbsite.embedded import EmbeddedServers
from tests.faults.test_demo import FEW, NOT_OURS, PATIENCE, READY

PROJECT = Path(__file__).resolve().parents[2]
RESOURCES = ("templates", "static", "locale")


@dataclass(frozen=True)
class Installation:
    """The wheel, the environment in which it is installed, and a folder for its site."""

    wheel: Path
    environment: Path
    site: Path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """`steelyard` with these arguments, in the site's folder."""
        unwanted = {*NOT_OURS, "STEELYARD_ENV_FILE", "PYTHONPATH"}
        ours = {name: value for name, value in os.environ.items() if name not in unwanted}
        with self.log(*arguments).open("w") as log:
            return subprocess.Popen(
                [self.environment / "bin" / "steelyard", *arguments],
                cwd=self.site, env=ours | FEW, stdout=log, stderr=log, text=True,
            )  # fmt: skip

    def run(self, *arguments: str) -> str:
        """The output of a command that succeeds."""
        status = self.start(*arguments).wait(PATIENCE)
        printed = self.log(*arguments).read_text()
        assert status == 0, printed
        return printed

    def log(self, *arguments: str) -> Path:
        """What the command with these arguments prints."""
        return self.environment.parent / f"{arguments[0]}.log"

    def files(self) -> set[Path]:
        """What is installed, but for the bytecode that Python keeps."""
        return {path for path in self.environment.rglob("*") if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """An environment with the wheel alone, which finds its dependencies in that of the tests."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    environment, site = folder / "environment", folder / "site"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    install = ["--python", python, "install", "--quiet", "--no-index", "--no-deps", wheel]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    site.mkdir()
    return Installation(wheel, environment, site)


def test_it_has_what_a_site_serves_and_nothing_of_its_development(installed: Installation) -> None:
    names = set(zipfile.ZipFile(installed.wheel).namelist())
    served = {
        f"kbsite/resources/{path.relative_to(PROJECT).as_posix()}"
        for folder in RESOURCES
        for path in (PROJECT / folder).rglob("*")
        if path.is_file()
    }
    assert len(served) > 200
    assert served <= names
    data = {"kbsite/demo/samples/ros2-node.md", "kbsite/demo/judgements/qrels.tsv"}
    assert data <= names
    packages = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert packages == {"common", "ingestion", "kbsite", "search"}


def test_a_site_is_served_from_the_folder_in_which_it_is_started(installed: Installation) -> None:
    before = installed.files()
    assert "no issues" in installed.run("manage", "check")
    demo = installed.start("demo", "--corpus", "samples")
    try:
        deadline = time.monotonic() + PATIENCE
        while READY not in (printed := installed.log("demo").read_text()):
            assert demo.poll() is None, printed
            assert time.monotonic() < deadline, printed
            time.sleep(0.2)
        (address,) = re.findall(r"The site answers at (\S+)", printed)
        page = fetch(address + "/")
        sheets = re.findall(r'<link rel="stylesheet" href="([^"]+)"', page)
        assert sheets
        assert all("{" in fetch(address + sheet) for sheet in sheets)
        assert "problem" not in printed
        stop = installed.start("stop")
        # Reaped at once: to the command, a process that has ended without that still runs.
        assert demo.wait(PATIENCE) == 0
        assert stop.wait(PATIENCE) == 0, installed.log("stop").read_text()
    finally:
        demo.terminate()
        demo.wait(PATIENCE)
        servers = EmbeddedServers(installed.site / "var")
        left = [server.name for server in servers.status() if server.up]
        servers.stop()
    assert left == [], "It stops its database and queue."
    assert installed.files() == before
    assert [path.name for path in installed.site.iterdir()] == ["var"]


def fetch(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as reply:
        return reply.read().decode()
