"""The demo as a person runs it, on real processes, and the documents that it brings.

It starts from the checkout by make, then from a wheel of it: two starts of all programs in place of
three, and one set of tables. What is in the wheel is compared with the checkout.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import sysconfig
import tarfile
import threading
import time
import urllib.error
import urllib.request
import venv
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any

import django
import psutil
import psycopg
import pytest

from kbsite.demo import examples
from kbsite.demo.documents import DocsUnavailable, django_docs
from kbsite.demo.stop import running
from kbsite.embedded import EmbeddedServers, Server

PROJECT = Path(__file__).resolve().parents[2]
# A guess with a wide margin: a start of the site takes about ten seconds on an idle machine.
PATIENCE = 400
READY = "Ctrl-C ends it"
# The tests' settings that would not be there on a person's machine.
NOT_OURS = (
    "STEELYARD_VAR", "DATABASE_POOL", "DJANGO_ALLOW_ASYNC_UNSAFE", "DJANGO_SETTINGS_MODULE",
    "MAKEFLAGS",
)  # fmt: skip

# Of web servers and workers; the first demo starts as many as there are cores, as a person does.
FEW = {"WEB_CONCURRENCY": "1", "WORKER_CONCURRENCY": "1"}
# In the environment that these tests run in, which is installed.
MAKE = ("make", "--old-file=.venv/.installed", f"PY={sys.executable}", "demo")
OPTIONS = ("--corpus", "samples")
OUTPUT: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}


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
        command = [self.environment / "bin" / "steelyard", *arguments]
        return subprocess.Popen(command, cwd=self.site, env=ours | FEW, **OUTPUT)

    def run(self, *arguments: str) -> str:
        """The output of a command that succeeds."""
        started = self.start(*arguments)
        printed, _ = started.communicate(timeout=PATIENCE)
        assert started.returncode == 0, printed
        return printed

    def files(self) -> set[Path]:
        """What is installed, but for the bytecode that Python keeps."""
        return {path for path in self.environment.rglob("*") if "__pycache__" not in path.parts}


def of_checkout(var_dir: Path, *arguments: str, by_make: bool = False) -> subprocess.Popen[str]:
    """The demo of this checkout with these options."""
    ours = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
    options = (*OPTIONS, *arguments)
    return subprocess.Popen(
        [*MAKE, f"ARGS={shlex.join(options)}"] if by_make
        else [sys.executable, "manage.py", "demo", *options],
        cwd=PROJECT,
        env=ours | ({} if by_make else FEW) | {"STEELYARD_VAR": str(var_dir)},
        **OUTPUT,
    )  # fmt: skip


class Demo:
    """A running demo: its process and what it has printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def printed(self) -> str:
        return "".join(self.lines)

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while text not in self.printed:
            assert self.process.poll() is None, self.printed
            assert time.monotonic() < deadline, self.printed
            time.sleep(0.05)

    def wait(self) -> int:
        code = self.process.wait(PATIENCE)
        self._reader.join(60)
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            self.lines.extend(iter(lines.readline, ""))


@contextmanager
def demo(process: subprocess.Popen[str]) -> Iterator[Demo]:
    started = Demo(process)
    try:
        yield started
    finally:
        family = [started.process.pid]
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(started.process.pid).children(recursive=True)
            family += [child.pid for child in children]
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        started.process.wait(60)


@pytest.fixture(scope="module")
def var_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("with space") / "var"
    yield made
    EmbeddedServers(made).stop()


