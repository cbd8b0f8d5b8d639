"""An RTF rewritten before anydoc reads it.

anydoc leaves out headers, footers, comments and text boxes, reads text that is hidden or that a
tracked change deleted, does not tell raised text apart, and knows neither symbol fonts nor code
pages outside Windows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import chain

from ingestion.parsing.formats.asides import comment_mark, comment_text
from ingestion.parsing.formats.encoding import known_codec
from ingestion.parsing.formats.page_margins import is_margin_text
from ingestion.parsing.formats.raised_text import subscript, superscript
from ingestion.parsing.formats.symbol_fonts import in_unicode, is_symbol_font

# Of the code pages that RTF may declare, anydoc knows only those of Windows.
_PAGE = re.compile(rb"\{\\rtf\d*[^{}]{0,200}?\\(mac|pca|pc)(?![a-z])")
_CODECS = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}
_OTHER_PAGE = re.compile(rb"\\ansicpg(?!10000\b|437\b|850\b)\d")
_BYTE = re.compile(rb"\\'([89a-fA-F][0-9a-fA-F])")

_TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]+)(?P<number>-?\d{1,10})? ?|\\'(?P<byte>[0-9a-fA-F]{2})"
    rb"|\\(?P<symbol>.)|(?P<brace>[{}])|(?P<text>[^\\{}]+)|.",
    re.DOTALL,
)
_NEEDED = re.compile(
    rb"\\(?:deleted|mvf|v|super|sub|header[lrf]?|footer[lrf]?|annotation|shptxt|dptxbxtext|fcharset2)\b|\\u-"
)
_FONT = re.compile(rb"\{\\f(\d+)(?:\\[a-z]+-?\d* ?|\{[^{}]*\}|\s)*([^{};\\]+)")
_MARGINS = {
    f"{kind}{page}".encode(): kind for kind in ("header", "footer") for page in ("", "l", "r", "f")
}
_RAW = frozenset(
    b"fonttbl colortbl stylesheet info pict object listtable listoverridetable revtbl".split()
)
_CHARACTERS = {
    b"emdash": "—", b"endash": "–", b"lquote": "‘", b"rquote": "’", b"ldblquote": "“",
    b"rdblquote": "”", b"bullet": "•", b"tab": " ", b"line": " ", b"par": " ",
}  # fmt: skip
_SYMBOLS = {b"~": " ", b"_": "-", b"{": "{", b"}": "}", b"\\": "\\"}
# Of paragraphs; within a comment they would end the one that it is on.
_PARAGRAPH = frozenset(b"par pard s intbl itap ls ilvl".split())
_PAGE_NUMBER = re.compile(r"\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b")
_SYMBOL_FIELD = re.compile(r'\s*SYMBOL\s+(0x[0-9a-f]+|\d+).*?\\f\s+"?([^"\\]+)', re.IGNORECASE)


def repaired(rtf: bytes) -> tuple[bytes, int]:
    """The RTF repaired, or as it is if it needs nothing; how many hidden characters it has."""
    rtf = _with_unicode(rtf)
    return _Rewriter(rtf).rewritten() if _NEEDED.search(rtf) else (rtf, 0)


def _with_unicode(rtf: bytes) -> bytes:
    """The RTF with bytes of a code page outside Windows rewritten as Unicode escapes."""
    page = _PAGE.match(rtf.lstrip())
    if page is None or _OTHER_PAGE.search(rtf[:400]):
        return rtf
    codec = _CODECS[page[1]]
    return _BYTE.sub(
        lambda match: _escapes(bytes.fromhex(match[1].decode()).decode(codec, "replace")), rtf
    )


def _escapes(text: str) -> bytes:
    """The text as Unicode escapes, those of ASCII as they are."""
    units = memoryview(text.encode("utf-16-le", "replace")).cast("H")
    parts = (
        b"%c" % unit
        if 0x20 <= unit < 0x7F and unit not in b"\\{}"
        else b"\\u%d?" % (unit - 0x10000 * (unit >= 0x8000))
        for unit in units
    )
    return b"{\\uc1 %s}" % b"".join(parts)


@dataclass
class _Field:
    """A field: its instruction, as far as it was read."""

    instruction: str = ""


@dataclass
class _Group:
    """The state within braces; a group begins with that of the one around it.

    `script` is 1 for raised text, -1 for lowered.
    `left_out` is the control word that hides or deletes the text.
    """

    script: int = 0
    left_out: bytes = b""
    is_raw: bool = False
    is_instruction: bool = False
    font: str = ""
    fallbacks: int = 1
    field: _Field | None = None


@dataclass
class _Output:
    """What is written for a group of its own: a header, a comment; `kind` says for what."""

    kind: str = ""
    depth: int = 0
    parts: list[bytes] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    has_page_number: bool = False


class _Rewriter:
    def __init__(self, rtf: bytes) -> None:
        self._rtf = rtf
        self._fonts = {
            number: font.strip().decode("latin-1")
            for number, font in _FONT.findall(rtf)
            if is_symbol_font(font.decode("latin-1"))
        }
        self._has_first_page = b"\\titlepg" in rtf
        self._group = _Group()
        self._stack: list[_Group] = []
        self._outputs = [_Output()]
        self._margins: dict[tuple[str, str], bytes] = {}
        self._author = ""
        self._skip = 0
        self._drops_fallback = False
        self._hidden = 0
        page = re.search(rb"\\ansicpg(\d+)", rtf[:400])
        self._codec = known_codec(f"cp{int(page[1])}" if page else "") or "cp1252"

    def rewritten(self) -> tuple[bytes, int]:
        position = 0
        while match := _TOKEN.match(self._rtf, position):
            position = match.end()
            if match["brace"]:
                self._brace(match[0])
            elif match["word"] == b"bin":
                end = position + max(int(match["number"] or 0), 0)
                self._write(match[0] + self._rtf[position:end])
                position = end
            elif match["word"]:
                self._word(match)
            else:
                self._character(match)
        footers = [b"\\par" + part for (kind, _), part in self._margins.items() if kind == "footer"]
        whole = b"".join(chain.from_iterable(one.parts for one in self._outputs))
        body, brace, rest = whole.rpartition(b"}")
        return body + b"".join(footers) + brace + rest, self._hidden

    def _write(self, part: bytes) -> None:
        self._outputs[-1].parts.append(part)

    def _brace(self, brace: bytes) -> None:
        self._skip = 0
        if brace == b"{":
            self._stack.append(self._group)
            self._group = replace(self._group)
            self._write(brace)
            return
        self._write(brace)
        if len(self._outputs) > 1 and self._outputs[-1].depth == len(self._stack):
            self._end(self._outputs.pop())
        self._group = self._stack.pop() if self._stack else self._group

    def _begin(self, kind: str) -> None:
        """Write the rest of this group, and its brace, to an output of its own."""
        opening = self._outputs[-1].parts
        while opening and opening.pop() != b"{":
            pass
        self._outputs.append(_Output(kind, len(self._stack), [b"{"]))
        self._group.is_raw = False

    def _end(self, output: _Output) -> None:
        text = " ".join("".join(output.texts).split())
        if output.kind == "author":
            self._author = text
        elif output.kind == "comment":
            start, end = comment_mark(comment_text(self._author, text)).split(text or "-", 1)
            # As it is written, because it may be in the code page of a font.
            self._write(_escapes(start) + b"".join(output.parts) + _escapes(end))
        elif is_margin_text(text, has_page_number=output.has_page_number):
            part = b"".join(output.parts)[:-1] + b"\\par}"
            if (output.kind, text) not in self._margins:
                self._margins[output.kind, text] = part
                self._write(part if output.kind == "header" else b"")

    def _word(self, match: re.Match[bytes]) -> None:
        word, number = match["word"], match["number"]
        if word == b"u":
            self._unicode(match)
            return
        self._skip = 0
        if self._destination(word):
            return
        if self._outputs[-1].kind == "comment" and word in _PARAGRAPH:
            self._write(b" ")
            return
        self._format(word, number)
        if word in _CHARACTERS and not self._group.is_raw:
            self._outputs[-1].texts.append(_CHARACTERS[word])
            if self._group.left_out and word != b"par":
                return
        self._write(match[0])

    def _destination(self, word: bytes) -> bool:
        """Follow the beginning of a destination; whether its control word is left out."""
        group = self._group
        if word in _RAW:
            group.is_raw = True
        elif word == b"field":
            group.field = _Field()
        elif word == b"fldinst":
            group.is_instruction = True
        elif word == b"fldrslt":
            self._result()
        # LibreOffice repeats those of each page style in a table that readers skip.
        elif (kind := _MARGINS.get(word)) and not group.is_raw:
            is_shown = not word.endswith(b"f") or self._has_first_page
            self._begin(kind if is_shown else "hidden")
            return True
        elif word in (b"shptxt", b"dptxbxtext"):
            self._begin("footer")  # a text box, at the end as well
            return True
        elif word in (b"annotation", b"atnauthor"):
            self._begin("comment" if word == b"annotation" else "author")
            return True
        elif word == b"chpgn" and self._outputs[-1].kind:
            self._outputs[-1].has_page_number = True
            return True
        return False

    def _result(self) -> None:
        """Replace the result of a field for a symbol; leave out that of a page number."""
        group, output = self._group, self._outputs[-1]
        instruction = group.field.instruction if group.field else ""
        if symbol := _SYMBOL_FIELD.match(instruction):
            code, font = symbol[1], symbol[2].strip()
            self._write(b"{\\fldrslt}}" + _escapes(in_unicode(chr(int(code, 0)), font)) + b"{{")
            group.left_out = b"field"
        elif output.kind and _PAGE_NUMBER.match(instruction):
            output.has_page_number, group.left_out = True, b"field"

    def _format(self, word: bytes, number: bytes | None) -> None:
        group, is_on = self._group, number != b"0"
        if word in (b"deleted", b"mvf", b"v"):
            group.left_out = word if is_on else group.left_out.removeprefix(word)
        elif word in (b"super", b"sub"):
            group.script = (1 if word == b"super" else -1) * is_on
        elif word == b"nosupersub":
            group.script = 0
        elif word == b"plain":
            group.script, group.left_out, group.font = 0, b"", ""
        elif word == b"f":
            group.font = self._fonts.get(number or b"", "")
        elif word == b"uc":
            group.fallbacks = max(int(number or 1), 0)

    def _unicode(self, match: re.Match[bytes]) -> None:
        code = int(match["number"] or 0) % 0x10000
        self._drops_fallback = not self._text(chr(code), match[0])
        self._skip = self._group.fallbacks

    def _character(self, match: re.Match[bytes]) -> None:
        source, symbol = match[0], match["symbol"]
        if symbol:
            self._group.is_raw |= symbol == b"*"
            text = _SYMBOLS.get(symbol, "")
        elif match["byte"]:
            codec = "latin-1" if self._group.font else self._codec
            text = bytes.fromhex(match["byte"].decode()).decode(codec, "replace")
        else:
            text = source.decode("latin-1")
        if self._skip and text:
            length = min(self._skip, len(source)) if match["text"] else len(source)
            self._skip -= length if match["text"] else 1
            if not self._drops_fallback:
                self._write(source[:length])
            source = source[length:]
            text = text[length:] if match["text"] else ""
        if source:
            self._text(text, source)

    def _text(self, text: str, source: bytes) -> bool:
        """Write the text as it should read; whether that is as in the source."""
        group, output = self._group, self._outputs[-1]
        if group.is_instruction and group.field:
            group.field.instruction += text
        if group.is_instruction or group.is_raw:
            self._write(source)
            return True
        if group.left_out:
            self._hidden += len("".join(text.split())) * (group.left_out == b"v")
            return False
        wanted = text
        if group.font or any("\uf020" <= char <= "\uf0ff" for char in text):
            wanted = in_unicode(text, group.font)
        if group.script:
            wanted = superscript(wanted) if group.script > 0 else subscript(wanted)
        output.texts.append(wanted)
        self._write(source if wanted == text else _escapes(wanted))
        return wanted == text
