"""E-mail: title, sender, the better of two bodies, old encodings, what is attached."""

from __future__ import annotations

import base64
import struct

import pytest

from ingestion.domain import BlockKind, Unit
from ingestion.errors import NoText, ParseLimitExceeded
from ingestion.parsing.formats.tnef import NotTnef, plain_rtf
from tests.samples import builders
from tests.samples.outlook import Letter, make_msg

from .conftest import Parse
from .shorthand import h, p

WHOLE = "The long arm carries the weight along its whole scale."
HEADERS = "From: ada@example.org\r\nSubject: Beams\r\nMIME-Version: 1.0\r\n"
SENDER = p("From: ada@example.org")


def test_message_with_attachments_is_read(parse: Parse) -> None:
    document = parse(builders.make_eml(), "a.eml")
    assert list(document.blocks) == [
        h(1, "Beam handbook"),
        p(
            "From: Ada Weigher <ada@example.org>\nTo: bo@example.org\n"
            "Date: Wed, 01 May 2024 10:00:00 +0200"
        ),
        p("A steelyard weighs."),
        h(2, "The hook"),
        p("From: cy@example.org"),
        p("It must hold."),
        p("Attachments: beam.gif"),
    ]
    assert document.title == "Beam handbook"
    assert document.author == "Ada Weigher <ada@example.org>"
    assert document.created == "2024-05-01T10:00:00+02:00"


def test_html_alone_keeps_its_structure_below_the_subject(parse: Parse) -> None:
    page = "<h1>Größe</h1><p>Zwei Fuß</p>".encode("iso-8859-1")
    head = (HEADERS + "Content-Type: text/html; charset=iso-8859-1\r\n").encode()
    encoded = b"Content-Transfer-Encoding: base64\r\n\r\n" + base64.encodebytes(page)
    document = parse(head + encoded, "a.eml")
    assert list(document.blocks) == [h(1, "Beams"), SENDER, h(2, "Größe"), p("Zwei Fuß")]


@pytest.mark.parametrize(
    ("plain", "chosen"),
    [
        ("See the browser.", [WHOLE]),
        ("Your program does not show this message as it was meant to be.", [WHOLE]),
        ("The long arm carries the weight.", [WHOLE]),
        (f"{WHOLE} Bye.", [f"{WHOLE} Bye."]),
        ("The arm carries the weight. Dial 114.",
         ["The arm carries the weight. Dial 114.", WHOLE]),
        ("Dial 114.\r\n\r\nThe arm carries the weight.", ["Dial 114.", WHOLE]),
        (WHOLE.replace(" ", "_ _").upper(), [WHOLE.replace(" ", "_ _").upper()]),
        ("See " + "x" * 400_000, [WHOLE]),
    ],
    ids=["a stub gives way to HTML", "so do other words", "and a part", "else plain text", "both",
         "no paragraph twice", "case and signs are no words", "a word without end"],
)  # fmt: skip
def test_no_words_of_a_body_in_two_forms_are_lost(
    parse: Parse, plain: str, chosen: list[str]
) -> None:
    message = (
        HEADERS + "Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n"
        f"Content-Type: text/plain\r\n\r\n{plain}\r\n--b\r\nContent-Type: text/html\r\n\r\n"
        f"<p>{WHOLE}</p>\r\n--b--\r\n"
    )
    assert list(parse(message, "a.eml").blocks) == [h(1, "Beams"), SENDER, *map(p, chosen)]


@pytest.mark.parametrize("encoding", ["iso-2022-jp", "shift_jis"])
@pytest.mark.parametrize("is_declared", [True, False])
def test_japanese_mail_is_read(parse: Parse, encoding: str, is_declared: bool) -> None:
    text = "さおばかりは重りを動かして重さを量る道具です。古くから市場で使われてきました。"
    subject = "さおばかりの使い方について"
    if is_declared:
        word = base64.b64encode(subject.encode(encoding))
        head = b"Subject: =?" + encoding.encode() + b"?B?" + word + b"?=\r\n"
        head += f"MIME-Version: 1.0\r\nContent-Type: text/plain; charset={encoding}\r\n".encode()
    else:
        head = b"Subject: " + subject.encode(encoding) + b"\r\n"
    document = parse(head + b"\r\n" + text.encode(encoding), "a.eml")
    assert document.title == subject
    assert list(document.blocks) == [h(1, subject), p(text)]


