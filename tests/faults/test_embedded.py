"""The embedded servers start, attach, survive every kind of kill, and stop: on real processes."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
import redis

from kbsite.embedded import EmbeddedServers, EmbeddedServersError
from kbsite.embedded.server import server_environment

PROJECT = Path(__file__).resolve().parents[2]
START_AND_ASK = """
import json, sys
from pathlib import Path
import psycopg
from kbsite.embedded import EmbeddedServers

servers = EmbeddedServers(Path(sys.argv[1]), durable=False)
pids = [server.pid for server in servers.start()]
settings = servers.database_settings()
with psycopg.connect(host=settings["HOST"], user=settings["USER"], dbname=settings["NAME"]) as db:
    mode = db.execute("SHOW dynamic_shared_memory_type").fetchone()[0]
print(json.dumps([*pids, mode]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[EmbeddedServers]:
    """Servers that are not started, in a path with a space; stopped after the test."""
    made = EmbeddedServers(tmp_path / "with space" / "var", durable=False)
    yield made
    made.stop()


def ask(servers: EmbeddedServers, statement: str) -> Any:
    """The first value of the first row, or None for a statement that returns no rows."""
    with connected(servers) as connection:
        cursor = connection.execute(statement)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None


def connected(servers: EmbeddedServers) -> psycopg.Connection:
    """A new connection with Django's settings."""
    settings = servers.database_settings()
    return psycopg.connect(
        host=settings["HOST"], port=settings["PORT"], user=settings["USER"],
        dbname=settings["NAME"], autocommit=True,
    )  # fmt: skip


def cache(servers: EmbeddedServers) -> redis.Redis:
    """A client for the cache's database."""
    return redis.Redis.from_url(servers.cache_url)


def launch(servers: EmbeddedServers, *prefix: str) -> subprocess.Popen[str]:
    """A process that starts the servers, asks them, prints what it learnt, and waits."""
    return subprocess.Popen(
        [*prefix, sys.executable, "-c", START_AND_ASK, str(servers.var_dir)],
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip


def answer(process: subprocess.Popen[str]) -> str:
    """All that the process prints; fails the test if the process failed."""
    printed, errors = process.communicate(timeout=180)
    assert process.returncode == 0, errors
    return printed


def eventually(condition: Callable[[], object], seconds: float = 60) -> None:
    """Waits until the condition holds; fails the test if it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.005)


def is_dead(process: psutil.Process) -> bool:
    """True also for a zombie: whether and when it goes is up to this machine's process 1."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def kill(*processes: psutil.Process) -> None:
    """Kills all at once and returns when they are dead, which takes the kernel a moment."""
    for process in processes:
        # A child of a process killed before it may have ended by itself in between.
        with suppress(psutil.NoSuchProcess):
            process.kill()
    eventually(lambda: all(map(is_dead, processes)))


def postmaster(servers: EmbeddedServers) -> psutil.Process:
    return psutil.Process(servers.postgres.status().pid)


def test_first_start_makes_a_database_fit_for_the_migrations(servers: EmbeddedServers) -> None:
    started = servers.start()

    assert [(s.name, s.up) for s in started] == [("Postgres", True), ("Valkey", True)]
    assert ask(servers, "SHOW server_encoding") == "UTF8"
    assert ask(servers, "SHOW listen_addresses") == ""
    provider = "SELECT datlocprovider::text || ' ' || datlocale FROM pg_database WHERE datname = "
    assert ask(servers, f"{provider} current_database()") == "b C.UTF-8"
    assert ask(servers, "SELECT count(*) FROM pg_extension WHERE extname <> 'plpgsql'") == 0
    for extension in ("vector", "pg_trgm", "unaccent", "btree_gin"):
        ask(servers, f"CREATE EXTENSION {extension}")
    with cache(servers) as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert client.config_get("appendonly") == {"appendonly": "yes"}
        assert client.config_get("port") == {"port": "0"}


def test_stop_ends_all_processes_and_clears_the_sockets(servers: EmbeddedServers) -> None:
    processes = [psutil.Process(server.pid) for server in servers.start()]
    with connected(servers):  # an open session does not hold the stop up
        servers.stop()

    assert not any(server.up for server in servers.status())
    eventually(lambda: all(map(is_dead, processes)))
    assert not servers.socket_dir.exists()
    servers.stop()


def stopped(servers: EmbeddedServers) -> None:
    servers.stop()


def killed(servers: EmbeddedServers) -> None:
    kill(postmaster(servers), psutil.Process(servers.valkey.status().pid))


def without_sockets(servers: EmbeddedServers) -> None:
    shutil.rmtree(servers.socket_dir)


@pytest.mark.parametrize("end", [stopped, killed, without_sockets])
def test_data_survives_the_end_of_the_servers(
    servers: EmbeddedServers, end: Callable[[EmbeddedServers], None]
) -> None:
    servers = replace(servers, durable=True)
    servers.start()
    ask(servers, "CREATE TABLE kept AS SELECT 42 AS n")
    with cache(servers) as client:
        client.set("kept", "42")
    end(servers)
    assert not any(server.up for server in servers.status())
    servers.start()

    assert ask(servers, "SELECT n FROM kept") == 42
    with cache(servers) as client:
        assert client.get("kept") == b"42"
    assert all(server.up for server in servers.status())


def test_long_path_still_has_a_short_socket(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a-directory-with-a-rather-long-name"] * 8)
    servers = EmbeddedServers(deep, durable=False)
    try:
        servers.start()
        assert len(os.fsencode(servers.postgres.socket)) < 103
        assert ask(servers, "SELECT 1") == 1
    finally:
        servers.stop()


def test_database_settings_start_nothing(servers: EmbeddedServers) -> None:
    settings = servers.database_settings()
    assert settings == EmbeddedServers(servers.var_dir).database_settings()
    assert not servers.var_dir.exists()
    assert not servers.socket_dir.exists()


def test_four_processes_at_once_share_one_server(servers: EmbeddedServers) -> None:
    processes = [launch(servers) for _ in range(4)]
    assert len({answer(process) for process in processes}) == 1
    assert len(list(servers.var_dir.glob("postgres*"))) == 1


def test_servers_outlive_a_killed_starter(servers: EmbeddedServers) -> None:
    with launch(servers) as starter:
        assert starter.stdout
        assert starter.stdout.readline()
        os.killpg(starter.pid, signal.SIGKILL)
    assert ask(servers, "SELECT 1") == 1
    assert all(server.up for server in servers.status())


@pytest.mark.parametrize("reached", ["postgres.new-*/base/1/*", "log/*.log"])
def test_start_killed_halfway_leaves_nothing_in_the_way(
    servers: EmbeddedServers, reached: str
) -> None:
    with launch(servers) as starter:
        eventually(lambda: any(servers.var_dir.glob(reached)))
        os.killpg(starter.pid, signal.SIGKILL)
    servers.start()

    assert ask(servers, "SELECT 1") == 1
    assert not list(servers.var_dir.glob("postgres.new-*"))


def test_start_after_a_kill_that_left_a_busy_child(servers: EmbeddedServers) -> None:
    servers.start()
    connection = connected(servers)
    try:
        connection.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 1e12::bigint)")
        busy = psutil.Process(connection.info.backend_pid)
        eventually(lambda: busy.cpu_times().user > 0.1)
        kill(postmaster(servers))
        servers.start()

        eventually(lambda: is_dead(busy))
    finally:
        connection.close()
    assert ask(servers, "SELECT 1") == 1


def test_a_socket_that_nobody_serves_is_no_server(servers: EmbeddedServers) -> None:
    """What a child of a killed postmaster leaves, if it was forked a moment before."""
    postgres = servers.postgres
    postgres.data_dir.mkdir(parents=True)
    (postgres.data_dir / postgres.pid_name).write_text("1\n" * 7 + "ready\n")
    servers.socket_dir.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as held:
        held.bind(os.fspath(postgres.socket))
        held.listen()
        assert not postgres.is_up()


def test_stale_pid_files_may_name_a_live_foreign_process(servers: EmbeddedServers) -> None:
    servers.start()
    leader = postmaster(servers)
    kill(psutil.Process(servers.valkey.status().pid), leader, *leader.children())
    with subprocess.Popen(["sleep", "30"]) as foreign:
        for noted in (
            servers.postgres.data_dir / "postmaster.pid",
            servers.socket_dir / ".s.PGSQL.5432.lock",
            servers.valkey.data_dir / "valkey.pid",
        ):
            _, *rest = noted.read_text().splitlines()
            noted.write_text("\n".join([str(foreign.pid), *rest, ""]))
        servers.start()

        assert ask(servers, "SELECT 1") == 1
        assert foreign.poll() is None
        servers.stop()
        assert foreign.poll() is None
        foreign.kill()


def test_a_server_started_by_hand_is_not_disturbed(servers: EmbeddedServers) -> None:
    servers.start(redis=False)
    servers.postgres.stop()
    by_hand = subprocess.Popen(
        servers.postgres.command(), env=server_environment(), stderr=subprocess.DEVNULL
    )
    try:
        eventually(servers.postgres.is_up)
        shutil.rmtree(servers.socket_dir)
        with pytest.raises(EmbeddedServersError, match=f"Process {by_hand.pid} uses"):
            servers.start(redis=False)
        assert by_hand.poll() is None
    finally:
        by_hand.send_signal(signal.SIGINT)
        by_hand.wait(60)


def test_a_foreign_data_directory_is_left_alone(servers: EmbeddedServers) -> None:
    servers.postgres.data_dir.mkdir(parents=True)
    precious = servers.postgres.data_dir / "precious.txt"
    precious.write_text("mine")
    with pytest.raises(EmbeddedServersError, match="is not empty and is not a Postgres cluster"):
        servers.start(redis=False)
    assert precious.read_text() == "mine"


def test_a_cluster_of_another_version_is_refused(servers: EmbeddedServers) -> None:
    servers.start(redis=False)
    servers.stop()
    (servers.postgres.data_dir / "PG_VERSION").write_text("17\n")
    with pytest.raises(EmbeddedServersError, match=r"was created by Postgres 17.*pg_dump"):
        servers.start(redis=False)


def test_a_server_that_cannot_start_says_why(servers: EmbeddedServers) -> None:
    servers.start(redis=False)
    ask(servers, "ALTER SYSTEM SET shared_preload_libraries = 'no_such_library'")
    servers.stop()
    with pytest.raises(EmbeddedServersError, match=r"(?s)exited during its start.*no_such_library"):
        servers.start(redis=False)