@pytest.fixture(scope="module")
def first(var_dir: Path) -> tuple[int, str]:
    """The exit code and the output of the first `make demo ARGS="--once ..."`."""
    with demo(of_checkout(var_dir, "--once", "--port", "18500", by_make=True)) as started:
        return started.wait(), started.printed


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, var_dir: Path) -> Installation:
    """An environment with the wheel alone, which finds its dependencies in that of the tests."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    environment = folder / "environment"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    install = ["--python", python, "install", "--quiet", "--no-index", "--no-deps", wheel]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return Installation(wheel, environment, var_dir.parent)


def servers_up(var_dir: Path) -> list[bool]:
    return [server.up for server in EmbeddedServers(var_dir).status()]


def test_first_start_ends_with_results(first: tuple[int, str], var_dir: Path) -> None:
    code, printed = first

    assert code == 0, printed
    assert re.search(r"13 files became \d+ chunks", printed), printed
    assert "1. Survey of the northern ridge > Region D40" in printed
    password = re.search(r"user admin, password (\S{16})\n", printed)
    assert password
    # Once the site answers, before the documents are read, and again at the end.
    places = ("The site answers", "  Search ", password[1], "files became")
    assert sorted(places, key=printed.index) == list(places)
    assert printed.count(password[1]) == 2
    assert "without:" not in printed  # no signal was missing
    assert servers_up(var_dir) == [False, False]
    assert running(var_dir / "run") is None


def test_password_is_stored_in_no_file(first: tuple[int, str], var_dir: Path) -> None:
    found = re.search(r"password (\S{16})\n", first[1])
    assert found
    own = [path for path in var_dir.rglob("*") if path.is_file() and "postgres" not in path.parts]
    assert not [path for path in own if found[1].encode() in path.read_bytes()]


def test_the_wheel_has_what_a_site_serves_and_nothing_of_its_development(
    installed: Installation,
) -> None:
    names = set(zipfile.ZipFile(installed.wheel).namelist())
    served = {
        f"kbsite/resources/{path.relative_to(PROJECT).as_posix()}"
        for folder in ("templates", "static", "locale")
        for path in (PROJECT / folder).rglob("*")
        if path.is_file()
    }
    assert len(served) > 200
    assert served <= names
    packages = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert packages == {"common", "ingestion", "kbsite", "search"}
    own = {
        path.relative_to(PROJECT).as_posix()
        for package in packages
        for path in (PROJECT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"kbsite/demo/samples/ros2-node.md", "kbsite/demo/judgements/qrels.tsv"} <= own <= names


def test_servers_that_ran_before_are_left_running_until_stop(
    first: tuple[int, str], var_dir: Path, installed: Installation
) -> None:
    EmbeddedServers(var_dir).start()
    with demo(of_checkout(var_dir, "--port", "18500")) as started:
        started.wait_for("Starting the site")
        eventually(lambda: running(var_dir / "run") is not None)
        started.process.terminate()  # in the middle, as `make stop` does: its programs start
        assert started.wait() == 0, started.printed
    assert running(var_dir / "run") is None
    assert servers_up(var_dir) == [True, True]
    assert "Nothing runs any more" in installed.run("stop")
    assert servers_up(var_dir) == [False, False]


def test_second_start_keeps_all_survives_dead_servers_and_ctrl_c_leaves_nothing(
    first: tuple[int, str], var_dir: Path, installed: Installation
) -> None:
    """Of the wheel, in the folder of the site: it knows the migrations and the documents."""
    before = installed.files()
    assert "no issues" in installed.run("manage", "check")
    with socket.create_server(("127.0.0.1", 0)) as blocker:
        taken = blocker.getsockname()[1]
        with demo(installed.start("demo", *OPTIONS, "--port", str(taken))) as second:
            second.wait_for(READY)
            known = running(var_dir / "run")
            assert known is not None
            family = psutil.Process(second.process.pid).children(recursive=True)
            assert_it_has_its_style_sheets(known.url)
            servers_die(EmbeddedServers(var_dir), known.url)
            with demo(of_checkout(var_dir, "--once")) as third:
                assert third.wait() == 1
            second.process.send_signal(signal.SIGINT)
            code = second.wait()

    assert code == 0, second.printed
    assert f"Port {taken} is taken" in second.printed
    assert "Nothing new: 13 documents" in second.printed
    assert "password as shown at the first start" in second.printed
    assert "postgres | does not answer; starting it again" in second.printed
    assert "valkey   | does not answer; starting it again" in second.printed
    for noise in ("GET /", "Hitting Ctrl+C again"):
        assert noise not in second.printed
    assert f"Already running at {known.url}" in third.printed
    assert "problem" not in second.printed
    assert len(family) >= 4  # web and its processes, worker and its, beat
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []
    assert servers_up(var_dir) == [False, False]
    assert installed.files() == before
    assert [path.name for path in installed.site.iterdir()] == ["var"]


def assert_it_has_its_style_sheets(url: str) -> None:
    def fetch(address: str) -> str:
        with urllib.request.urlopen(address, timeout=60) as reply:
            text: str = reply.read().decode()
            return text

    sheets = re.findall(r'<link rel="stylesheet" href="([^"]+)"', fetch(f"{url}/"))
    assert sheets
    assert all("{" in fetch(url + sheet) for sheet in sheets)


def servers_die(servers: EmbeddedServers, url: str) -> None:
    """Each server is killed; readers see what they shall until the supervisor has it back."""
    eventually(lambda: get(f"{url}/health/")[0] == 200)
    kill_at_once(servers.postgres)
    # Whoever holds its lock keeps it from being started.
    with held(servers.postgres.lock):
        assert get(f"{url}/") == (503, "5")
        assert get(f"{url}/api/v1/search/?q=slam") == (503, "5")
        assert get(f"{url}/health/") == (503, None)
    eventually(lambda: get(f"{url}/?q=slam")[0] == 200)
    kill_at_once(servers.valkey)
    assert get(f"{url}/?q=slam")[0] == 200
    eventually(lambda: get(f"{url}/health/")[0] == 200)


def get(url: str) -> tuple[int, str | None]:
    """The status and the header Retry-After. Before, a page took ten seconds to fail."""
    try:
        with urllib.request.urlopen(url, timeout=9) as page:
            return page.status, None
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Retry-After"]


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def kill_at_once(server: Server) -> None:
    """`kill -9` of the server and its children, without waiting: somebody may start it again."""
    process = psutil.Process(int((server.data_dir / server.pid_name).read_text().split()[0]))
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            each.kill()


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock as soon as the processes of the killed server have let go of it."""
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_database_of_another_version_is_refused_in_one_sentence(
    first: tuple[int, str], var_dir: Path
) -> None:
    servers = EmbeddedServers(var_dir)
    servers.start(redis=False)
    to = servers.database_settings()
    with psycopg.connect(host=to["HOST"], dbname=to["NAME"], user=to["USER"]) as connection:
        connection.execute(
            "INSERT INTO django_migrations (app, name, applied) "
            "VALUES ('search', '0007_of_an_old_checkout', now())"
        )
    with demo(of_checkout(var_dir, "--once")) as refused:
        assert refused.wait() == 1, refused.printed

    assert "search.0007_of_an_old_checkout" in refused.printed
    assert "export-collection" in refused.printed
    assert "make clean-data" in refused.printed
    assert "Traceback" not in refused.printed


