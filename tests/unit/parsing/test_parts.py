"""Files within files: archives, attachments. What is read, under which path, and what is not."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from ingestion.domain import ParsedDocument
from ingestion.errors import DamagedFile, EncryptedFile, NoText, ParseLimitExceeded
from ingestion.parsing.child.sandbox import parse_file
from ingestion.parsing.formats.inner_files import LONGEST_PATH, safe_path, unique_path
from ingestion.parsing.limits import ParseLimits
from tests.samples import builders
from tests.samples.outlook import Attachment, Letter, make_msg, make_ole

from .conftest import Parse
from .shorthand import h, p, table

pytestmark = pytest.mark.forks

GIF = b"GIF89a0000"


def _parts(content: bytes, name: str, tmp_path: Path, **limits: int) -> ParsedDocument:
    stored, folder = tmp_path / "stored", tmp_path / "out"
    stored.write_bytes(content)
    folder.mkdir()
    return parse_file(stored, name, ParseLimits(**limits), parts_to=folder)


def _by_path(document: ParsedDocument) -> dict[str, bytes]:
    return {part.path: part.file.read_bytes() for part in document.parts}


def test_an_archive_lists_its_members_and_hands_them_out(tmp_path: Path) -> None:
    pdf = builders.make_pdf()
    archive = builders.make_zip({"reports/q3.pdf": pdf, "notes.md": "# Hi", "reports/": ""})
    document = _parts(archive, "a.zip", tmp_path)
    size = f"{round(len(pdf) / 1024)} KB"
    assert list(document.blocks) == [
        table(("File", "Size"), ("reports/q3.pdf", size), ("notes.md", "4 bytes"))
    ]
    assert _by_path(document) == {"reports/q3.pdf": pdf, "notes.md": b"# Hi"}
    assert document.warnings == ()


def test_unread_members_are_listed_with_reason_and_advice(tmp_path: Path) -> None:
    members = {
        "a.md": "text", "b.gif": GIF, "c.gif": GIF, "d.txt": "", "e.pdf": "<html><p>no PDF",
        "__MACOSX/a.md": "x",
    }  # fmt: skip
    document = _parts(builders.make_zip(members), "a.zip", tmp_path)
    assert list(_by_path(document)) == ["a.md"]
    (listing,) = document.blocks
    assert [(row[0], row[2]) for row in listing.rows[1:]] == [
        ("a.md", ""),
        ("b.gif", "not read: of an unsupported type"),
        ("c.gif", "not read: of an unsupported type"),
        ("d.txt", "not read: empty"),
        ("e.pdf", "not read: of another type than its name says"),
    ]
    unsupported, empty, mismatch = document.warnings
    assert unsupported.startswith("Not read (of an unsupported type): b.gif, c.gif. Convert")
    assert "d.txt. Check" in empty
    assert "e.pdf. Open" in mismatch


def test_archives_are_unpacked_to_the_second_level(tmp_path: Path) -> None:
    third = builders.make_zip({"deep.md": "x"})
    second = builders.make_zip({"third.zip": third, "q3.md": "quarter"})
    document = _parts(builders.make_zip({"in/second.zip": second}), "a.zip", tmp_path)
    assert _by_path(document) == {"in/second.zip/q3.md": b"quarter"}
    (warning,) = document.warnings
    assert "an archive nested too deeply): in/second.zip/third.zip. Unpack it" in warning


def _encrypted(data: bytes, which: bytes) -> bytes:
    """The archive with the flag of encryption set on the member `which`, in both its headers."""
    changed = bytearray(data)
    for signature, flags, name in ((b"PK\x03\x04", 6, 30), (b"PK\x01\x02", 8, 46)):
        at = -1
        while (at := changed.find(signature, at + 1)) >= 0:
            if changed[at + name : at + name + len(which)] == which:
                changed[at + flags] |= 1
    return bytes(changed)


def test_an_encrypted_member_is_named_and_an_encrypted_archive_refused(tmp_path: Path) -> None:
    archive = builders.make_zip({"open.md": "x", "shut.md": "y"})
    document = _parts(_encrypted(archive, b"shut.md"), "a.zip", tmp_path)
    assert list(_by_path(document)) == ["open.md"]
    assert document.warnings == (
        "Not read (protected by a password): shut.md. Pack them again without one.",
    )
    alone = _encrypted(builders.make_zip({"shut.md": "y"}), b"shut.md")
    (tmp_path / "alone").write_bytes(alone)
    with pytest.raises(EncryptedFile, match="without one"):
        parse_file(tmp_path / "alone", "a.zip")


def test_damaged_member_does_not_affect_other_members(tmp_path: Path) -> None:
    archive = builders.make_zip({"good.md": "x" * 50, "bad.md": "abc" * 900})
    at = archive.index(b"bad.md") + len("bad.md") + 4
    broken = archive[:at] + b"\xff\xff\xff\xff" + archive[at + 4 :]
    document = _parts(broken, "a.zip", tmp_path)
    assert list(_by_path(document)) == ["good.md"]
    assert "(damaged): bad.md" in document.warnings[0]


def test_member_names_cannot_leave_the_folder(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in ("../../etc/cron.md", "/root/x.md", "C:\\temp\\x.md", "a/../../b.md"):
            archive.writestr(name, name)
        archive.writestr("twice.md", "1")
        archive.writestr("a\u202e/twice\u202e.md", "2")
    document = _parts(out.getvalue(), "a.zip", tmp_path)
    assert list(_by_path(document)) == [
        "etc/cron.md", "root/x.md", "temp/x.md", "a/b.md", "twice.md", "a/twice.md",
    ]  # fmt: skip
    assert {part.file.parent for part in document.parts} == {tmp_path / "out"}
    assert not list(tmp_path.parent.glob("**/cron.md"))


@pytest.mark.parametrize("encoding", ["cp866", "cp932"])
def test_member_names_in_old_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    names = {
        "cp866": ["Отчёт за третий квартал.md", "Протокол собрания.md"],
        "cp932": ["第三四半期の報告書.md", "会議の議事録.md"],
    }[encoding]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for index, name in enumerate(names):
            archive.writestr("x" * len(name.encode(encoding)), str(index))
    data = out.getvalue()
    for name in names:
        raw = name.encode(encoding)
        place = b"x" * len(raw)
        data = data.replace(place, raw)
    document = _parts(data, "a.zip", tmp_path)
    assert list(_by_path(document)) == names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a/b.txt", "a/b.txt"), ("..\\..\\b.txt", "b.txt"), ("/", "unnamed"), ("./ . /x", "x"),
        ("gpj.\u202etxt.exe", "gpj.txt.exe"), ("a\x00b\n.md", "ab.md"),
        ("x" * 300 + ".md", "x" * 197 + ".md"),
    ],
)  # fmt: skip
def test_member_names_become_safe_paths(name: str, expected: str) -> None:
    assert safe_path(name) == expected


def test_shortened_long_paths_stay_different() -> None:
    first, second = (safe_path(f"{one}/" + "folder/" * 200 + "x.md") for one in "ab")
    assert first != second
    assert max(len(first), len(second)) <= LONGEST_PATH
    assert unique_path("a/x.md", {"a/x.md", "a/x (2).md"}) == "a/x (3).md"


@pytest.mark.parametrize(
    ("content", "limits", "reason"),
    [
        (
            builders.make_zip({f"{n}.md": "x" for n in range(5)}),
            {"archive_entries": 4},
            "5 entries",
        ),
        (builders.make_zip({"a.md": "x" * 5_000}), {"archive_bytes": 4_000}, "takes more than"),
        (builders.make_zip({"a.md": b"\n" * 20_000_000}), {}, "200 times its size"),
        (
            builders.make_zip(
                {f"{n}.zip": builders.make_zip({"a.md": b"\n" * 9_000_000}) for n in range(3)}
            ),
            {"archive_bytes": 20_000_000, "archive_ratio": 100_000},
            "takes more than 19 MB",
        ),
    ],
    ids=["entries", "bytes", "ratio", "bytes of nested ones together"],
)
def test_archive_limits_are_enforced(
    parse: Parse, content: bytes, limits: dict[str, int], reason: str
) -> None:
    with pytest.raises(ParseLimitExceeded, match=reason):
        parse(content, "a.zip", **limits)


def test_empty_and_damaged_archives_are_refused(parse: Parse) -> None:
    with pytest.raises(NoText, match="contains no files"):
        parse(builders.make_zip({}), "a.zip")
    with pytest.raises(DamagedFile, match="cut off"):
        parse(builders.make_zip({"a.md": "x" * 500})[:-30], "a.zip")


def test_attachments_of_a_message_are_parts(tmp_path: Path) -> None:
    mail = (
        b"Subject: Beams\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
        b"--b\r\n\r\nHello.\r\n--b\r\nContent-Type: text/plain; name=notes.txt\r\n"
        b"Content-Disposition: attachment; filename=notes.txt\r\n\r\nquokka\r\n--b\r\n"
        b"Content-Type: image/gif; name=logo.png\r\nContent-ID: <logo>\r\n"
        b"Content-Disposition: inline; filename=logo.png\r\n\r\nx\r\n--b\r\n"
        b"Content-Type: application/pdf\r\nContent-Disposition: attachment\r\n\r\n%PDF-1.4\r\n"
        b"--b\r\nContent-Type: application/zip; name=x.exe\r\n\r\nMZ\x90\r\n--b--\r\n"
    )
    document = _parts(mail, "a.eml", tmp_path)
    assert _by_path(document) == {"notes.txt": b"quokka", "attachment.pdf": b"%PDF-1.4"}
    # A picture within the text is no loss, a program that was sent along might be one.
    (warning,) = document.warnings
    assert ": x.exe." in warning


def test_outlook_message_is_read(tmp_path: Path) -> None:
    page = "<p>Größe: the long arm carries the weight along its <b>whole</b> scale.</p>"
    letter = Letter(
        body="See the HTML.",
        html=page.encode(),
        attachments=[Attachment("notes.txt", b"quokka"), Attachment("big.csv", b"a,b\n" * 3_000)],
        inner=[Letter("The hook", ("", "cy@example.org"), (), "It must hold.")],
    )
    document = _parts(make_msg(letter), "a.msg", tmp_path)
    assert list(document.blocks) == [
        h(1, "Beam handbook"),
        p(
            "From: Ada Weigher <ada@example.org>\nTo: Bo <bo@example.org>\n"
            "Date: Wed, 01 May 2024 08:00:00 +0000"
        ),
        p("Größe: the long arm carries the weight along its whole scale."),
        h(2, "The hook"),
        p("From: cy@example.org\nDate: Wed, 01 May 2024 08:00:00 +0000"),
        p("It must hold."),
        p("Attachments: notes.txt, big.csv"),
    ]
    assert (document.title, document.author) == ("Beam handbook", "Ada Weigher <ada@example.org>")
    assert document.created == "2024-05-01T08:00:00+00:00"
    assert _by_path(document) == {"notes.txt": b"quokka", "big.csv": b"a,b\n" * 3_000}


def test_damaged_outlook_messages_are_refused(parse: Parse) -> None:
    whole = make_msg()
    with pytest.raises(DamagedFile, match="save it again"):
        parse(whole[:1024], "a.msg")
    with pytest.raises(DamagedFile, match="but is not one"):
        parse(make_ole({"Data": b"x"}), "a.msg")
    (warning,) = parse(whole[:3_000], "a.msg").warnings
    assert "cut off" in warning
    rtf = Letter(body="", extra={0x001A: "IPM.Note.SMIME"})
    (warning,) = parse(make_msg(rtf), "a.msg").warnings
    assert "is encrypted, or signed" in warning


def test_files_in_a_pdf_are_parts(tmp_path: Path) -> None:
    import pypdfium2

    document = pypdfium2.PdfDocument(builders.make_pdf())
    document.new_attachment("invoice.xml").set_data(builders.make_xml())
    out = io.BytesIO()
    document.save(out)
    document.close()
    assert _by_path(_parts(out.getvalue(), "a.pdf", tmp_path)) == {
        "invoice.xml": builders.make_xml()
    }
