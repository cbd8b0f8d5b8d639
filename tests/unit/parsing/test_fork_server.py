"""One process holds the parsers' code and forks a child for each file; no file meets another's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from ingestion.errors import DamagedFile, ParseLimitExceeded
from ingestion.parsing.child import fork_client

from .conftest import Parse
from .intruders import intruding

pytestmark = pytest.mark.forks

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _no_servers() -> Iterator[None]:
    fork_client.close_servers()
    yield
    fork_client.close_servers()


def servers() -> list[psutil.Process]:
    """The living fork servers of this process."""
    return [
        process
        for process in psutil.Process().children()
        if "fork_server" in " ".join(process.cmdline())
    ]


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def text_of(parse: Parse) -> str:
    return parse("text", "a.txt").blocks[0].text


def test_one_server_reads_file_after_file(parse: Parse) -> None:
    with intruding("import os\nreturn (os.getppid(), os.getpid())"):
        first, second = eval(text_of(parse)), eval(text_of(parse))
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_a_file_finds_nothing_of_the_one_before(parse: Parse) -> None:
    """What a parser that was taken over leaves in its memory is gone with its process."""
    body = "found = getattr(text, 'left', None)\ntext.left = 'by the first'\nreturn found"
    with intruding(body):
        assert text_of(parse) == "None"
        assert text_of(parse) == "None"


def test_no_variable_of_the_worker_reaches_the_server(
    parse: Parse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    parse("text", "a.txt")
    (server,) = servers()
    assert "SECRET_KEY" not in server.environ()
    assert set(server.environ()) <= {"PATH", "LANG", "LC_CTYPE"}


def test_a_server_that_was_idle_for_long_is_replaced(parse: Parse) -> None:
    with intruding("import os\nreturn os.getppid()", before="fork_server.IDLE_SECONDS = 0.05"):
        first = int(text_of(parse))
        psutil.Process(first).wait(10)
        assert int(text_of(parse)) != first


def test_a_server_reads_so_many_files_and_no_more(
    parse: Parse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_client, "_MOST_FILES", 2)
    with intruding("import os\nreturn os.getppid()"):
        seen = [text_of(parse) for _ in range(4)]
    assert seen[0] == seen[1] != seen[2] == seen[3]


@contextmanager
def stopping(times: int, *signals: signal.Signals) -> Iterator[list[int]]:
    """Send the signals to so many children, each with its server, as they appear; their numbers.

    From outside, as an operator or the kernel would: a child reaches no process but its own.
    """
    children: list[int] = []
    is_over = threading.Event()

    def stop() -> None:
        while len(children) < times and not is_over.wait(0.01):
            with suppress(psutil.Error):
                for server in servers():
                    for child in server.children():
                        if child.pid not in children:
                            # Once the child has left its beginning behind.
                            time.sleep(0.1)
                            children.append(child.pid)
                            for number in signals:
                                server.send_signal(number)

    thread = threading.Thread(target=stop)
    thread.start()
    try:
        yield children
    finally:
        is_over.set()
        thread.join()


def test_a_server_killed_once_costs_no_file(parse: Parse) -> None:
    """As by the kernel when memory runs out: no verdict on the file."""
    with intruding("import time\ntime.sleep(1)\nreturn 'read'"), stopping(1, signal.SIGKILL) as one:
        assert text_of(parse) == "read"
    assert len(one) == 1


def test_a_child_that_panics_once_costs_no_file(parse: Parse) -> None:
    """As liteparse does where no thread can be started; what is raised is no Exception."""
    body = """
if not tried[0]:
    tried[0] = 1
    os.mkfifo(source.scratch / "outcome.json")
    raise BaseException("OS can't spawn worker thread")
