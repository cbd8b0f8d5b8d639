"""The generated files: each letter in each format, then a file for each kind of fault."""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from email.message import EmailMessage
from email.policy import SMTP
from html import escape
from pathlib import Path

from benchmarks.reading.letters import LETTERS, Letter, Table
from tests.samples.slides import make_pptx
from tests.samples.spreadsheets import make_xlsx

SOFFICE, CHROMIUM = "soffice", "chromium-headless-shell"
# Formats that LibreOffice writes, each from one of ours.
CONVERSIONS = {
    "docx": ("odt", "rtf", "doc", "pdf"),
    "xlsx": ("ods", "xls"),
    "pptx": ("odp", "ppt"),
}
# Only these letters in formats that say the same as another one.
FEW = ("en", "de", "ar", "ja", "ru")
_SECONDS = 180


@dataclass(frozen=True)
class KnownFile:
    """A file and all that it says; `unprinted` is the part of its text that is not on paper,
    `optional` what a reader may add: numbers of a list, readings of Japanese words.

    A table without a header begins with an empty row.
    """

    name: str
    content: bytes
    text: str
    values: Sequence[str] = ()
    tables: Sequence[Table] = ()
    unprinted: str = ""
    optional: str = ""

    @property
    def format(self) -> str:
        return self.name.rpartition(".")[2]


def known_files(folder: Path) -> Iterator[KnownFile]:
    """All generated files; those that LibreOffice or Chromium writes, only where installed."""
    from benchmarks.reading.faults import FAULTS

    ours = [make(letter) for letter in LETTERS for make in FORMATS]
    ours += [make() for make in FAULTS]
    yield from ours
    yield from conversions([each for each in ours if each.format in CONVERSIONS], folder)
    yield from prints(folder)


def _text(letter: Letter, *more: str) -> str:
    cells = (" | ".join(row) for row in letter.table)
    lines = (letter.heading, *letter.paragraphs, *letter.items, *cells)
    return "\n\n".join((*lines, *more))


def _known(letter: Letter, extension: str, content: bytes, *more: str) -> KnownFile:
    name = f"{letter.language}.{extension}"
    return KnownFile(name, content, _text(letter, *more), letter.values, [letter.table])


def docx(letter: Letter) -> KnownFile:
    """With header, footer and the note as a comment."""
    import docx as library

    document = library.Document()
    section = document.sections[0]
    section.header.paragraphs[0].text = letter.header
    section.footer.paragraphs[0].text = letter.footer
    document.add_heading(letter.heading, 1)
    paragraphs = [document.add_paragraph(text) for text in letter.paragraphs]
    document.add_comment(paragraphs[0].runs, letter.note, author="")
    for text in letter.items:
        document.add_paragraph(text, style="List Bullet")
    table = document.add_table(0, len(letter.table[0]), style="Table Grid")
    for row in letter.table:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    out = io.BytesIO()
    document.save(out)
    more = (letter.header, letter.footer, letter.note)
    return replace(_known(letter, "docx", out.getvalue(), *more), unprinted=letter.note)


def xlsx(letter: Letter) -> KnownFile:
    """A sheet of lines of `key; value` above the table, and one of prose."""
    name, other = letter.heading[:28], "2"
    rows = [[letter.header], [letter.note, letter.footer], [], *letter.table]
    lines = [[each] for each in (letter.heading, *letter.paragraphs, *letter.items)]
    content = make_xlsx({name: cells(rows), other: cells(lines)}, title="")
    more = (letter.header, letter.footer, letter.note, name, other)
    return _known(letter, "xlsx", content, *more)


def cells(rows: Sequence[Sequence[str]]) -> dict[str, str]:
    """{"A1": text}, as `make_xlsx` wants them."""
    return {
        f"{'ABCDEFGHIJ'[column]}{number}": escape(text)
        for number, row in enumerate(rows, 1)
        for column, text in enumerate(row)
        if text
    }


def pptx(letter: Letter) -> KnownFile:
    """A slide a paragraph, the note among its notes, the table on the last slide."""
    titles = (letter.heading, letter.header, letter.footer)
    slides = [
        (title, escape(text), letter.note if not at else "")
        for at, (title, text) in enumerate(zip(titles, letter.paragraphs, strict=False))
    ]
    slides.append((letter.items[0], escape(letter.items[1]), ""))
    content = make_pptx(slides, title="", table=[[*map(escape, row)] for row in letter.table])
    return _known(letter, "pptx", content, letter.note, *titles[1 : len(letter.paragraphs)])


def html(letter: Letter) -> KnownFile:
    """A page with permalinks, powers in <sup>, and the note as a footnote."""
    return _known(letter, "html", _page(letter).encode(), letter.note)


