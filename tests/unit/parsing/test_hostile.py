"""Files made to hurt: each ends soon with text or a clear sentence, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingestion.domain import ParsedDocument
from ingestion.errors import DamagedFile, IngestionError, ParseLimitExceeded
from ingestion.files.storage import display_name
from ingestion.parsing.child import scratch
from ingestion.parsing.child.sandbox import parse_file
from ingestion.parsing.limits import ParseLimits
from tests.samples.builders import make_docx
from tests.samples.slides import make_pptx

from . import hostile
from .conftest import processes_in
from .intruders import intruding
from .test_completeness import changed, members

pytestmark = pytest.mark.forks

DOCX_PARTS = {
    "[Content_Types].xml": "<Types/>",
    "word/_rels/document.xml.rels": "<Relationships/>",
    "word/document.xml": "<w:document/>",
}
DEEP = 100_000


class Room:
    """Reads hostile content, and looks afterwards at what it left."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, content: bytes | str, name: str, **limits: int) -> ParsedDocument:
        path = self._root.parent / "stored"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        try:
            return parse_file(path, name, ParseLimits(**limits))
        finally:
            assert list(self._root.iterdir()) == []
            # A process that was just killed takes a moment to go.
            deadline = time.monotonic() + 5
            while (left := processes_in(self._root)) and time.monotonic() < deadline:
                time.sleep(0.01)
            assert left == []

    def refusal(self, content: bytes | str, name: str, **limits: int) -> str:
        """The sentence that the person who uploaded it reads."""
        with pytest.raises(IngestionError) as caught:
            self.read(content, name, **limits)
        message = str(caught.value)
        assert re.search(r"\.$", message), message
        assert "Traceback" not in message
        return message

    def either(self, content: bytes | str, name: str, **limits: int) -> str:
        """Its text, or the sentence that refuses it."""
        try:
            found = self.read(content, name, **limits)
        except IngestionError as error:
            return str(error)
        return "\n".join(block.text for block in found.blocks)


@pytest.fixture
def room(scratch_root: Path) -> Room:
    return Room(scratch_root)


# --- archives ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.docx", "a.epub"])
def test_wrong_sizes_in_an_archive_are_refused(room: Room, name: str) -> None:
    """The directory states ten bytes; the member holds 600 MiB."""
    first = {"a.docx": DOCX_PARTS, "a.epub": {"mimetype": "application/epub+zip"}}[name]
    bomb = hostile.lying(first, "content.bin", 600)
    assert len(bomb) < hostile.MIB
    assert "does not have the size that the file states" in room.refusal(bomb, name)


def test_archive_members_that_share_bytes_are_refused(room: Room) -> None:
    """Each copy adds a directory entry of 60 bytes and a megabyte of zeros."""
    # Below the ratio and the sum: only the overlap itself tells.
    noise = os.urandom(300_000)
    bomb = hostile.overlapping(DOCX_PARTS, noise, 400)
    assert "overlap" in room.refusal(bomb, "a.docx")


def test_archive_member_that_overlaps_the_next_is_refused(room: Room) -> None:
    """Quoted headers: one stream runs through the following members."""
    data = bytearray(hostile.packed({**DOCX_PARTS, "word/a.bin": os.urandom(2_000)}))
    central = data.index(b"PK\x01\x02")
    data[central + 20 : central + 24] = (2_000).to_bytes(4, "little")
    assert "damaged" in room.refusal(bytes(data), "a.docx")


def test_nested_archives_are_limited(room: Room) -> None:
    bomb = hostile.nested(8, bytes(4 * hostile.MIB))
    room.either(bomb, "a.zip", archive_bytes=40 * hostile.MIB)


def test_archive_of_overlapping_members_with_wrong_sizes_is_refused(room: Room) -> None:
    shared = hostile.overlapping({"a.txt": "text"}, bytes(hostile.MIB), 500)
    room.either(shared, "a.zip")
    room.either(hostile.lying({"a.txt": "text"}, "b.txt", 600), "a.zip")


def test_archive_member_with_unknown_compression_is_refused(room: Room) -> None:
    data = bytearray(hostile.packed(DOCX_PARTS))
    data[8:10] = (97).to_bytes(2, "little")
    central = data.index(b"PK\x01\x02")
    data[central + 10 : central + 12] = (97).to_bytes(2, "little")
    assert "compression method that is not supported" in room.refusal(bytes(data), "a.docx")


