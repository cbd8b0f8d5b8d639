"""The programs of docs/examples, unmodified, against this site under uvicorn."""

from __future__ import annotations

import asyncio
import io
import os
import socket
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from importlib import import_module
from itertools import chain, repeat
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from django.conf import settings

from common.accounts import tokens
from ingestion.models import Collection, Document
from tests.support.admin_client import staff
from tests.support.factories import make_collection, make_document
from tests.support.library import CONNECTIONS
from tests.support.live_site import live_site
from tests.support.programs import needs

EXAMPLES = settings.BASE_DIR / "docs" / "examples"
QUESTION = "How long is a connection timeout?"


@pytest.fixture
def site(
    clean_cache: None, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The address of a running site with a collection that the program of the token may fill."""
    make_collection("Handbook", visibility="signed_in")
    program = staff("program", "add_document", "delete_document", is_staff=False)
    monkeypatch.setenv("STEELYARD_TOKEN", tokens.make(program, scopes=["read", "upload"])[1])
    monkeypatch.syspath_prepend(EXAMPLES)
    with live_site() as address:
        yield address


def run(program: str, site: str, *arguments: str) -> None:
    """Run an example as its command line does."""
    common = ("--site", site, "--source", program, "--collection", "handbook")
    import_module(program).main([*arguments, *common])


def files() -> dict[str, str]:
    """The sources of the documents below that of their program, with their file names."""
    rows = Document.objects.undeleted().values_list("source", "latest__file_name")
    return {source.split("/", 2)[2]: name for source, name in rows}


@needs("git")
def test_a_folder_of_a_git_repository_is_mirrored(
    site: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def commit(**texts: str | None) -> None:
        for name, text in texts.items():
            path = tmp_path / "docs" / f"{name}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text) if text else path.unlink()
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        for words in (["add", "."], [*who, "commit", "--quiet", "--message", "Change"]):
            subprocess.run(["git", "-C", str(tmp_path), *words], check=True)

    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "secret.md").write_text("Outside of the folder.")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "link.md").symlink_to("../secret.md")
    (tmp_path / "docs" / "empty.md").touch()
    commit(tides="# Tides", ferry="# Ferry", wörter="# Words")
    arguments = (str(tmp_path), "--folder", "docs", "--include", "*.md")

    # A site that is busy is asked again, as it wishes.
    busy = HTTPError("", 429, "", {"Retry-After": "0"}, io.BytesIO(b"{}"))  # type: ignore[arg-type]
    effects = chain([busy], repeat(mock.DEFAULT))
    with mock.patch("steelyard_sync.urlopen", side_effect=effects, wraps=urlopen):
        run("sync_git", site, *arguments)
    said = capsys.readouterr()
    assert said.out == "1 refused, 3 added\n"
    assert "docs/empty.md: The file is empty" in said.err
    names = ("docs/ferry.md", "docs/tides.md", "docs/wörter.md")
    assert files() == {name: name.removeprefix("docs/") for name in names}
    before = Document.objects.get(source__endswith="docs/ferry.md").public_id

    commit(tides="# Tides\n\nTwice a day.", ferry=None, boat="# Ferry", wörter=None, empty=None)
    run("sync_git", site, *arguments)
    assert capsys.readouterr().out == "1 duplicate, 1 replaced, 1 deleted\n"
    assert files() == {"docs/boat.md": "boat.md", "docs/tides.md": "tides.md"}
    # A file that was renamed keeps its document.
    assert Document.objects.get(source__endswith="docs/boat.md").public_id == before


@needs("git")
def test_names_of_files_that_are_not_utf_8_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    for name in (b"\xfe.md", b"\xff.md"):
        (tmp_path / os.fsdecode(name)).write_text(repr(name))
    subprocess.run(["git", "-C", str(tmp_path), "add", "."], check=True)
    tree = subprocess.check_output(["git", "-C", str(tmp_path), "write-tree"], text=True).strip()
    blobs = import_module("sync_git").blobs(str(tmp_path), tree, ".", ())
    assert set(blobs) == {r"\xfe.md", r"\xff.md"}


def test_what_is_refused_holds_up_nothing_else(site: str) -> None:
    sync = import_module("steelyard_sync")
    source = sync.Source(site, os.environ["STEELYARD_TOKEN"], "wiki")
    source.create("handbook")

    def read(key: str) -> Any:
        return sync.File("a.md", f"# {key}".encode())

    sync.mirror(source, {"a": "1", "b": "1"}, read)
    # The other id is too long to be named.
    counts = +sync.mirror(source, {"a": "1", "x" * 501: "1", "c": "1"}, read)
    assert counts == {"refused": 1, "unchanged": 1, "added": 1, "deleted": 1}
    assert set(files()) == {"a", "c"}


class Mailbox(socketserver.StreamRequestHandler):
    """A mailbox as far as the example asks: RFC 9051 for one folder, read only."""

    messages: dict[int, bytes]

    def handle(self) -> None:
        self.wfile.write(b"* OK ready\r\n")
        for line in self.rfile:
            tag, *words = line.decode().split()
            for answer in self.answers(words):
                self.wfile.write(answer + b"\r\n")
            self.wfile.write(f"{tag} OK done\r\n".encode())

    def answers(self, words: list[str]) -> Iterator[bytes]:
        match words:
            case ["CAPABILITY"]:
                yield b"* CAPABILITY IMAP4rev1"
            case ["LOGIN", user, password]:
                assert (user, password) == ("archive", '"secret"')
            case ["EXAMINE", '"Announcements"']:
                yield b"* OK [UIDVALIDITY 7] valid"
            case ["UID", "SEARCH", "UNDELETED"]:
                yield b" ".join([b"* SEARCH", *(b"%d" % uid for uid in self.messages)])
            case ["UID", "FETCH", uid, "(BODY.PEEK[])"]:
                text = self.messages[int(uid)]
                yield b"* 1 FETCH (UID %s BODY[] {%d}" % (uid.encode(), len(text))
                yield text + b")"
            case ["LOGOUT"]:
                yield b"* BYE"
            case _:
                raise AssertionError(words)


def message(subject: str) -> bytes:
    return f"Subject: {subject}\r\nFrom: ada@example.org\r\n\r\nWords of {subject}.".encode()


def test_a_folder_of_a_mailbox_is_mirrored(
    site: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IMAP_PASSWORD", "secret")
    mails = {1: message("High water"), 2: message("Low water: a/b"), 5: message("Storms")}
    monkeypatch.setattr(Mailbox, "messages", mails, raising=False)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mailbox) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        arguments = ("127.0.0.1", "--port", str(server.server_address[1]), "--plain")
        arguments += ("--user", "archive", "--folder", "Announcements")
        run("sync_imap", site, *arguments)
        assert files() == {
            "Announcements/7/1": "High water.eml",
            "Announcements/7/2": "Low water a b.eml",
            "Announcements/7/5": "Storms.eml",
        }
        del mails[1], mails[2]
        sync = import_module("steelyard_sync")
        with pytest.raises(sync.SyncError, match="2 of 3 documents are missing") as refused:
            run("sync_imap", site, *arguments)
        assert (refused.value.status, refused.value.code) == (409, "many_missing")
        assert len(files()) == 3
        capsys.readouterr()
        run("sync_imap", site, *arguments, "--confirm", "2")
        assert capsys.readouterr().out == "1 unchanged, 2 deleted\n"
        assert list(files()) == ["Announcements/7/5"]
        server.shutdown()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b"Subject: " + b"=?utf-8?q?a?= " * 20_000 + b"\r\n\r\n", "a" * 71 + " = utf-"),
        (b"Content-Type: message/rfc822\r\n\r\n" * 2_000, "message"),
        (b"X: y\r\nsubject: =?nope?q?=FF?=\r\n b\r\n\r\n", "\N{REPLACEMENT CHARACTER} b"),
        (b"", "message"),
    ],
    ids=["words", "nested", "charset", "empty"],
)
def test_a_message_that_is_costly_to_parse_has_a_name(
    monkeypatch: pytest.MonkeyPatch, text: bytes, name: str
) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    server = mock.Mock(uid=lambda *_: ("OK", [(b"1 (UID 1 BODY[] {9}", text), b")"]))
    file = import_module("sync_imap").read_message(server, "1")
    assert (file.name, file.content) == (f"{name}.eml", text)


def test_mail_server_without_an_answer_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    program = import_module("sync_imap")
    server = mock.Mock(uid=lambda *_: ("OK", [None]), select=lambda *_, **__: ("OK", [b"0"]))
    server.response = lambda _: ("UIDVALIDITY", [b"7"])
    with pytest.raises(program.ImapError, match="INBOX: the server gave no"):
        program.messages(server, "INBOX")


def test_mail_server_that_says_nothing_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr(import_module("sync_imap"), "SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = ("127.0.0.1", "--port", str(silent.getsockname()[1]), "--plain", "--user", "ada")
        with pytest.raises(TimeoutError):
            run("sync_imap", "http://unused", *address)


def test_example_retrievers_search(site: str) -> None:
    """A retriever of LangChain's, and a tool as Open WebUI loads it, with a token and without."""
    make_document(Collection.objects.get(), CONNECTIONS)
    token = os.environ["STEELYARD_TOKEN"]
    retriever = import_module("langchain_retriever").SteelyardRetriever
    (first, *_) = retriever(site=site, token=token, k=3).invoke(QUESTION)
    assert "timeout" in first.page_content
    assert first.metadata["source"].startswith(f"{site}/documents/")
    assert retriever(site=site, collections=[]).invoke(QUESTION) == []
    with pytest.raises(ValueError, match="page_size: Ensure this value is less"):
        retriever(site=site, token=token, k=60).invoke(QUESTION)
    with pytest.warns(UserWarning, match="A collection that you named does not exist"):
        assert retriever(site=site, token=token, collections=["nope"]).invoke(QUESTION) == []

    loaded = ModuleType("tool_steelyard")
    exec((EXAMPLES / "open_webui_tool.py").read_text(), loaded.__dict__)
    tool, events = loaded.Tools(), list[Any]()

    async def emit(event: Any) -> None:
        events.append(event)

    def search() -> str:
        return str(asyncio.run(tool.search_knowledge_base(QUESTION, __event_emitter__=emit)))

    tool.valves = tool.Valves(site=site, token=token)
    said = search()
    assert said.startswith(f"[1] {first.metadata['title']} ({site}/documents/")
    assert first.page_content in said
    assert events[0]["data"]["document"] == [first.page_content]
    tool.valves.token = ""
    assert search() == "Nothing was found."
    tool.valves.token = "wrong"
    assert "The search failed" in search()
    tool.valves.site = "http://127.0.0.1:9"
    assert "cannot be reached" in search()