def test_seven_bit_encodings_and_soft_line_ends_are_read(parse: Parse) -> None:
    utf7 = HEADERS + "Content-Type: text/plain; charset=utf-7\r\n\r\nGr+APYA3w-e\r\n"
    assert parse(utf7, "a.eml").blocks[-1] == p("Größe")
    flowed = HEADERS + "Content-Type: text/plain; format=flowed\r\n\r\nOne \r\nline.\r\nTwo.\r\n"
    assert parse(flowed, "a.eml").blocks[-1] == p("One line.\nTwo.")


FLOWED = (
    "Open https://e.org/?view=all&fil \r\nter=open to see the quar \r\nterly list.\r\n"
    " From the pier. \r\n  > no quote\r\n> one \r\n> line\r\n>> older \r\n> newer\r\n-- \r\nAda\r\n"
)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        (
            "format=flowed; delsp=yes",
            "Open https://e.org/?view=all&filter=open to see the quarterly list.\n"
            "From the pier. > no quote\n> oneline\n>> older\n> newer\n-- \nAda",
        ),
        (
            'format="Flowed"',
            "Open https://e.org/?view=all&fil ter=open to see the quar terly list.\n"
            "From the pier.  > no quote\n> one line\n>> older \n> newer\n-- \nAda",
        ),
    ],
)
def test_flowed_text(parse: Parse, parameters: str, text: str) -> None:
    message = f"{HEADERS}Content-Type: text/plain; charset=utf-8; {parameters}\r\n\r\n{FLOWED}"
    assert parse(message, "a.eml").blocks[-1] == p(text)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
def test_mail_saved_as_utf_16(parse: Parse, encoding: str) -> None:
    message = HEADERS + "Content-Type: text/plain; charset=iso-8859-1\r\n\r\nGröße 5 €\r\n"
    document = parse(message.encode(encoding), "a.eml")
    assert document.title == "Beams"
    assert list(document.blocks) == [h(1, "Beams"), SENDER, p("Größe 5 €")]


def test_an_attached_text_is_named_and_not_read(parse: Parse) -> None:
    message = (
        HEADERS + "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHello.\r\n--b\r\n"
        "Content-Type: text/plain\r\nContent-Disposition: attachment;\r\n"
        " filename*=utf-8''Gr%C3%B6%C3%9Fe.txt\r\n\r\nsecret\r\n--b\r\n"
        "Content-Type: application/pdf\r\nContent-Disposition: attachment\r\n\r\nx\r\n--b--\r\n"
    )
    texts = [block.text for block in parse(message, "a.eml").blocks]
    assert texts[2:] == ["Hello.", "Attachments: Größe.txt, unnamed application/pdf"]


def test_encrypted_mail_gets_a_warning(parse: Parse) -> None:
    head = HEADERS + "Content-Type: application/pkcs7-mime; smime-type={}; name=smime.p7m\r\n\r\nx"
    warnings = parse(head.format("enveloped-data"), "a.eml").warnings
    assert len(warnings) == 1
    assert "is encrypted" in warnings[0]
    (warning,) = parse(head.format("signed-data"), "a.eml").warnings
    assert "unsupported type): smime.p7m" in warning


def test_unusual_mail_is_read(parse: Parse) -> None:
    with pytest.raises(NoText):
        parse("     \n\n  ", "a.eml")
    document = parse("Subject: =?x-unknown?Q?B=E9am?=\nDate: soon\n\nText.", "a.eml")
    assert (document.title, document.created) == ("Béam", "")
    assert document.blocks[1] == p("Date: soon")


def test_a_subject_folded_before_an_encoded_word(parse: Parse) -> None:
    subject = "Die =?utf-8?q?H=C3=A4user?= an der\r\n =?utf-8?q?Stra=C3=9F?=\r\n =?utf-8?q?e?="
    assert parse(f"Subject: {subject}\r\n\r\nText.", "a.eml").title == "Die Häuser an der Straße"


