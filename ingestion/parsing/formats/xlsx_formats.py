"""The number formats of an XLSX that anydoc does not show as people see them.

It shows every date in ISO 8601, and a number without its format where that has an unquoted sign
(£, °) or is a built-in one whose currency is the reader's own.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from io import BytesIO

from ingestion.parsing.formats.ooxml import attributes, escaped, read_member

_FORMAT = re.compile(rb"<(?:\w+:)?numFmt\s[^<>]*>")
_STYLES = re.compile(rb"<(?:\w+:)?cellXfs\b.*?</(?:\w+:)?cellXfs>", re.DOTALL)
_STYLE = re.compile(rb"<(?:\w+:)?xf\s[^<>]*>")
_SIGN = re.compile(rb'(&quot;.*?&quot;|\\.|\[[^\]"]*\])|([\xc2-\xf4][\x80-\xbf]+)')
_OF_READER = re.compile(rb'(?<=\bnumFmtId=")(?:[5-8]|4[1-4])(?=")')
_WITHOUT_CURRENCY = {5: 37, 6: 38, 7: 39, 8: 40, 41: 37, 42: 37, 43: 39, 44: 39}
# Built-in dates have the order of the reader's country: they stay in ISO 8601.
_TIMES = {"18": "h:mm AM/PM", "19": "h:mm:ss AM/PM", "20": "h:mm", "21": "h:mm:ss"}

_FROM_1904 = re.compile(rb'<(?:\w+:)?workbookPr\s[^<>]*\bdate1904="(?:1|true)"')
_FIRST_SURE = 61  # before it is the 29 February 1900 that Excel counts
_LAST = 2_950_000  # in the year 9976

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$-(?P<language>[\w-]+)\]|(?P<mark>[-/:., ])|'
    r"(?P<field>am/pm|yyyy|yy|m{1,4}|d{1,4}|hh?|ss?)",
    re.IGNORECASE,
)
_FIELDS = {
    "yyyy": "%Y", "yy": "%y", "mmmm": "%B", "mmm": "%b", "mm": "%m", "m": "%-m",
    "dddd": "%A", "ddd": "%a", "dd": "%d", "d": "%-d",
    "hh": "%H", "h": "%-H", "ss": "%S", "s": "%-S", "am/pm": "%p",
}  # fmt: skip
_ENGLISH = re.compile(r"en\b.*|.*[048c]09", re.IGNORECASE)
_OF_DAYS = re.compile("%-?[YymbBdaA]")
_BY_READER = re.compile(r"f[48]00|x-.*", re.IGNORECASE)


def as_shown(data: bytes) -> Callable[[bytes], bytes]:
    """The change of a workbook's styles and sheets by which anydoc shows what people see.

    It must have passed `check_archive`; raises the errors in `zip_safety.UNREADABLE`.
    """
    with zipfile.ZipFile(BytesIO(data)) as archive:
        styles, book = (read_member(archive, f"xl/{name}.xml") for name in ("styles", "workbook"))
    entries = list(map(attributes, _FORMAT.findall(styles)))
    codes = {each.get("numFmtId", ""): each.get("formatCode", "") for each in entries}
    cells = _STYLES.search(styles)
    formats = map(attributes, _STYLE.findall(cells[0] if cells else b""))
    shown = [_template((_TIMES | codes).get(each.get("numFmtId", ""), "")) for each in formats]
    templates = {b"%d" % number: each for number, each in enumerate(shown) if each}
    dated = re.compile(
        rb'<c\s([^<>]*?)\bs="(%s)"([^<>]*)>(?:<f\b[^<>]*(?:/>|>[^<]*</f>))?'
        rb"<v>([0-9]+(?:\.[0-9]+)?(?:E-?[0-9]+)?)</v>" % b"|".join(templates)
    )
    # A sheet states no time zone.
    first = datetime(*((1904, 1, 1) if _FROM_1904.search(book) else (1899, 12, 30)))  # noqa: DTZ001

    def cell(match: re.Match[bytes]) -> bytes:
        rest = (match[1] + match[3]).replace(b't="n"', b"")
        template, days = templates[match[2]], float(match[4])
        is_day = _FIRST_SURE <= days < _LAST
        if b't="' in rest or not (is_day or (days < 1 and not _OF_DAYS.search(template))):
            return match[0]
        moment = first + timedelta(seconds=round(days * 86_400))
        return b'<c %st="str"><v>%s</v>' % (rest, escaped(moment.strftime(template)))

    def change(member: bytes) -> bytes:
        if member == styles:
            return _repaired(styles, codes)
        return dated.sub(cell, member) if templates else member

    return change


def _repaired(styles: bytes, codes: Mapping[str, str]) -> bytes:
    """The styles with signs of format codes quoted, and without currencies that no code names."""

    def code(match: re.Match[bytes]) -> bytes:
        return _SIGN.sub(lambda sign: sign[1] or b"&quot;%s&quot;" % sign[2], match[0])

    def built_in(match: re.Match[bytes]) -> bytes:
        number = int(match[0])
        return match[0] if match[0].decode() in codes else b"%d" % _WITHOUT_CURRENCY[number]

    return _OF_READER.sub(built_in, _FORMAT.sub(code, styles))


def _template(code: str) -> str:
    """The code as one of `strftime`; empty if it is not of days or times, or stays in ISO 8601.

    That is where names or an order are those of another language, or of the reader's system.
    """
    section = code.partition(";")[0]
    tokens = list(_TOKEN.finditer(section))
    fields = [each["field"].lower() for each in tokens if each["field"]]
    languages = [each["language"] for each in tokens if each["language"]]
    is_named = any(len(field) > 2 and field[0] in "md" for field in fields)
    is_english = all(map(_ENGLISH.fullmatch, languages)) if languages else "." not in section
    is_whole = "".join(each[0] for each in tokens) == section
    is_by_reader = any(map(_BY_READER.fullmatch, languages))
    if not (fields and is_whole) or is_named > is_english or is_by_reader:
        return ""
    half = "am/pm" in fields
    shown = []
    for before, field, after in zip(("", *fields), fields, (*fields[1:], ""), strict=False):
        is_minute = field in ("m", "mm") and (before[:1] == "h" or after[:1] == "s")
        form = _FIELDS[field].upper() if is_minute else _FIELDS[field]
        shown.append(form.replace("H", "I") if half else form)
    rest = iter(shown)
    return "".join(
        next(rest) if each["field"] else (each["quoted"] or each["escaped"] or each["mark"] or "")
        for each in tokens
    ).strip()