# --- entities ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (hostile.laughs("<x>&l9;</x>"), "a.xml"),
        (
            hostile.packed(
                {**DOCX_PARTS, "word/document.xml": hostile.laughs("<w:t>&l9;</w:t>", "w:t")}
            ),
            "a.docx",
        ),
        (
            hostile.packed(
                {
                    "mimetype": "application/epub+zip",
                    "a.xhtml": hostile.laughs("<html><p>&l9;</p></html>", "html").encode("utf-16"),
                }
            ),
            "a.epub",
        ),
    ],
    ids=["xml", "docx", "epub-utf-16"],
)
def test_growing_xml_entities_are_refused(room: Room, content: bytes | str, name: str) -> None:
    message = room.refusal(content, name)
    assert "entit" in message


def test_entities_in_an_svg_within_html_are_not_expanded(room: Room) -> None:
    page = "<!doctype html>" + hostile.laughs("<svg><text>&l9;</text></svg><p>after</p>", "svg")
    assert len(room.either(page, "a.html")) < 10_000


def test_external_entities_are_not_read(room: Room, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    page = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file://{secret}">]><x>&e;</x>'
    for name in ("a.xml", "a.html"):
        assert "hunter2" not in room.either(page, name)


# --- depth and length --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("[" * DEEP, "a.json"),
        ('{"cells":' + "[" * DEEP, "a.ipynb"),
        ("<!doctype html>" + "<b><i>" * DEEP + "end", "a.html"),
        (">" * DEEP + "end", "a.md"),
        ("*" * DEEP + "a" + "*" * DEEP, "a.md"),
        ("".join(f"{' ' * n}- a\n" for n in range(1_500)), "a.rst"),
        ("(" * DEEP + ")" * DEEP, "a.py"),
        ('<?xml version="1.0"?>' + "<a>" * DEEP, "a.xml"),
        ("{\\rtf1" + "{" * DEEP + "end", "a.rtf"),
        (hostile.packed({**DOCX_PARTS, "word/document.xml": "<w:p>" * DEEP}), "a.docx"),
        ("Content-Type: message/rfc822\n\n" * 3_000 + "Subject: end\n\nend", "a.eml"),
    ],
    ids=lambda value: value[:14] if isinstance(value, str) and value[:2] != "a." else "",
)
def test_deeply_nested_file_is_read_or_refused(room: Room, content: bytes | str, name: str) -> None:
    assert room.either(content, name, wall_seconds=20)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("<!doctype html><p>Steel.</p>" + "<svg " * DEEP, "a.html"),
        ("<!doctype html><p>Steel.</p>srcdoc" + "<iframe " * DEEP, "a.html"),
        (
            changed(
                make_pptx([("Beams", "Steel.", "")]),
                "ppt/slides/slide1.xml",
                "</p:spTree>",
                f"<!--{'<p:sp ' * DEEP}--></p:spTree>",
            ),
            "a.pptx",
        ),
        (
            changed(
                make_docx(),
                "word/document.xml",
                "</w:body>",
                f"<!--{'<w:ruby ' * DEEP}--></w:body>",
            ),
            "a.docx",
        ),
        (
            changed(
                make_docx(),
                "word/document.xml",
                "</w:body>",
                f"<?a {'<w:ruby ' * DEEP}?></w:body>",
            ),
            "a.docx",
        ),
    ],
    ids=["svg", "iframe", "pptx", "docx", "instruction"],
)
def test_elements_without_an_end_are_passed_once(
    room: Room, content: bytes | str, name: str
) -> None:
    assert "steel" in room.either(content, name, wall_seconds=20).lower()


@pytest.mark.parametrize("encoding", ["gb18030", "nonsense"])
def test_encoding_that_the_check_of_xml_does_not_know_is_no_damage(
    room: Room, encoding: str
) -> None:
    declared = changed(make_docx(), "word/document.xml", "(?i)utf-8", encoding)
    assert f"encoding='{encoding}'".encode() in members(declared)["word/document.xml"][:60]
    assert "steel" in room.either(declared, "a.docx").lower()


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.csv"])
def test_line_of_two_megabytes_is_read(room: Room, name: str) -> None:
    line = "word " * 400_000
    content = f"a,b\n{line},{line}\n" if name == "a.csv" else line
    found = room.read(content, name)
    assert sum(len(block.text) for block in found.blocks) > 1_900_000
    assert name != "a.txt" or max(len(block.text) for block in found.blocks) <= 4_000