def test_byte_order_mark_before_the_first_header_is_ignored(parse: Parse) -> None:
    assert parse(b"\xef\xbb\xbfSubject: Beams\r\n\r\nText.", "a.eml").title == "Beams"


def test_a_page_saved_as_one_file_is_read(parse: Parse) -> None:
    page = (
        "From: <Saved by Blink>\nSubject: Prices\nMIME-Version: 1.0\n"
        'Content-Type: multipart/related; type="text/html"; boundary="B"\n\n--B\n'
        "Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n"
        "<p>Gr=C3=B6=C3=9Fe 42</p>\n--B\nContent-Type: text/css\n\np { color: red }\n--B--\n"
    )
    document = parse(page.encode(), "a.mht")
    assert (document.title, document.blocks[-1]) == ("Prices", p("Größe 42"))


def test_a_multipart_without_boundary_is_read_as_text(parse: Parse) -> None:
    document = parse(HEADERS + "Content-Type: multipart/mixed\r\n\r\nA hook.\r\n", "a.eml")
    assert list(document.blocks) == [h(1, "Beams"), SENDER, p("A hook.")]


# [MS-OXRTFCP], example 1.
COMPRESSED = bytes.fromhex(
    "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c0900206277"
    "05b06c647d0a800fa0"
)


def attribute(level: int, name: int, value: bytes) -> bytes:
    return struct.pack("<BHHI", level, name, 0, len(value)) + value + b"\0\0"


def properties(*values: tuple[int, int, bytes]) -> bytes:
    """MAPI properties, given as type, number and value."""
    out = struct.pack("<I", len(values))
    for kind, number, value in values:
        size = b"" if kind == 3 else struct.pack("<II", 1, len(value))
        out += struct.pack("<HH", kind, number) + size + value + bytes(-len(value) % 4)
    return out


def winmail(*body: tuple[int, int, bytes], inner: bytes = b"") -> bytes:
    """A winmail.dat with an attached file and, in `inner`, an attached message."""
    names = properties((0x1F, 0x3707, "Größe.txt".encode("utf-16-le")))
    parts = [
        attribute(1, 0x9003, properties((3, 0x3FDE, struct.pack("<I", 1252)), *body)),
        attribute(2, 0x9002, b""),
        attribute(2, 0x800F, b"It holds 5 t."),
        attribute(2, 0x9005, names),
    ]
    if inner:
        stored = properties((0x0D, 0x3701, bytes(16) + inner))
        parts += [attribute(2, 0x9002, b""), attribute(2, 0x9005, stored)]
    return b"\x78\x9f\x3e\x22\1\0" + b"".join(parts)


def with_winmail(data: bytes, plain: str = "") -> bytes:
    head = HEADERS + "Content-Type: multipart/mixed; boundary=b\r\n\r\n"
    head += f"--b\r\nContent-Type: text/plain\r\n\r\n{plain}\r\n--b\r\n"
    head += "Content-Type: application/ms-tnef; name=winmail.dat\r\n"
    head += "Content-Transfer-Encoding: base64\r\n\r\n"
    return head.encode() + base64.encodebytes(data) + b"--b--\r\n"


HTML = (0x102, 0x1013, "<p>Zwei Füße</p>".encode("cp1252"))
RTF = (0x102, 0x1009, COMPRESSED)


@pytest.mark.parametrize(
    ("body", "plain", "texts"),
    [
        ([HTML, RTF], "", ["Zwei Füße", "Attachments: Größe.txt"]),
        ([RTF], "", ["Attachments: message.rtf, Größe.txt"]),
        ([HTML], "Two feet", ["Two feet", "Attachments: Größe.txt"]),
    ],
    ids=["the body", "RTF alone is a part", "the body is there already"],
)
def test_winmail_is_opened(
    parse: Parse, body: list[tuple[int, int, bytes]], plain: str, texts: list[str]
) -> None:
    document = parse(with_winmail(winmail(*body), plain), "a.eml")
    assert [block.text for block in document.blocks[2:]] == texts
    assert document.completeness.others == {Unit.FILE: texts[-1].count(",") + 1}
    assert not document.completeness.losses


