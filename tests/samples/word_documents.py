"""DOCX of given XML, for what python-docx does not write."""

from __future__ import annotations

from collections.abc import Mapping

from .builders import make_zip

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SPACES = f'xmlns:w="{_W}" xmlns:m="{_OFFICE}/math" xmlns:r="{_OFFICE}/relationships"'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str) -> str:
    return f"<w:p>{''.join(one if one.startswith('<') else run(one) for one in runs)}</w:p>"


def make_word(body: str, parts: Mapping[str, str | bytes] | None = None) -> bytes:
    """A DOCX with this body. `parts` are by name; each is related as "r-" and its name.

    The body of a header, of a footer or of comments is wrapped in its element.
    """
    parts = parts or {}
    relations = "".join(
        f'<Relationship Id="r-{name}" Type="{_OFFICE}/relationships/x" Target="{name}"/>'
        for name in parts
    )
    wrapped = {f"word/{name}": _wrapped(name, part) for name, part in parts.items()}
    return make_zip(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
            '<Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-'
            'officedocument.wordprocessingml.document.main+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship '
            f'Id="r" Type="{_OFFICE}/relationships/officeDocument" Target="word/document.xml"/>'
            "</Relationships>",
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
            f"{relations}</Relationships>",
            "word/document.xml": f"<w:document {_SPACES}><w:body>{body}</w:body></w:document>",
            **wrapped,
        }
    )


def _wrapped(name: str, part: str | bytes) -> str | bytes:
    kinds = {"header": "hdr", "footer": "ftr", "comments": "comments", "settings": "settings"}
    kind = next((element for start, element in kinds.items() if name.startswith(start)), "")
    return f"<w:{kind} {_SPACES}>{part!s}</w:{kind}>" if kind else part


def section(*margins: str, first: bool = False) -> str:
    """The properties of a section: "default header1.xml" and so on are its headers and footers."""
    references = ""
    for margin in margins:
        kind, name = margin.split()
        references += f'<w:{name[:6]}Reference w:type="{kind}" r:id="r-{name}"/>'
    return f"<w:sectPr>{references}{'<w:titlePg/>' * first}<w:pgSz/></w:sectPr>"


def make_writer(body: str, margins: str = "") -> bytes:
    """An ODT with this body, styles of text "Up" and "Down", and one page style with `margins`."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "style")
    )
    spaces += ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
    styles = "".join(
        f'<style:style style:name="{name}" style:family="text">'
        f'<style:text-properties style:text-position="{position} 58%"/></style:style>'
        for name, position in (("Up", "super"), ("Down", "-33%"))
    )
    return make_zip(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document-content {spaces}><office:automatic-styles>{styles}"
            f"</office:automatic-styles><office:body><office:text>{body}</office:text>"
            "</office:body></office:document-content>",
            "styles.xml": f"<office:document-styles {spaces}><office:master-styles>"
            f'<style:master-page style:name="Standard">{margins}</style:master-page>'
            "</office:master-styles></office:document-styles>",
        }
    )