def test_nul_bytes_and_lone_surrogates_are_removed(room: Room) -> None:
    prose = b"The long arm of a steelyard carries the weight. " * 20
    cases = {
        "a.txt": b"be\x00fore " + prose + b"\xed\xa0\x80 after",
        "a.md": b"# A\x00\n\nbefore " + prose + b"after \xed\xbf\xbf",
        "a.html": b"<!doctype html><p>before &#xD800; &#0; after",
        "a.json": b'{"a": "before \\ud800 \\u0000 after", "\\udfff": "b"}',
        "a.csv": b"a,b\nbefore \x00,after\n",
        "a.eml": b"Subject: =?utf-8?B?7aCA?=\n\nbefore " + prose + b"\xed\xa0\x80 after",
    }
    for name, content in cases.items():
        text = room.either(content, name)
        text.encode("utf-8")  # a lone surrogate would raise
        assert "\x00" not in text
        assert "fore" in text
        assert "after" in text


# --- PDF ---------------------------------------------------------------------------------------


def test_circular_page_tree_is_refused(room: Room) -> None:
    assert room.refusal(hostile.looping_pdf(), "a.pdf")


def test_pdf_stream_of_a_gigabyte_is_refused(room: Room) -> None:
    bomb = hostile.pdf_of_stream(hostile.zeros(1_000, wbits=15))
    assert len(bomb) < 2 * hostile.MIB
    assert room.refusal(bomb, "a.pdf", memory_bytes=512 * hostile.MIB, wall_seconds=20)


def test_pdf_that_repeats_one_page_too_often_is_refused(room: Room) -> None:
    many = hostile.pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[%s]/Count 4000>>" % (b"3 0 R " * 4_000),
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
        ]
    )
    assert "pages" in room.refusal(many, "a.pdf")


# --- the child's walls -------------------------------------------------------------------------


def _inside(room: Room, body: str, before: str = "", **limits: int) -> str:
    """What code in the place of a parser says."""
    with intruding(body, before):
        return room.read("text", "a.txt", **limits).blocks[0].text


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        yield server


@pytest.mark.parametrize(
    "body",
    [
        """
        import socket
        try:
            socket.create_connection(("127.0.0.1", PORT), 2)
        except OSError as error:
            return f"refused {error}"
        return "connected"
        """,
        # Past Python, as a library's own code would.
        """
        import ctypes, struct
        libc = ctypes.CDLL(None)
        one = libc.socket(2, 1, 0)
        address = struct.pack("=H", 2) + struct.pack("!H", PORT) + bytes([127, 0, 0, 1]) + bytes(8)
        return "connected" if libc.connect(one, address, 16) == 0 else "refused"
        """,
        """
        import ctypes, os, struct
        pid = os.fork()
        if pid == 0:
            libc = ctypes.CDLL(None)
            one = libc.socket(2, 1, 0)
            to = struct.pack("=H", 2) + struct.pack("!H", PORT) + bytes([127, 0, 0, 1]) + bytes(8)
            os._exit(libc.connect(one, to, 16) & 1)
        return "connected" if os.waitpid(pid, 0)[1] == 0 else "refused"
        """,
        """
        import socket
        try:
            return f"connected {socket.getaddrinfo('example.org', 80)}"
        except OSError as error:
            return f"refused {error}"
        """,
    ],
    ids=["python", "libc", "another-process", "name"],
)
def test_parser_has_no_network(room: Room, listener: socket.socket, body: str) -> None:
    if sys.platform != "linux" and "ctypes" in body:
        pytest.skip("elsewhere only Python itself is held back")
    lines = body.replace("PORT", str(listener.getsockname()[1])).strip("\n").splitlines()
    answer = _inside(room, "\n".join(line[8:] for line in lines))
    assert answer.startswith("refused")
    with pytest.raises(TimeoutError):
        listener.accept()


@pytest.mark.parametrize("layer", ["_enter_empty_network", "filter_calls", "_hook"])
def test_each_isolation_layer_alone_blocks_the_network(
    room: Room, listener: socket.socket, layer: str
) -> None:
    """Where a kernel or a container allows only one of them."""
    only = f"isolation.cut_off = child.cut_off = lambda bounds: isolation.{layer}()"
    port = listener.getsockname()[1]
    body = (
        "import socket\n"
        "try:\n"
        f"    socket.create_connection(('127.0.0.1', {port}), 2)\n"
        "except OSError as error:\n"
        "    return 'refused'\n"
        "return 'connected'"
    )
    if layer == "_enter_empty_network" and not _may_make_a_network():
        pytest.skip("this kernel lets nobody make a network namespace")
    assert _inside(room, body, only) == "refused"


