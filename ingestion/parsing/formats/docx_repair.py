"""The XML of a DOCX, rewritten before anydoc reads it: anydoc leaves out what stands here.

Headers and footers, comments, embedded documents (`altChunk`), phonetic guides, characters of
symbol fonts, non-breaking hyphens, drop caps, rows that a control repeats; raised and lowered text,
which it does not tell apart.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress

from ingestion.parsing.formats.asides import CHUNK, comment_mark, comment_text, reading_mark
from ingestion.parsing.formats.ooxml import (
    attributes,
    charts_with_axes,
    escaped,
    plain,
    read_member,
    readable_run,
    relations,
    texts,
    with_texts,
    without_private,
)
from ingestion.parsing.formats.page_margins import is_margin_text
from ingestion.parsing.formats.symbol_fonts import in_unicode, is_symbol_font

_BODY, _STYLES = "word/document.xml", "word/styles.xml"
_COMMENTS = "word/comments.xml"
_NOTES = ("word/footnotes.xml", "word/endnotes.xml")
_BODY_START = re.compile(rb"<\w+:body(?:\s[^<>]*)?>")
_BODY_END = re.compile(rb"</\w+:body>")
_HYPHEN = re.compile(rb"<(\w+):noBreakHyphen\s*/>")
# A run with properties; those before a tracked change of them follow in `rPrChange`.
_RUN = re.compile(
    rb"(<(\w+):r(?:\s[^<>]*)?>\s*<\2:rPr>)(.{0,4000}?)(</\2:rPr>)(.*?)(?=</\2:r>)", re.DOTALL
)
_VERTICAL = re.compile(rb':vertAlign\s+\w+:val="(superscript|subscript|baseline)"')
_VANISHED = re.compile(rb'<\w+:vanish(?:\s*/>|\s+\w+:val="(?:1|true|on)")')
_RUN_FONT = re.compile(rb':rFonts\s[^<>]*?:(?:ascii|hAnsi)="([^"]*)"')
_TITLE_STYLE = re.compile(
    rb'<\w+:style\b(?=[^<>]*"paragraph")[^<>]*:styleId="([^"]*)"[^<>]*>\s*<\w+:name\s[^<>]*"title"',
    re.IGNORECASE,
)
_STYLED = re.compile(
    rb'<(\w+):p(?:\s[^<>]*)?>\s*<\1:pPr>\s*<\1:pStyle\s[^<>"]*"([^"]*)".*?</\1:p>', re.DOTALL
)
_SYMBOL = re.compile(rb"<(\w+):sym\s([^<>]*)/>")
_BREAKS = re.compile(rb"</?\w+:(?:p|tab|br|cr)\b")
# A capital in a frame, and the start of the paragraph that it begins.
_DROP_CAP = re.compile(
    rb'<(\w+):p(?:\s[^<>]*)?>\s*<\1:pPr>(?:(?!</\1:pPr>).)*?:dropCap="(?:drop|margin)".*?</\1:pPr>'
    rb"((?:(?!</?\1:p[ >]).)*)</\1:p>\s*(<\1:p(?:\s[^<>]*)?(?<!/)>(?:\s*<\1:pPr>.*?</\1:pPr>)?)",
    re.DOTALL,
)
_FORMERLY = re.compile(rb"<(\w+):pPrChange\b.*?</\1:pPrChange>", re.DOTALL)
_RUBY = re.compile(rb"<(\w+):ruby\b.*?</\1:ruby>", re.DOTALL)
_RUBY_BASE = re.compile(rb"<\w+:rubyBase\b.*?</\w+:rubyBase>", re.DOTALL)
_COMMENT = re.compile(rb"<(\w+):comment\s([^<>]*)>(.*?)</\1:comment>", re.DOTALL)
_COMMENT_MARK = re.compile(rb"<(\w+):commentReference\s([^<>]*)/>")
_CHUNK = re.compile(rb"<(\w+):altChunk\s([^<>]*?)(?:/>|>.*?</\1:altChunk>)", re.DOTALL)
# A box and a list of a form of Word 2003; what is chosen is only in their properties.
_FIELD = re.compile(
    rb"<(\w+):fldChar\b[^<>]*>\s*<\1:ffData>(?:(?!</\1:ffData>).)*?"
    rb"<\1:(?:checkBox>(?P<box>.*?)</\1:checkBox|ddList>(?P<list>.*?)</\1:ddList)>",
    re.DOTALL,
)
_CHECKED = re.compile(rb':(checked|default)\b(?:\s+\w+:val="(\w+)")?')
_CHOSEN = re.compile(rb':(?:result|default)\s+\w+:val="(\d{1,4})"')
_CHOICES = re.compile(rb':listEntry\s+\w+:val="([^"]*)"')
# A control around rows of a table, which repeats them; the tags of all controls.
_ROW_CONTROL = re.compile(rb"<\w+:sdtContent>\s*<\w+:tr\b")
_CONTROL = re.compile(
    rb"<(\w+):sdt((?:End)?Pr)\b(?:[^<>]*/>|.*?</\1:sdt\2>)|</?\w+:sdt(?:Content)?>", re.DOTALL
)
_REFERENCE = re.compile(rb"<\w+:(header|footer)Reference\s([^<>]*)/>")
_MARGIN_PART = re.compile(rb"<(\w+):(?:hdr|ftr)(\s[^<>]*)?>(.*)</\1:(?:hdr|ftr)>", re.DOTALL)
_FIRST_PAGE = re.compile(rb'<\w+:titlePg(?:\s*/>|\s+\w+:val="(?:1|true|on)")')
_EVEN_PAGES = re.compile(rb'<\w+:evenAndOddHeaders(?:\s*/>|\s+\w+:val="(?:1|true|on)")')
# The number of a page and of all pages: what is stored is right on one page at most.
_PAGE_NUMBER = re.compile(
    rb'<(\w+):fldSimple\s[^<>]*:instr="\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b.*?</\1:fldSimple>'
    rb"|<\w+:instrText\b[^<>]*>\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b.*?"
    rb'(?=<\w+:fldChar\s[^<>]*"end")',
    re.DOTALL,
)


def repaired_parts(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The parts of a DOCX that anydoc reads, repaired; empty are those that cannot be read.

    The headers stand before the first paragraph of the body, the footers after its last one.
    """
    names = set(archive.namelist())
    comments = dict(_comments(_repaired(read_member(archive, _COMMENTS), {})))
    parts = charts_with_axes(archive)
    for name in names.intersection((_BODY, *_NOTES)):
        part = read_member(archive, name)
        part = _CONTROL.sub(b"", part) if _ROW_CONTROL.search(part) else part
        parts[name] = _repaired(part, comments)
    if body := parts.get(_BODY):
        targets = relations(archive, _BODY)
        body = _CHUNK.sub(lambda match: _chunk(match, targets), body)
        top, bottom = (
            b"".join(_repaired(part, {}) for part in margins) for margins in margin_parts(archive)
        )
        body = _BODY_START.sub(lambda match: match[0] + top, body, count=1)
        parts[_BODY] = _BODY_END.sub(lambda match: bottom + match[0], body, count=1)
    return parts


