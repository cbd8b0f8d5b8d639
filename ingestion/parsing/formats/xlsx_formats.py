"""The number formats of an XLSX that anydoc does not apply.

It shows a number without its format where that has an unquoted sign (£, °), or is a built-in one
whose currency is the reader's own.
"""

from __future__ import annotations

import re

_STYLES = re.compile(rb"<(?:\w+:)?styleSheet\b")
_FORMAT = re.compile(rb"<(?:\w+:)?numFmt\s[^<>]*>")
_OWN = re.compile(rb'\bnumFmtId="(\d+)"')
_SIGN = re.compile(rb'(&quot;.*?&quot;|\\.|\[[^\]"]*\])|([\xc2-\xf4][\x80-\xbf]+)')
_OF_READER = re.compile(rb'(?<=\bnumFmtId=")(?:[5-8]|4[1-4])(?=")')
_WITHOUT_CURRENCY = {5: 37, 6: 38, 7: 39, 8: 40, 41: 37, 42: 37, 43: 39, 44: 39}


def repaired(member: bytes) -> bytes:
    """The styles with signs of formats quoted, and without currencies that no format names.

    Other members as they are.
    """
    if not _STYLES.search(member, 0, 2_000):
        return member
    formats = _FORMAT.findall(member)
    own = {match[1] for each in formats for match in _OWN.finditer(each)}

    def quoted(match: re.Match[bytes]) -> bytes:
        return _SIGN.sub(lambda sign: sign[1] or b"&quot;%s&quot;" % sign[2], match[0])

    def built_in(match: re.Match[bytes]) -> bytes:
        return match[0] if match[0] in own else b"%d" % _WITHOUT_CURRENCY[int(match[0])]

    return _OF_READER.sub(built_in, _FORMAT.sub(quoted, member))
