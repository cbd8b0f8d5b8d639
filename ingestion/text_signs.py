"""What gives text away: whether bytes are any, and which markup it is."""

from __future__ import annotations

import re

_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_CONTROL_BYTES = bytes(set(range(0x20)) - set(b"\t\n\r\x0c\x1b")) + b"\x7f"

HTML_START = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_RST_TITLE = re.compile(r"^(?=\S)[^\n]+\n([=\-~^\"'#*+`])\1{3,}[ \t]*$", re.MULTILINE)
_RST_TOP_TITLE = re.compile(r"\s*([=#*~^\"-])\1{3,}[ \t]*\n[^\n]*\S[^\n]*\n\1{4,}[ \t]*\n")
_RST_MARKUP = re.compile(
    r"^[ \t]*\.\. (?:[\w:-]+::|_[^\n]+:)|(?<![\w`]):[a-z][\w:-]*:`[^`\n]", re.MULTILINE
)


def looks_like_rst(text: str) -> bool:
    """Whether a text that is named as plain is reStructuredText."""
    text = text.replace("\r\n", "\n")
    # Only reStructuredText puts a line above a title as well.
    return bool(
        _RST_TOP_TITLE.match(text) or (_RST_TITLE.search(text) and _RST_MARKUP.search(text))
    )


def looks_like_text(head: bytes) -> bool:
    """Whether the bytes are text in some encoding, with or without a byte order mark."""
    if head.startswith(_BOMS):
        return True
    controls = len(head) - len(head.translate(None, _CONTROL_BYTES))
    if controls == 0 or nul_parity(head) is not None:
        return True
    try:
        # Up to three bytes of the last character may have been cut off.
        head[: max(len(head) - 3, 1)].decode("utf-8")
    except UnicodeDecodeError:
        # Random bytes hold 11% control bytes, text in a legacy encoding none: 2% is a guess.
        return controls < 0.02 * len(head)
    return controls < 0.3 * len(head)


def nul_parity(head: bytes) -> int | None:
    """0 or 1 when NULs fill the even or the odd bytes alone, as in UTF-16 without a mark."""
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if half >= 4 and even >= 0.6 * half and odd <= 0.05 * half:
        return 0
    if half >= 4 and odd >= 0.6 * half and even <= 0.05 * half:
        return 1
    return None