def _may_make_a_network() -> bool:
    pid = os.fork()
    if pid == 0:
        from ingestion.parsing.child import isolation

        os._exit(0 if isolation._enter_empty_network() else 1)
    return os.waitpid(pid, 0)[1] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="held by the filter of system calls")
def test_processes_of_a_parser_cannot_leave_its_session(room: Room) -> None:
    """A grandchild in a session of its own would outlive the time-out."""
    body = """
import ctypes, os, time
libc = ctypes.CDLL(None)
if os.fork() == 0:
    os.closerange(3, 256)
    time.sleep(60)
return (libc.setpgid(0, 0), libc.setsid())"""
    assert _inside(room, body) == "(-1, -1)"


def test_output_of_a_child_is_limited(room: Room) -> None:
    body = """
with open(source.scratch / "large", "wb") as file:
    for _ in range(100):
        file.write(bytes(1024 * 1024))"""
    with pytest.raises(ParseLimitExceeded):
        _inside(room, body, output_bytes=8 * hostile.MIB)


@pytest.mark.parametrize(
    "body",
    [
        "import os\nos.symlink('/etc/passwd', source.scratch / 'outcome.json')\nos._exit(0)",
        "import os\nos.mkfifo(source.scratch / 'outcome.json')\nos._exit(0)",
        "import os\n(source.scratch / 'outcome.json').write_text('[1, {')\nos._exit(0)",
        "import os\n(source.scratch / 'outcome.json').write_text('[]')\nos._exit(0)",
        "import os\nos.remove('stderr')\nos.symlink('/etc/passwd', 'stderr')\nos._exit(3)",
        "import os\nos.remove('stderr')\nos.mkfifo('stderr')\nos._exit(3)",
    ],
    ids=["link", "pipe", "garbage", "list", "complaint-link", "complaint-pipe"],
)
def test_hostile_result_of_a_child_is_refused(
    room: Room, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(DamagedFile):
        _inside(room, body)
    assert "root:" not in caplog.text


def test_locked_scratch_directory_is_removed(room: Room) -> None:
    body = """
import os
(source.scratch / "a" / "b").mkdir(parents=True)
(source.scratch / "a" / "b" / "c").write_text("x")
(source.scratch / "a" / "b").chmod(0)
(source.scratch / "a").chmod(0)
return "left" """
    assert _inside(room, body) == "left"


# --- scratch directories -----------------------------------------------------------------------


def test_directories_of_dead_workers_are_swept(
    scratch_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "_YOUNG_SECONDS", -1)
    for name in ("dead", "unlocked"):
        (scratch_root / f"{scratch.PREFIX}{name}").mkdir()
    (scratch_root / f"{scratch.PREFIX}dead" / "worker.lock").touch()
    (scratch_root / f"{scratch.PREFIX}dead" / "blocks.jsonl").write_text("text")
    (scratch_root / "another").mkdir()
    with scratch.scratch_directory() as living:
        assert scratch.sweep_abandoned() + 2 >= 2
        left = {path.name for path in scratch_root.iterdir()}
        assert left == {living.name, "another"}
    assert [path.name for path in scratch_root.iterdir()] == ["another"]


def test_sweep_leaves_a_new_directory_alone(scratch_root: Path) -> None:
    (scratch_root / f"{scratch.PREFIX}young").mkdir()
    assert scratch.sweep_abandoned() == 0
    assert list(scratch_root.iterdir()) != []


# --- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("../../etc/passwd.txt", "passwd.txt"),
        ("..\\..\\windows\\system.ini.txt", "system.ini.txt"), ("/etc/shadow.md", "shadow.md"),
        ("C:\\secret\\a.docx", "a.docx"), ("invoice\u202efdp.exe.txt", "invoicefdp.exe.txt"),
        ("a\x00b\x1bc\n.txt", "abc.txt"), ("..", "unnamed"), ("/", "unnamed"),
        ("\u2066\u2069", "unnamed"), ("é" * 300 + ".txt", "é" * 196 + ".txt"),
        ("a" * 255 + ".md", "a" * 197 + ".md"), ("a.txt" + " " * 300, "a.txt"),
        ("\ud800.txt", "txt"),
    ],
    ids=lambda value: ascii(value)[:20],
)  # fmt: skip
def test_file_names_are_never_used_as_paths(given: str, shown: str) -> None:
    assert display_name(given) == shown