def _page(letter: Letter, more: str = "") -> str:
    def line(tag: str, text: str) -> str:
        return f"<{tag}>{_raised(text)}</{tag}>"

    head, *rows = letter.table
    table = "".join(line("th", cell) for cell in head) + "".join(
        f"</tr><tr>{''.join(line('td', cell) for cell in row)}" for row in rows
    )
    direction = "rtl" if letter.language in ("ar", "he") else "ltr"
    return (
        f'<!doctype html><html lang="{letter.language}" dir="{direction}"><head>'
        '<meta charset="utf-8"><style>th, td { border: 1px solid }</style>'
        f"<title>{letter.heading}</title></head><body><main>{more}"
        f'<h1 id="a">{letter.heading}<a class="headerlink" href="#a">¶</a></h1>'
        + "".join(line("p", text) for text in letter.paragraphs)
        + f"<ul>{''.join(line('li', text) for text in letter.items)}</ul>"
        f"<table><tr>{table}</tr></table><p>{letter.note}</p></main></body></html>"
    )


def _raised(text: str) -> str:
    text = escape(text, quote=False)
    return text.replace("²", "<sup>2</sup>").replace("₂", "<sub>2</sub>")


def md(letter: Letter) -> KnownFile:
    head, *rows = letter.table
    table = [head, ["---"] * len(head), *rows]
    content = (
        f"# {letter.heading} {{#a}}\n\n"
        + "\n\n".join(letter.paragraphs)
        + "[^1]\n\n"
        + "".join(f"- {text}\n" for text in letter.items)
        + "\n"
        + "".join(f"| {' | '.join(row)} |\n" for row in table)
        + f"\n[^1]: {letter.note}\n"
    )
    return _known(letter, "md", content.encode(), letter.note)


def eml(letter: Letter) -> KnownFile:
    """A message with the page, or for every other letter with plain text without the table."""
    message = EmailMessage(SMTP)
    message["Subject"], message["From"] = letter.heading, f"{letter.header} <a@example.org>"
    message["To"], message["Date"] = "b@example.com", "Wed, 01 May 2024 10:00:00 +0200"
    is_page = LETTERS.index(letter) % 2
    if is_page:
        message.set_content(_page(letter), subtype="html")
    else:
        message.set_content(_text(letter, letter.note))
    heads = "From: To: Date: Wed, 01 May 2024 10:00:00 +0200 a@example.org b@example.com"
    known = _known(letter, "eml", message.as_bytes(), letter.header, letter.note, heads)
    return known if is_page else replace(known, tables=())


def csv(letter: Letter) -> KnownFile:
    lines = [";".join(row) for row in letter.table]
    text = " | ".join(cell for row in letter.table for cell in row)
    values = [each for each in letter.values if each in text]
    content = "\r\n".join(lines).encode("utf-8-sig")
    return KnownFile(f"{letter.language}.csv", content, text, values, [letter.table])


FORMATS: Sequence[Callable[[Letter], KnownFile]] = (docx, xlsx, pptx, html, md, eml, csv)


def conversions(files: Sequence[KnownFile], folder: Path) -> Iterator[KnownFile]:
    """The same files in the other formats of LibreOffice."""
    if not shutil.which(SOFFICE):
        return
    for source, targets in CONVERSIONS.items():
        some = [file for file in files if file.format == source]
        for number, target in enumerate(targets):
            few = [each for each in some if not number or each.name.partition(".")[0] in FEW]
            for file, content in zip(few, converted(few, target, folder), strict=True):
                if content:
                    name = f"{file.name.rpartition('.')[0]}.{target}"
                    text = file.text.replace(file.unprinted if target == "pdf" else "", "")
                    yield replace(file, name=name, content=content, text=text)


def converted(files: Sequence[KnownFile], target: str, folder: Path) -> Iterator[bytes]:
    """Each file as LibreOffice writes it in another format; empty where it does not."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        scratch = Path(name)
        for file in files:
            (scratch / file.name).write_bytes(file.content)
        office = [SOFFICE, "--headless", f"-env:UserInstallation=file://{scratch}/profile"]
        out = ["--convert-to", target, "--outdir", str(scratch / "out")]
        sources = [str(scratch / file.name) for file in files]
        # Of those that it cannot read it writes none.
        subprocess.run([*office, *out, *sources], capture_output=True, timeout=_SECONDS)
        for file in files:
            path = (scratch / "out" / file.name).with_suffix(f".{target}")
            yield path.read_bytes() if path.exists() else b""


def prints(folder: Path) -> Iterator[KnownFile]:
    """Each letter as Chromium prints its page, between header and footer."""
    for letter in LETTERS if shutil.which(CHROMIUM) else ():
        more = f"<p>{letter.header}</p><p>{letter.footer}</p>"
        page = folder / f"{letter.language}.html"
        page.write_text(_page(letter, more), encoding="utf-8")
        target = page.with_suffix(".pdf")
        options = ["--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
        command = [CHROMIUM, *options, f"--print-to-pdf={target}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)
        content = target.read_bytes()
        known = _known(letter, "pdf", content, letter.header, letter.footer, letter.note)
        yield replace(known, name=f"printed-{known.name}")