def test_messages_in_winmail(parse: Parse) -> None:
    inner = winmail((0x1F, 0x0037, "Hooks".encode("utf-16-le")), (0x1E, 0x1000, b"They hold."))
    document = parse(with_winmail(winmail(HTML, inner=inner)), "a.eml")
    texts = [block.text for block in document.blocks[2:]]
    assert texts[:3] == ["Zwei Füße", "Hooks", "They hold."]


@pytest.mark.parametrize(
    "data",
    [b"no such file", winmail(HTML)[:50], winmail(HTML)[:60], winmail((0x102, 0x1009, b"x"))],
    ids=["another file", "cut off", "cut off between", "unreadable RTF"],
)
def test_a_damaged_winmail_is_named(parse: Parse, data: bytes) -> None:
    document = parse(with_winmail(data), "a.eml")
    assert document.blocks[-1] == p("Attachments: winmail.dat")
    (gap,) = document.completeness.losses
    assert (gap.unit, gap.places) == (Unit.FILE, ("winmail.dat",))


def test_compressed_rtf() -> None:
    assert plain_rtf(COMPRESSED) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    stored = struct.pack("<II4sI", 17, 5, b"MELA", 0) + b"{\\rtf"
    assert plain_rtf(stored) == b"{\\rtf"
    with pytest.raises(NotTnef):
        plain_rtf(b"{\\rtf1 not compressed}")


@pytest.mark.parametrize(("rtf", "is_read"), [(COMPRESSED, True), (b"no such text", False)])
def test_outlooks_text_in_rtf_alone_is_a_part(parse: Parse, rtf: bytes, is_read: bool) -> None:
    document = parse(make_msg(Letter(body="", rtf=rtf)), "a.msg")
    assert (document.blocks[-1] == p("Attachments: message.rtf")) is is_read
    assert bool(document.completeness.losses) is not is_read
    assert any("rich text" in warning for warning in document.warnings) is not is_read


def test_nesting_of_mails_is_limited(parse: Parse) -> None:
    message = "Content-Type: message/rfc822\n\n" * 60 + "Subject: last\n\nText."
    with pytest.raises(ParseLimitExceeded):
        parse(message, "a.eml")
    shallow = parse("Content-Type: message/rfc822\n\n" * 9 + "Subject: last\n\nText.", "a.eml")
    assert max(b.level for b in shallow.blocks if b.kind is BlockKind.HEADING) == 6


def test_an_invitation_is_read_beside_the_text(parse: Parse) -> None:
    content = (
        f'{HEADERS}Content-Type: multipart/alternative; boundary="B"\r\n\r\n'
        "--B\r\nContent-Type: text/plain\r\n\r\nCome.\r\n"
        "--B\r\nContent-Type: text/html\r\n\r\n<p>Come.</p>\r\n"
        "--B\r\nContent-Type: text/calendar\r\n\r\nBEGIN:VCALENDAR\r\nLOCATION:Boat\r\n house\r\n"
        "END:VCALENDAR\r\n--B--\r\n"
    )
    blocks = list(parse(content.encode(), "a.eml").blocks)
    assert blocks[2:] == [p("Come."), p("BEGIN:VCALENDAR\nLOCATION:Boathouse\nEND:VCALENDAR")]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("BEGIN:VCALENDAR\r\nSUMMARY:Bring the boat\r\n house\\, please\\nAda\r\n",
         "BEGIN:VCALENDAR\nSUMMARY:Bring the boathouse, please\nAda"),
        ("BEGIN:VCARD\nFN:Ada\nPHOTO;ENCODING=b;TYPE=JPEG:/9j/\n 4AAQ\nEND:VCARD\n",
         "BEGIN:VCARD\nFN:Ada\nEND:VCARD"),
        ("Not BEGIN:VCARD\n a line\n", "Not BEGIN:VCARD\n a line"),
    ],
)  # fmt: skip
def test_fields_of_calendars_and_cards_are_lines(parse: Parse, source: str, text: str) -> None:
    assert list(parse(source.encode(), "a.ics").blocks) == [p(text)]