def test_site_stops_despite_a_bad_value_in_env(tmp_path: Path) -> None:
    servers = EmbeddedServers(tmp_path / "var", durable=False)
    servers.start(postgres=False)
    settings = tmp_path / ".env"
    settings.write_text(f"STEELYARD_VAR={tmp_path / 'var'}\nMAX_UPLOAD_MB=many\n")
    environment = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
    done = subprocess.run(
        [sys.executable, "-m", "kbsite.demo.stop"], cwd=PROJECT, check=False, text=True,
        env=environment | {"STEELYARD_ENV_FILE": str(settings)}, capture_output=True,
    )  # fmt: skip
    assert (done.returncode, servers_up(tmp_path / "var")) == (0, [False, False]), done.stderr


class Site:
    """Answers requests one after the other: with JSON, or an error that it raises."""

    def __init__(self, *answers: object) -> None:
        self._answers = iter(answers)

    def open(self, request: urllib.request.Request, timeout: float) -> io.BytesIO:
        assert request.get_header("Dnt") == "1"  # the demo's own questions are no reader's
        answer = next(self._answers)
        if isinstance(answer, OSError):
            raise answer
        return io.BytesIO(json.dumps(answer).encode())


def refusal(code: int) -> urllib.error.HTTPError:
    return urllib.error.HTTPError("http://here", code, "", Message(), io.BytesIO(b"No such"))


def test_example_searches_continue_after_refused_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "_opener", Site({"results": []}, refusal(400), refusal(503)))
    first, second, third = examples.run("http://here", heard)
    assert first == "The search for “Tell me about Region D40” returned no results."
    assert second.endswith("answered 400: No such")
    assert "answered 503" in third
    monkeypatch.setattr(examples, "START_TIMEOUT", -1)
    lines: list[str] = []
    site = Site(TimeoutError("timed out"), OSError("refused"), {}, refusal(500))
    monkeypatch.setattr(examples, "_opener", site)
    examples.wait_until_up("http://here", list, lines.append)
    assert len(lines) == 2
    assert "timed out. Its programs run: waiting for it" in lines[0]
    with pytest.raises(examples.SiteUnavailable, match="answered 500"):
        examples.wait_until_up("http://here", list, lines.append)


# --- The demo's documents: our samples, and Django's manual out of an archive --------------------


RELEASE = "django-" + ".".join(django.get_version().split(".")[:2])


def heard(line: str) -> None:
    """Takes a line that the demo would print."""


def archive(folder: Path, *paths: str) -> Path:
    path = folder / f"Django-{django.get_version()}.tar.gz"
    with tarfile.open(path, "w:gz") as members:
        for name in paths:
            member = tarfile.TarInfo(name)
            member.size = len(name.encode())
            members.addfile(member, io.BytesIO(name.encode()))
    return path


def test_manual_is_read_without_release_notes_and_layout(tmp_path: Path) -> None:
    archive(
        tmp_path,
        "django/docs/ref/models/querysets.txt",
        "django/docs/index.txt",
        "django/docs/releases/5.2.txt",
        "django/docs/_theme/LICENSE.txt",
        "django/docs/conf.py",
        "django/django/db/notes.txt",
        "../docs/outside.txt",
    )
    found = django_docs(tmp_path, heard)

    assert [(file.source, file.file_name) for file in found] == [
        (f"{RELEASE}/index.txt", "index.rst"),
        (f"{RELEASE}/outside.txt", "outside.rst"),
        (f"{RELEASE}/ref/models/querysets.txt", "querysets.rst"),
    ]
    assert found[2].content == b"django/docs/ref/models/querysets.txt"


def test_damaged_archive_is_removed_and_reported(tmp_path: Path) -> None:
    path = archive(tmp_path, "django/docs/index.txt")
    path.write_bytes(path.read_bytes()[:60])

    with pytest.raises(DocsUnavailable, match=r"was damaged .* Run this command again"):
        django_docs(tmp_path, heard)
    assert not path.exists()


def test_missing_network_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")

    with pytest.raises(DocsUnavailable, match="--corpus samples"):
        django_docs(tmp_path / "demo", heard)
    assert list((tmp_path / "demo").iterdir()) == []
