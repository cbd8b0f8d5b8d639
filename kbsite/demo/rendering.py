"""Blocks -> the bytes of a file. The same blocks give the same bytes on any day."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape

from ingestion.domain import Block, BlockKind

WRITTEN = datetime(2025, 1, 15, tzinfo=UTC)
AUTHOR = "Steelyard's authors"


def markdown(title: str, blocks: Sequence[Block]) -> bytes:
    """A Markdown file that states its title in front matter."""
    # JSON's strings are YAML's too: a title may hold a colon.
    parts = [f"---\ntitle: {json.dumps(title)}\nauthor: {AUTHOR}\ndate: {WRITTEN.date()}\n---"]
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            parts.append("#" * block.level + f" {block.text}")
        elif block.kind is BlockKind.LIST_ITEM:
            parts.append(f"- {block.text}")
        elif block.kind is BlockKind.CODE:
            parts.append(f"```\n{block.text}\n```")
        elif block.kind is BlockKind.TABLE:
            head, *rows = (f"| {' | '.join(row)} |" for row in block.rows)
            parts.append("\n".join((head, "|" + " --- |" * len(block.rows[0]), *rows)))
        else:
            parts.append(block.text)
    return ("\n\n".join(parts) + "\n").encode()


def html(title: str, blocks: Sequence[Block]) -> bytes:
    """A web page with its content in <main>."""
    body = "\n".join(_html_element(block) for block in blocks)
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f'<title>{escape(title)}</title>\n<meta name="author" content="{escape(AUTHOR)}"></head>\n'
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    ).encode()


def _html_element(block: Block) -> str:
    text = escape(block.text, quote=False)
    if block.kind is BlockKind.HEADING:
        return f"<h{block.level}>{text}</h{block.level}>"
    if block.kind is BlockKind.LIST_ITEM:
        return f"<ul><li>{text}</li></ul>"
    if block.kind is BlockKind.CODE:
        return f"<pre><code>{text}</code></pre>"
    if block.kind is BlockKind.TABLE:
        cells = [[escape(cell, quote=False) for cell in row] for row in block.rows]
        head = "".join(f"<th>{cell}</th>" for cell in cells[0])
        rows = "".join(
            "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells[1:]
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<p>{text}</p>"


def docx(title: str, blocks: Sequence[Block]) -> bytes:
    """A Word document."""
    from docx import Document

    document = Document()
    properties = document.core_properties
    properties.title, properties.author, properties.language = title, AUTHOR, "en"
    properties.created = properties.modified = WRITTEN.replace(tzinfo=None)
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            document.add_heading(block.text, level=block.level)
        elif block.kind is BlockKind.LIST_ITEM:
            document.add_paragraph(block.text, style="List Bullet")
        elif block.kind is BlockKind.TABLE:
            table = document.add_table(rows=0, cols=len(block.rows[0]))
            for row in block.rows:
                for cell, text in zip(table.add_row().cells, row, strict=True):
                    cell.text = text
        else:
            document.add_paragraph(block.text)
    written = io.BytesIO()
    document.save(written)
    return _dated(written)


def _dated(archive: io.BytesIO) -> bytes:
    """The ZIP archive with one date on every member, where the writer puts the time of day."""
    out = io.BytesIO()
    with zipfile.ZipFile(archive) as given, zipfile.ZipFile(out, "w") as dated:
        for member in given.infolist():
            entry = zipfile.ZipInfo(member.filename, WRITTEN.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            dated.writestr(entry, given.read(member))
    return out.getvalue()


def pdf(title: str, blocks: Sequence[Block]) -> bytes:
    """A PDF, a new page for each heading of level 1. An empty title states none."""
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Flowable, PageBreak, Paragraph, Preformatted, SimpleDocTemplate

    styles = getSampleStyleSheet()
    story: list[Flowable] = []
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            if story and block.level == 1:
                story.append(PageBreak())
            story.append(Paragraph(escape(block.text), styles[f"Heading{block.level}"]))
        elif block.kind is BlockKind.CODE:
            story.append(Preformatted(block.text, styles["Code"]))
        elif block.kind is BlockKind.LIST_ITEM:
            story.append(Paragraph(escape(block.text), styles["BodyText"], bulletText="\u2022"))
        else:
            story.append(Paragraph(escape(block.text), styles["BodyText"]))
    out = io.BytesIO()
    template = SimpleDocTemplate(out, title=title, author=AUTHOR, invariant=True)
    template.build(story)
    return out.getvalue()


RENDERERS: Mapping[str, Callable[[str, Sequence[Block]], bytes]] = {
    ".md": markdown,
    ".html": html,
    ".docx": docx,
    ".pdf": pdf,
}
