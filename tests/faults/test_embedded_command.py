"""`manage.py services` drives the embedded servers and needs no database connection."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbsite.embedded import EmbeddedServers

PROJECT = Path(__file__).resolve().parents[2]
# Only the settings that the command reads, and a database that is never there.
MANAGE = """
import sys
from pathlib import Path
import django
from django.conf import settings
from kbsite.embedded import EmbeddedServers
from kbsite.management.commands.services import Command

settings.configure(
    EMBEDDED=EmbeddedServers(Path(sys.argv[1]), durable=False),
    EMBEDDED_POSTGRES="postgres" in sys.argv[2],
    EMBEDDED_REDIS="redis" in sys.argv[2],
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "HOST": "/nowhere"}},
)
django.setup()
Command().run_from_argv(["manage.py", "services", *sys.argv[3:]])
"""


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[EmbeddedServers]:
    made = EmbeddedServers(tmp_path / "var", durable=False)
    yield made
    made.stop()


def services(
    servers: EmbeddedServers, action: str, embedded: str = "postgres,redis"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MANAGE, str(servers.var_dir), embedded, action],
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def states(shown: str) -> list[tuple[str, str]]:
    """Each server's name and state, from the printed table."""
    rows = [line.split() for line in shown.splitlines()]
    return [(row[0], row[1]) for row in rows if row[0] in {"Postgres", "Valkey"}]


def test_start_status_stop(servers: EmbeddedServers) -> None:
    before = services(servers, "status")
    started = services(servers, "start")
    during = services(servers, "status")
    pids = [str(server.pid) for server in servers.status()]
    stopped = services(servers, "stop")
    after = services(servers, "status")

    assert (before.returncode, started.returncode, during.returncode) == (3, 0, 0)
    assert (stopped.returncode, after.returncode) == (0, 3)
    assert states(before.stdout) == [("Postgres", "down"), ("Valkey", "down")]
    assert states(during.stdout) == [("Postgres", "up"), ("Valkey", "up")]
    assert during.stdout == started.stdout
    assert all(pid in during.stdout for pid in pids)
    assert after.stdout == stopped.stdout == before.stdout


def test_external_servers_are_named_and_left_alone(servers: EmbeddedServers) -> None:
    none = services(servers, "start", embedded="none")
    assert none.returncode == 0
    assert "Postgres is external (DATABASE_URL is set)" in none.stdout
    assert "Redis is external (REDIS_URL is set)" in none.stdout
    assert not servers.var_dir.exists()

    assert "Postgres is external" in services(servers, "start", embedded="redis").stdout
    status = services(servers, "status", embedded="redis")
    assert status.returncode == 0
    assert states(status.stdout)[-1] == ("Valkey", "up")
    assert [server.up for server in servers.status()] == [False, True]


def test_failure_is_a_message_without_a_traceback(servers: EmbeddedServers) -> None:
    servers.socket_dir.mkdir(mode=0o755)
    servers.socket_dir.chmod(0o755)
    done = services(servers, "start")
    servers.socket_dir.rmdir()

    assert done.returncode == 1
    assert done.stderr.startswith("CommandError: ")
    assert "has the mode 0755" in done.stderr
