"""The packages of office files: what workbooks and slide decks share."""

from __future__ import annotations

from .builders import make_zip

DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OOXML = "application/vnd.openxmlformats-officedocument"
_ODF_SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{path}:1.0"'
    for name, path in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"),
        ("presentation", "presentation"), ("meta", "meta"), ("svg", "svg-compatible"),
    )
)  # fmt: skip


def package(main: str, main_type: str, title: str) -> dict[str, str | bytes]:
    """The members that every file of Office Open XML has."""
    return {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/{main}" ContentType="{main_type}"/></Types>',
        "_rels/.rels": relations(relation(1, "officeDocument", main)),
        "docProps/core.xml": '<cp:coreProperties xmlns:cp="'
        f'{_PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title><dc:creator>Ada Weigher</dc:creator></cp:coreProperties>",
    }


def relations(each: str) -> str:
    """A member that lists relations, given one after the other."""
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{each}</Relationships>'


def relation(number: int, kind: str, target: str) -> str:
    """One relation of a package's member to another."""
    return f'<Relationship Id="rId{number}" Type="{RELATIONS}/{kind}" Target="{target}"/>'


def odf(kind: str, body: str) -> bytes:
    """An OpenDocument file of a kind, such as "spreadsheet"."""
    content = (
        f'<office:document-content {_ODF_SPACES} office:version="1.2"><office:body>'
        f"<office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    meta = (
        f'<office:document-meta {_ODF_SPACES} xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<office:meta><dc:title>Beam sizes</dc:title></office:meta></office:document-meta>"
    )
    media_type = f"application/vnd.oasis.opendocument.{kind}"
    return make_zip({"mimetype": media_type, "content.xml": content, "meta.xml": meta})