def title_of(archive: zipfile.ZipFile) -> str:
    """The text of the only paragraph in the style Title, else ""."""
    styles = set(_TITLE_STYLE.findall(read_member(archive, _STYLES)))
    paragraphs = _STYLED.finditer(read_member(archive, _BODY))
    titles = [match[0] for match in paragraphs if match[2] in styles]
    words = " ".join(map(texts, _BREAKS.split(titles[0]))) if len(titles) == 1 else ""
    return " ".join(words.split())


def margin_parts(archive: zipfile.ZipFile) -> tuple[list[bytes], list[bytes]]:
    """The headers, and the footers, that pages show: each distinct one once, as content of a body.

    Without those of first and of even pages where they are switched off, and without those that
    contain only a page number.
    """
    body, settings = read_member(archive, _BODY), read_member(archive, "word/settings.xml")
    shown = {"default": True, "first": bool(_FIRST_PAGE.search(body))}
    shown["even"] = bool(_EVEN_PAGES.search(settings))
    targets = relations(archive, _BODY)
    margins: dict[str, dict[str, bytes]] = {"header": {}, "footer": {}}
    for kind, reference in _REFERENCE.findall(body):
        entry = attributes(reference)
        match = _MARGIN_PART.search(read_member(archive, targets.get(entry.get("id", ""), "")))
        if match is None or not shown.get(entry.get("type", ""), True):
            continue
        content = _PAGE_NUMBER.sub(b"", match[3])
        words = " ".join(texts(content).split())
        if is_margin_text(words, has_page_number=content != match[3]):
            space = b"<%s:sdt%s><%s:sdtContent>" % (match[1], match[2] or b"", match[1])
            part = space + content + b"</%s:sdtContent></%s:sdt>" % (match[1], match[1])
            margins[kind.decode()].setdefault(words, part)
    return list(margins["header"].values()), list(margins["footer"].values())


