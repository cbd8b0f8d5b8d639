"""The supervisor on real processes: restarts, giving up, and an end that leaves nothing behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from kbsite.demo import supervisor as supervision
from kbsite.demo.site import listen
from kbsite.demo.stop import SupervisorError, alone, running, stop_running
from kbsite.demo.supervisor import Program, Supervisor
from kbsite.embedded import EmbeddedServersError
from tests.faults.test_embedded import eventually

PROJECT = Path(__file__).resolve().parents[2]
FOR_EVER = (sys.executable, "-c", "import time; print('up', flush=True); time.sleep(300)")
# Does not end when asked to, and has a child that does not either.
STUBBORN = ("/bin/sh", "-c", "trap '' TERM; sleep 300 & echo up; while true; do sleep 1; done")
SUPERVISE = """
import sys
from pathlib import Path
from kbsite.demo.stop import alone
from kbsite.demo.supervisor import Program, Supervisor
run_dir = Path(sys.argv[1])
with alone(run_dir):
    programs = [Program("sleeper", ("sleep", "300"))]
    with Supervisor(programs, run_dir=run_dir, url="http://here", write=print) as running:
        print("started", flush=True)
        running.wait()
"""


def supervise(run_dir: Path, *programs: Program, lines: list[str]) -> Supervisor:
    run_dir.mkdir(parents=True, exist_ok=True)
    return Supervisor(programs, run_dir=run_dir, url="http://here", write=lines.append)


def dead(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


_others: set[int] = set()


@pytest.fixture(autouse=True)
def _leave_others_alone() -> None:
    """The browser of earlier tests is a child of this process too."""
    _others.clear()
    _others.update(child.pid for child in psutil.Process().children(recursive=True))


def children() -> list[psutil.Process]:
    """The child processes that this test has started."""
    family = psutil.Process().children(recursive=True)
    return [child for child in family if child.pid not in _others]


def another_supervisor(run_dir: Path) -> subprocess.Popen[str]:
    """A supervisor in a process of its own, with one program that runs."""
    process = subprocess.Popen(
        [sys.executable, "-c", SUPERVISE, str(run_dir)],
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    eventually(lambda: (known := running(run_dir)) is not None and len(known.alive()) == 2)
    return process


def test_program_that_is_killed_runs_again(tmp_path: Path) -> None:
    lines: list[str] = []
    with supervise(tmp_path, Program("web", FOR_EVER), lines=lines) as programs:
        eventually(lambda: lines == ["web | up"])
        children()[0].kill()
        eventually(lambda: lines.count("web | up") == 2)
        programs.check()
    assert lines[1] == "web | exited by signal SIGKILL; restarting it"
    assert children() == []


def test_program_that_cannot_stay_up_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "RESTART_PAUSE", 0.01)
    lines: list[str] = []
    failing = Program("beat", ("/bin/sh", "-c", "echo no broker; exit 7"))
    with (
        supervise(tmp_path, failing, lines=lines) as programs,
        pytest.raises(SupervisorError, match=r"beat exited 3 times .* exit code 7"),
    ):
        programs.wait()
    assert lines.count("beat | no broker") == 3


def test_full_disk_does_not_end_the_supervision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "RESTART_PAUSE", 0.01)
    # As of a program that ran for a minute before the disk was full.
    monkeypatch.setattr(supervision, "ENDS_WITHIN", 1.0)
    lines: list[str] = []
    is_full = False

    def write(line: str) -> None:
        if is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        lines.append(line)

    def note(*_: object) -> None:
        if is_full:
            raise OSError(errno.ENOSPC, "No space left on device")

    starts, works = tmp_path / "starts", tmp_path / "works"
    works.touch()
    worker = f"echo up; echo >> {starts}; while [ -e {works} ]; do sleep 0.05; done; exit 1"
    monkeypatch.setattr(supervision, "note_running", note)
    with Supervisor(
        [Program("worker", ("/bin/sh", "-c", worker))], run_dir=tmp_path, url="", write=write
    ) as programs:
        eventually(lambda: lines == ["worker | up"])
        time.sleep(1.1)
        is_full = True
        works.unlink()
        eventually(lambda: starts.read_text().count("\n") >= 5)
        programs.check()
        works.touch()
        eventually(lambda: "sleep" in [child.name() for child in children()])
        is_full = False
        next(child for child in children() if child.name() == "sh").kill()
        again = ["worker | exited by signal SIGKILL; restarting it", "worker | up"]
        eventually(lambda: lines[-2:] == again)
        programs.check()


class Server:
    """A server that died, and that starts at the second attempt."""

    log = Path("var/log/postgres.log")

    def __init__(self) -> None:
        self.up = self.is_seen_up = False
        self.starts = 0

    def is_up(self) -> bool:
        self.is_seen_up = self.up
        return self.up

    def start(self, *, cancelled: Callable[[], bool]) -> None:
        self.starts += 1
        if self.starts == 1:
            raise EmbeddedServersError("The disk is full.")
        self.up = not cancelled()


def test_server_that_died_is_started_again_until_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "WATCH_INTERVAL", 0.01)
    lines: list[str] = []
    server = Server()
    with Supervisor(
        (), run_dir=tmp_path, url="http://here", write=lines.append, servers={"postgres": server}
    ) as watching:
        eventually(lambda: server.is_seen_up)
        watching.check()
        server.up = False
        eventually(lambda: server.starts == 3)
    assert lines == [
        "postgres | does not answer; starting it again. Its log: var/log/postgres.log",
        "postgres | cannot be started; next attempt in 0 s. The disk is full.",
        "postgres | does not answer; starting it again. Its log: var/log/postgres.log",
    ]


def test_stubborn_program_and_its_child_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "STOP_TIMEOUT", 0.3)
    lines: list[str] = []
    with supervise(tmp_path, Program("web", STUBBORN), lines=lines):
        eventually(lambda: lines == ["web | up"])
        family = children()
        assert len(family) >= 2
    eventually(lambda: all(dead(process.pid) for process in family))


def test_second_supervisor_is_refused(tmp_path: Path) -> None:
    other = another_supervisor(tmp_path)
    try:
        with (
            pytest.raises(SupervisorError, match="Already running at http://here"),
            alone(tmp_path),
        ):
            pytest.fail("two supervisors run")
    finally:
        assert stop_running(tmp_path)
    other.communicate(timeout=60)


def test_stop_ends_the_supervisor_and_its_programs(tmp_path: Path) -> None:
    other = another_supervisor(tmp_path)
    known = running(tmp_path)
    assert known is not None
    other_pids = [pid for pid, _ in known.processes]

    assert stop_running(tmp_path)
    other.communicate(timeout=60)

    assert all(dead(pid) for pid in other_pids)
    assert not stop_running(tmp_path)


@pytest.mark.parametrize("by", ["next start", "stop"])
def test_orphans_of_a_killed_supervisor_are_ended(tmp_path: Path, by: str) -> None:
    other = another_supervisor(tmp_path)
    known = running(tmp_path)
    assert known is not None
    orphan = known.processes[1][0]
    other.kill()
    other.communicate(timeout=60)
    assert not dead(orphan)

    if by == "stop":
        assert stop_running(tmp_path)
    else:
        with alone(tmp_path):
            assert dead(orphan)
    assert dead(orphan)
    assert running(tmp_path) is None


def test_run_file_that_names_another_process_ends_nobody(tmp_path: Path) -> None:
    innocent = subprocess.Popen(["sleep", "300"])
    try:
        # The id is in use, but by a process that started at another time.
        (tmp_path / "supervisor.json").write_text(
            f'{{"url": "http://here", "processes": [[{innocent.pid}, 1.0]]}}'
        )
        assert not stop_running(tmp_path)
        assert innocent.poll() is None
    finally:
        innocent.send_signal(signal.SIGKILL)
        innocent.wait()


def test_taken_port_gives_way_to_the_next_free_one() -> None:
    with listen("127.0.0.1", 18_400) as first:
        taken = first.getsockname()[1]
        with listen("127.0.0.1", taken) as second:
            assert second.getsockname()[1] > taken


def test_host_that_is_not_here_is_a_message() -> None:
    with pytest.raises(SupervisorError, match="Choose others with --port and --host"):
        listen("203.0.113.1", 18_400)  # reserved for documentation: no machine has it
