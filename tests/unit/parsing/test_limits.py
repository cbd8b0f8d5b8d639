"""Hostile files cost a bounded amount and leave nothing behind; what a kernel lacks is said."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ingestion.errors import DamagedFile, EncryptedFile, NoText, ParseLimitExceeded
from ingestion.parsing.child import isolation, isolation_report
from ingestion.parsing.child.sandbox import parse_file
from ingestion.parsing.formats.xml_data import read_properties
from ingestion.parsing.limits import ParseLimits
from kbsite.celery import warn_of_isolation
from kbsite.operations.probes import machine
from tests.samples import builders

from .conftest import Parse, processes_in
from .intruders import intruding

pytestmark = pytest.mark.forks

ROOT = Path(__file__).resolve().parents[3]
# pandoc tries each of these bars as the start of a substitution: minutes of work.
HANGS_PANDOC = "|a" * 40_000


def _wait_until(condition: object, seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.05)
    return False


def test_time_out_ends_pandoc_too(tmp_path: Path, scratch_root: Path) -> None:
    path = tmp_path / "a.rst"
    path.write_text(HANGS_PANDOC)
    failures: list[Exception] = []

    def run() -> None:
        try:
            parse_file(path, "a.rst", ParseLimits(wall_seconds=3))
        except ParseLimitExceeded as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    assert _wait_until(lambda: "pandoc" in processes_in(scratch_root)), "pandoc never started"
    thread.join(timeout=20)
    assert "took longer than 3 seconds" in str(failures[0])
    assert _wait_until(lambda: not processes_in(scratch_root))
    assert list(scratch_root.iterdir()) == []


def test_child_and_pandoc_die_with_the_worker(tmp_path: Path, scratch_root: Path) -> None:
    path = tmp_path / "a.rst"
    path.write_text(HANGS_PANDOC)
    script = (
        "import sys; from pathlib import Path; "
        "from ingestion.parsing.child.sandbox import parse_file; "
        "parse_file(Path(sys.argv[1]), 'a.rst')"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(scratch_root)},
    )
    try:
        assert _wait_until(lambda: "pandoc" in processes_in(scratch_root)), "pandoc never started"
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    assert _wait_until(lambda: not processes_in(scratch_root))
    assert _wait_until(lambda: not list(scratch_root.iterdir()))


def test_processor_time_is_bounded(parse: Parse) -> None:
    with pytest.raises(ParseLimitExceeded):
        parse(HANGS_PANDOC, "a.rst", cpu_seconds=1)


def test_memory_of_the_child_is_bounded(parse: Parse) -> None:
    with pytest.raises(ParseLimitExceeded, match="memory"):
        parse(b"word " * 12_000_000, "a.txt", memory_bytes=120 * 2**20)


def test_memory_of_pandoc_is_bounded(parse: Parse) -> None:
    page = builders.make_html(body="<p>word <b>bold</b></p>" * 20_000)
    with pytest.raises(ParseLimitExceeded, match="more memory"):
        parse(page, "a.html", pandoc_heap_mib=24)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("[" * 20_000 + "end", "a.md"),
        ("> " * 5_000 + "end", "a.md"),
        (" " * 3_000 + "end", "a.rst"),
        ("<!doctype html>" + "<div>" * 20_000 + "end", "a.html"),
        ("((((((" * 3_000 + "end", "a.org"),
    ],
    ids=lambda value: value[:24],
)
def test_deep_nesting_is_read_as_plain_text(parse: Parse, content: str, name: str) -> None:
    document = parse(content, name)
    assert "end" in document.blocks[-1].text
    assert document.warnings
    assert "plain text" in document.warnings[0]


def test_moderately_deep_nesting_is_still_markup(parse: Parse) -> None:
    depth = 150
    page = "<!doctype html>" + "<div>" * depth + "<h2>deep</h2>" + "</div>" * depth
    assert parse(page, "a.html").blocks[0].level == 2


def test_too_much_text_is_refused(parse: Parse) -> None:
    with pytest.raises(ParseLimitExceeded, match="more than 1,000 characters"):
        parse("words " * 300, "a.txt", plain_text_chars=1_000)
    with pytest.raises(ParseLimitExceeded, match="more than 1,000 characters"):
        parse("words " * 300, "a.md", text_chars=1_000)


def test_file_of_spaces_has_no_text(parse: Parse) -> None:
    with pytest.raises(NoText, match="contains no text"):
        parse(" \n\t\n", "a.txt")


def test_growing_entities_are_refused(tmp_path: Path) -> None:
    layers = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 9))
    bomb = f'<!DOCTYPE x [<!ENTITY l0 "ha">{layers}]><c><title>&l8;</title></c>'
    path = tmp_path / "a.docx"
    path.write_bytes(builders.make_zip({"docProps/core.xml": bomb}))
    assert read_properties(path, "docProps/core.xml") == {}
    path.write_bytes(builders.make_zip({"docProps/core.xml": "<c><title>Beams</title></c>"}))
    assert read_properties(path, "docProps/core.xml") == {"title": "Beams"}


def test_archive_bombs_are_refused(parse: Parse) -> None:
    bomb = builders.make_zip({"mimetype": "application/epub+zip", "a.xhtml": b"\x00" * 30_000_000})
    with pytest.raises(ParseLimitExceeded, match="28 MB"):
        parse(bomb, "a.epub")
    many = {"mimetype": "application/epub+zip"} | {f"{n}.xhtml": "x" for n in range(40)}
    with pytest.raises(ParseLimitExceeded, match="41 parts"):
        parse(builders.make_zip(many), "a.epub", archive_entries=40)


def test_encrypted_word_document_is_refused(parse: Parse) -> None:
    package = "EncryptedPackage".encode("utf-16-le")
    content = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600 + package + b"\x00" * 600
    with pytest.raises(EncryptedFile, match="Remove the password"):
        parse(content, "a.docx")


def _cut_within(container: bytes) -> bytes:
    """The container without some bytes behind its first: its directory points before its start."""
    return container[:20] + container[200:]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (builders.make_docx()[:9_000], "a.docx"),
        (builders.make_epub()[:300], "a.epub"),
        (_cut_within(builders.make_docx()), "a.docx"),
        (_cut_within(builders.make_zip({"a.txt": bytes(range(256)) * 40})), "a.zip"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 2_000, "a.doc"),
        (builders.make_zip({"word/other.xml": "<x/>"}), "a.docx"),
    ],
    ids=["docx", "epub", "docx-within", "zip-within", "doc", "docx-without-its-part"],
)
def test_damaged_files_are_refused(parse: Parse, content: bytes, name: str) -> None:
    with pytest.raises(DamagedFile, match="damaged"):
        parse(content, name)


def test_parser_killed_by_a_signal_is_a_limit_error(parse: Parse) -> None:
    """A library that crashes takes the child with it and nothing else."""
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    with intruding(crash), pytest.raises(DamagedFile, match="damaged or too large"):
        parse("text", "a.txt")


def test_a_parser_that_raises_is_a_damaged_file(
    parse: Parse, caplog: pytest.LogCaptureFixture
) -> None:
    """Above DEBUG the log has the places and the type: messages may quote the file."""
    caplog.set_level(logging.DEBUG, logger="ingestion")
    with intruding("raise ValueError('odd bytes')"), pytest.raises(DamagedFile):
        parse("text", "a.txt")
    (warning,) = [each.getMessage() for each in caplog.records if each.levelno > logging.DEBUG]
    assert "; ValueError" in warning
    assert "odd bytes" not in warning
    assert "odd bytes" in caplog.text


def test_the_child_sees_no_secrets(
    parse: Parse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    body = """