def _repaired(part: bytes, comments: Mapping[str, str]) -> bytes:
    part = _HYPHEN.sub(rb"<\1:t>-</\1:t>", without_hidden(part))
    if b":ffData>" in part:
        part = _FIELD.sub(_field, part)
    if b":dropCap=" in part:
        part = _DROP_CAP.sub(rb"\3\2", _FORMERLY.sub(b"", part))
    part = _SYMBOL.sub(_symbol, part)
    if b":ruby>" in part or b":ruby " in part:
        part = _RUBY.sub(_ruby, part)
    if comments:
        part = _COMMENT_MARK.sub(lambda match: _comment(match, comments), part)
    has_symbols = any(is_symbol_font(plain(font)) for font in set(_RUN_FONT.findall(part)))
    if has_symbols or b":vertAlign" in part:
        part = _RUN.sub(_run, part)
    return without_private(part)


def without_hidden(part: bytes) -> bytes:
    """The part without the texts that Word neither shows nor prints."""
    return _RUN.sub(_shown, part) if b":vanish" in part else part


def _shown(run: re.Match[bytes]) -> bytes:
    if not _VANISHED.search(run[3].partition(b"rPrChange")[0]):
        return run[0]
    return run[1] + run[3] + run[4] + with_texts(run[5], lambda text: "")


def _run(match: re.Match[bytes]) -> bytes:
    """A run with its symbols in Unicode, and raised or lowered if it is."""
    style = match[3].partition(b"rPrChange")[0]
    vertical = _VERTICAL.search(style)
    return readable_run(match, _RUN_FONT.search(style), vertical[1] if vertical else b"")


def _field(match: re.Match[bytes]) -> bytes:
    """The field behind its box, ticked or not, or behind the entry that is chosen."""
    if match["box"] is not None:
        states = dict(_CHECKED.findall(match["box"]))
        is_checked = states.get(b"checked", states.get(b"default", b"0")) not in (b"0", b"false")
        text = "☒" if is_checked else "☐"
    else:
        chosen, choices = _CHOSEN.search(match["list"]), _CHOICES.findall(match["list"])
        number = int(chosen[1]) if chosen else 0
        text = plain(choices[number]) if number < len(choices) else ""
    return b"<%s:t>%s</%s:t>" % (match[1], escaped(text), match[1]) + match[0]


def _symbol(match: re.Match[bytes]) -> bytes:
    entry = attributes(match[2])
    with suppress(ValueError, OverflowError):
        text = in_unicode(chr(int(entry.get("char", ""), 16)), entry.get("font", ""))
        return b"<%s:t>%s</%s:t>" % (match[1], escaped(text), match[1])
    return match[0]


def _ruby(match: re.Match[bytes]) -> bytes:
    """The base words as text of the run, and the reading aside."""
    base = _RUBY_BASE.search(match[0])
    words = texts(base[0]) if base else ""
    reading = texts(_RUBY_BASE.sub(b"", match[0]))
    text = escaped(reading_mark(words, reading))
    return b"<%s:t>%s</%s:t>" % (match[1], text, match[1])


def _comments(part: bytes) -> Iterator[tuple[str, str]]:
    """The comments' identifiers and texts."""
    for _, tag, content in _COMMENT.findall(part):
        entry = attributes(tag)
        paragraphs = map(texts, re.split(rb"</\w+:p>", content))
        yield entry.get("id", ""), comment_text(entry.get("author", ""), " ".join(paragraphs))


def _comment(match: re.Match[bytes], comments: Mapping[str, str]) -> bytes:
    text = comments.get(attributes(match[2]).get("id", ""), "")
    return b"<%s:t>%s</%s:t>" % (match[1], escaped(comment_mark(text)), match[1])


def _chunk(match: re.Match[bytes], targets: Mapping[str, str]) -> bytes:
    relation = attributes(match[2]).get("id", "")
    name = targets.get(relation, relation)
    paragraph = b"<%s:p><%s:r><%s:t>%s</%s:t></%s:r></%s:p>"
    w = match[1]
    return paragraph % (w, w, w, escaped(CHUNK + name), w, w, w)