return "read" """
    with intruding(body, before="import mmap, os\ntried = mmap.mmap(-1, 1)"):
        assert text_of(parse) == "read"
    with intruding("raise BaseException"), pytest.raises(DamagedFile):
        parse("text", "a.txt")


def test_a_server_killed_twice_fails_its_file_alone(parse: Parse) -> None:
    with (
        intruding("import time\ntime.sleep(60)"),
        stopping(2, signal.SIGKILL) as children,
        pytest.raises(ParseLimitExceeded, match="stopped its parser twice"),
    ):
        parse("text", "a.txt")
    assert len(children) == 2
    assert text_of(parse) == "text"
    deadline = time.monotonic() + 10
    while any(map(is_running, children)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_running, children))


def test_a_child_killed_near_its_limit_is_not_tried_again(parse: Parse) -> None:
    body = "import os, signal, time\ntime.sleep(1.2)\nos.kill(os.getpid(), signal.SIGKILL)"
    with intruding(body), pytest.raises(ParseLimitExceeded, match="time or memory allowed"):
        parse("text", "a.txt", wall_seconds=2)


def test_a_stop_that_reaches_everyone_lets_the_file_be_finished(parse: Parse) -> None:
    """As systemd sends it to all processes of a unit, and a terminal to its group."""
    body = """
import os, signal, time
for stop in (signal.SIGTERM, signal.SIGINT):
    os.kill(os.getpid(), stop)
pid = os.fork()
if pid == 0:
    os.kill(os.getpid(), signal.SIGTERM)
    os._exit(0)
time.sleep(0.8)
return os.waitpid(pid, 0)[1]"""
    with intruding(body), stopping(2, signal.SIGTERM, signal.SIGINT) as children:
        assert text_of(parse) == "0"
        assert text_of(parse) == "0"
        assert len(children) == 2


def test_a_server_that_cannot_start_is_told(parse: Parse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_client, "_BOOT", "raise SystemExit(3)")
    with pytest.raises(DamagedFile):
        parse("text", "a.txt")
    assert servers() == []


def test_a_server_that_does_not_answer_is_ended(
    parse: Parse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_client, "_BOOT", "import time; time.sleep(60)")
    monkeypatch.setattr(fork_client, "_GRACE_SECONDS", 0.1)
    with pytest.raises(ParseLimitExceeded):
        parse("text", "a.txt", wall_seconds=1)
    assert servers() == []


def test_a_child_that_feigns_its_end_is_ended(parse: Parse) -> None:
    """It closes its line to the server and goes on.

    The line may stay open, while the child's own thread reads it: then the time limit ends it.
    """
    body = """
import os, time
os.closerange(3, 256)
time.sleep(60)"""
    with (
        intruding(body, before="fork_server._EXIT_SECONDS = 0.1"),
        pytest.raises(ParseLimitExceeded),
    ):
        parse("text", "a.txt", wall_seconds=3)


def test_files_at_once_have_servers_of_their_own(parse: Parse, tmp_path: Path) -> None:
    from ingestion.parsing.child.sandbox import parse_file

    path = tmp_path / "a.txt"
    path.write_text("text")
    found: list[str] = []
    with intruding("import os, time\ntime.sleep(0.2)\nreturn os.getppid()"):
        threads = [
            threading.Thread(target=lambda: found.append(parse_file(path, "a.txt").blocks[0].text))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(found)) == 3


def test_a_forked_process_has_servers_of_its_own(parse: Parse) -> None:
    """As a prefork worker does. The parent's go on."""
    parse("text", "a.txt")
    (server,) = servers()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if not fork_client._idle and text_of(parse) == "text" else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert text_of(parse) == "text"
    assert servers() == [server]


def test_the_server_ends_with_a_killed_worker(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("text")
    script = (
        "import sys, time; from pathlib import Path; "
        "from ingestion.parsing.child.sandbox import parse_file; "
        "parse_file(Path(sys.argv[1]), 'a.txt'); print('read', flush=True); time.sleep(60)"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], cwd=ROOT, stdout=subprocess.PIPE
    )
    with worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"read\n"
        (server,) = psutil.Process(worker.pid).children()
        worker.send_signal(signal.SIGKILL)
    assert psutil.wait_procs([server], timeout=10)[1] == []