import os
from pathlib import Path
# A child that became another account may not read that either.
environment = Path("/proc/self/environ").read_text() if os.getuid() == 0 else ""
return f"{sorted(os.environ)} {environment} {len(os.listdir('/proc/self/fd'))}" """
    with (tmp_path / "other").open("w") as other:
        os.set_inheritable(other.fileno(), True)
        with intruding(body):
            seen = parse("text", "a.txt").blocks[0].text
    names, _, descriptors = seen.rpartition(" ")
    assert "PATH" in names
    assert "SECRET_KEY" not in names
    # Standard input, output and error, the line to the server, and the listing itself.
    assert descriptors == "5"


NOTHING = [False, "hook"]


@pytest.fixture
def _nothing_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = f"print({json.dumps(json.dumps(NOTHING))})"
    monkeypatch.setattr(isolation_report, "_TRIAL", trial)


@pytest.mark.skipif(sys.platform != "linux", reason="held by Linux")
def test_isolation_of_this_machine_is_tested() -> None:
    lines = isolation_report.isolation_report()
    assert len(lines) == len(isolation.LAYERS)
    assert all(text.endswith(".") for _, text in lines)
    filtered = {text: is_enforced for is_enforced, text in lines}
    assert filtered["Parsers are refused sockets, mounts, namespaces and other processes' memory."]


def test_failed_isolation_test_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation_report, "_TRIAL", "raise SystemExit(1)")
    ((is_enforced, text),) = isolation_report.isolation_report()
    assert not is_enforced
    assert "could not be tried" in text


@pytest.mark.usefixtures("_nothing_holds")
def test_doctor_warns_of_missing_isolation() -> None:
    printed = " ".join(finding.text for finding in machine.parser() if finding.advice)
    assert "Linux 5.13" in printed
    assert "Only Python keeps parsers from the network" in printed


@pytest.mark.usefixtures("_nothing_holds")
def test_worker_warns_of_missing_isolation(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_isolation()
    assert "Linux 5.13" in caplog.text


@pytest.mark.skipif(sys.platform != "linux", reason="a call of Linux")
@pytest.mark.parametrize(
    "start",
    ["import django; django.setup()", "import kbsite.gunicorn"],
    ids=["django", "gunicorn-master"],
)
def test_processes_that_hold_secrets_are_hidden(start: str) -> None:
    """Their memory, variables and open files are for root alone: PR_GET_DUMPABLE is 0."""
    code = f"{start}; import ctypes; raise SystemExit(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    environment: dict[str, Any] = {**os.environ, "DJANGO_SETTINGS_MODULE": "kbsite.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
