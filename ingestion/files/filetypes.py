"""File types, detected by content; the name only distinguishes text formats."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType

from ingestion.errors import EmptyFile, TypeMismatch, UnsupportedType

HEAD_BYTES = 65_536
"""The number of leading bytes that `sniff` needs."""


@dataclass(frozen=True, slots=True)
class FileType:
    """A supported format. `extension` is the usual one, with its dot."""

    media_type: str
    extension: str
    label: str


# Media type, label, syntax of the declarations at which files are split, extensions.
_LANGUAGES = (
    ("text/x-python", "Python source", "python", ".py .pyi"),
    ("text/javascript", "JavaScript source", "script", ".js .jsx .mjs .cjs"),
    ("text/x-typescript", "TypeScript source", "script", ".ts .tsx .mts .cts"),
    ("text/x-java", "Java source", "java", ".java"),
    ("text/x-c", "C source", "c", ".c .h"),
    ("text/x-cpp", "C++ source", "c", ".cpp .cc .cxx .hpp .hh .hxx .ino"),
    ("text/x-csharp", "C# source", "java", ".cs"),
    ("text/x-go", "Go source", "go", ".go"),
    ("text/x-rust", "Rust source", "rust", ".rs"),
    ("text/x-ruby", "Ruby source", "ruby", ".rb"),
    ("text/x-php", "PHP source", "php", ".php"),
    ("text/x-shellscript", "Shell script", "shell", ".sh .bash"),
    ("text/x-sql", "SQL script", "sql", ".sql"),
    ("text/x-kotlin", "Kotlin source", "modern", ".kt .kts"),
    ("text/x-swift", "Swift source", "modern", ".swift"),
    ("text/x-scala", "Scala source", "modern", ".scala"),
    ("text/x-lua", "Lua source", "lua", ".lua"),
    ("text/x-perl", "Perl source", "perl", ".pl .pm"),
    ("text/x-r", "R source", "r", ".r"),
    ("text/x-haskell", "Haskell source", "haskell", ".hs .lhs .hsc"),
    ("text/x-elm", "Elm source", "haskell", ".elm"),
    ("text/x-purescript", "PureScript source", "haskell", ".purs"),
    ("text/x-ocaml", "OCaml source", "ml", ".ml .mli"),
    ("text/x-fsharp", "F# source", "ml", ".fs .fsi .fsx"),
    ("text/x-erlang", "Erlang source", "erlang", ".erl .hrl"),
    ("text/x-elixir", "Elixir source", "elixir", ".ex .exs"),
    ("text/x-lisp", "Lisp source", "lisp", ".clj .cljs .cljc .edn .lisp .lsp .el .scm .rkt"),
    ("text/x-dart", "Dart source", "java", ".dart"),
    ("text/x-groovy", "Groovy source", "modern", ".groovy .gradle"),
    ("text/x-julia", "Julia source", "julia", ".jl"),
    ("text/x-nim", "Nim source", "nim", ".nim"),
    ("text/x-zig", "Zig source", "modern", ".zig"),
    ("text/x-objective-c", "Objective-C source", "c", ".m .mm"),
    ("text/x-cuda", "CUDA source", "c", ".cu .cuh"),
    ("text/x-fortran", "Fortran source", "fortran", ".f .f77 .f90 .f95"),
    ("text/x-pascal", "Pascal source", "pascal", ".pas .pp .dpr"),
    ("text/x-vb", "Visual Basic source", "basic", ".vb .vbs .bas"),
    ("text/x-powershell", "PowerShell script", "shell", ".ps1 .psm1 .psd1"),
    ("text/x-zsh", "Shell script", "shell", ".zsh .fish .ksh"),
    ("text/x-bat", "Batch file", "none", ".bat .cmd"),
    ("text/x-asm", "Assembly source", "none", ".asm .s"),
    ("text/x-vue", "Vue component", "script", ".vue .svelte"),
    ("text/css", "Style sheet", "none", ".css .scss .sass .less"),
    ("text/x-protobuf", "Protocol Buffers file", "proto", ".proto"),
    ("application/graphql", "GraphQL file", "proto", ".graphql .gql"),
    ("text/x-terraform", "Terraform file", "terraform", ".tf .hcl"),
    ("text/x-cmake", "CMake file", "none", ".cmake"),
    ("text/x-makefile", "Makefile", "none", ".mk"),
    ("text/x-tcl", "Tcl script", "shell", ".tcl"),
    ("text/x-bibtex", "BibTeX file", "none", ".bib"),
    ("text/x-diff", "Patch", "none", ".diff .patch"),
    ("application/yaml", "YAML file", "yaml", ".yaml .yml"),
    ("application/toml", "TOML file", "sections", ".toml"),
    ("text/x-ini", "INI file", "sections", ".ini .cfg .conf .properties .editorconfig"),
)
FAMILIES = {media_type: family for media_type, _, family, _ in _LANGUAGES}


PDF = FileType("application/pdf", ".pdf", "PDF")
DOCX = FileType(
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".docx",
    "Word document",
)
DOC = FileType("application/msword", ".doc", "Word 97-2003 document")
ODT = FileType("application/vnd.oasis.opendocument.text", ".odt", "OpenDocument text")
RTF = FileType("application/rtf", ".rtf", "Rich Text Format")
EPUB = FileType("application/epub+zip", ".epub", "EPUB book")
HTML = FileType("text/html", ".html", "HTML page")
MARKDOWN = FileType("text/markdown", ".md", "Markdown")
RST = FileType("text/x-rst", ".rst", "reStructuredText")
ASCIIDOC = FileType("text/asciidoc", ".adoc", "AsciiDoc")
ORG = FileType("text/org", ".org", "Org document")
LATEX = FileType("text/x-tex", ".tex", "LaTeX document")
MAN = FileType("text/troff", ".man", "manual page")
XLSX = FileType(
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx", "Excel workbook"
)
XLS = FileType("application/vnd.ms-excel", ".xls", "Excel 97-2003 workbook")
ODS = FileType("application/vnd.oasis.opendocument.spreadsheet", ".ods", "OpenDocument spreadsheet")
PPTX = FileType(
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".pptx",
    "PowerPoint presentation",
)
PPT = FileType("application/vnd.ms-powerpoint", ".ppt", "PowerPoint 97-2003 presentation")
ODP = FileType(
    "application/vnd.oasis.opendocument.presentation", ".odp", "OpenDocument presentation"
)
IPYNB = FileType("application/x-ipynb+json", ".ipynb", "Jupyter notebook")
EML = FileType("message/rfc822", ".eml", "E-mail message")
MSG = FileType("application/vnd.ms-outlook", ".msg", "Outlook message")
ZIP = FileType("application/zip", ".zip", "ZIP archive")
JSON = FileType("application/json", ".json", "JSON file")
JSON_LINES = FileType("application/x-ndjson", ".jsonl", "JSON Lines file")
XML = FileType("application/xml", ".xml", "XML file")
PNG = FileType("image/png", ".png", "PNG image")
JPEG = FileType("image/jpeg", ".jpg", "JPEG image")
TIFF = FileType("image/tiff", ".tiff", "TIFF image")
WEBP = FileType("image/webp", ".webp", "WebP image")
TEXT = FileType("text/plain", ".txt", "plain text")
CSV = FileType("text/csv", ".csv", "CSV table")
TSV = FileType("text/tab-separated-values", ".tsv", "TSV table")
_SOURCE_CODE = {
    extension: FileType(media_type, extensions.split()[0], label)
    for media_type, label, _, extensions in _LANGUAGES
    for extension in extensions.split()
}
SOURCE_TYPES = frozenset(_SOURCE_CODE.values())

_EXTENSIONS = {
    PDF: ".pdf", DOCX: ".docx .docm .dotx .dotm", DOC: ".doc .dot", ODT: ".odt", RTF: ".rtf",
    XLSX: ".xlsx .xlsm .xltx .xltm", XLS: ".xls .xlt", ODS: ".ods",
    PPTX: ".pptx .pptm .ppsx .ppsm .potx .potm", PPT: ".ppt .pps .pot", ODP: ".odp",
    IPYNB: ".ipynb", EPUB: ".epub", HTML: ".html .htm .xhtml .xht",
    MARKDOWN: ".md .markdown .mdown .mkd .mdx .rmd .qmd", RST: ".rst .rest",
    ASCIIDOC: ".adoc .asciidoc", ORG: ".org", LATEX: ".tex .ltx .latex .sty .cls", MAN: ".man",
    TEXT: ".txt .text .log .me .1st .nfo .srt .vtt .ics .vcf .po .wiki .textile", CSV: ".csv",
    TSV: ".tsv .tab", EML: ".eml .mht .mhtml", MSG: ".msg .oft", ZIP: ".zip",
    JSON: ".json .geojson .jsonld .har .webmanifest", JSON_LINES: ".jsonl .ndjson", PNG: ".png",
    JPEG: ".jpg .jpeg .jpe .jfif", TIFF: ".tiff .tif", WEBP: ".webp",
    XML: ".xml .rss .atom .rdf .xsd .xsl .xslt .wsdl .opml .gpx .kml .nxml .jats .dita .plist",
}  # fmt: skip
SUPPORTED: Mapping[str, FileType] = MappingProxyType(
    {extension: kind for kind, names in _EXTENSIONS.items() for extension in names.split()}
    | _SOURCE_CODE
)
"""File name extension (lower case, with its dot) -> type."""
TYPE_LABELS = {kind.media_type: kind.label for kind in SUPPORTED.values()}

_TEXT_TYPES = SOURCE_TYPES | {
    *(HTML, MARKDOWN, RST, ASCIIDOC, ORG, LATEX, MAN, TEXT, CSV, TSV, EML, JSON, JSON_LINES, XML)
}
# Office itself saves newer content under the old extension and opens both alike.
_ALIKE: Mapping[FileType, frozenset[FileType]] = {
    DOC: frozenset({DOCX, RTF}),
    XLS: frozenset({XLSX}),
    PPT: frozenset({PPTX}),
}
_ZIP_TYPES = frozenset({DOCX, XLSX, PPTX, ODT, ODS, ODP, EPUB})
_MIMETYPES = {item.media_type.encode(): item for item in (ODT, ODS, ODP, EPUB)}
_FOLDERS = {b"word/": DOCX, b"xl/": XLSX, b"ppt/": PPTX}
_OFFICE_FIRST = (b"[Content_Types].xml", b"_rels/", b"docProps/", *_FOLDERS)
_LOCAL_HEADER = re.compile(rb"PK\x03\x04.{26}([\w\[\]/.-]{1,200})", re.DOTALL)
# Stream names in an OLE container; an encrypted one gets its type from the file name.
_STREAMS = {
    "WordDocument".encode("utf-16-le"): DOC,
    "PowerPoint Document".encode("utf-16-le"): PPT,
    "Workbook".encode("utf-16-le"): XLS,
    "Book\x00".encode("utf-16-le"): XLS,
    "__substg1.0_".encode("utf-16-le"): MSG,
}
_ENCRYPTED_IN_OLE = frozenset({DOCX, XLSX, PPTX})

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""The first bytes of a ZIP container, and of an empty one."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_IMAGES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), PNG),
    (re.compile(rb"\xff\xd8\xff"), JPEG),
    (re.compile(rb"II\*\0|MM\0\*|II\+\0\x08\0|MM\0\+\0\x08"), TIFF),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), WEBP),
)
_FOREIGN_SIGNATURES = (
    (b"GIF8", "a GIF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a Windows program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"%!PS", "a PostScript file"),
)


_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_CONTROL_BYTES = bytes(set(range(0x20)) - set(b"\t\n\r\x0c\x1b")) + b"\x7f"

# Fewer characters are no evidence: any few bytes are letters of some script. A guess.
_FEWEST_LEGIBLE = 4
_ASCII = re.compile(r"[\t\n\r -~]")

_HTML_START = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_MAN_HEADER = re.compile(r'(?m)(?=[.\x27])(?s:.*?)^\.TH[ \t]+(?:"[^"\n]+"|\S+)[ \t]+"?\d')
_RST_TITLE = re.compile(r"^(?=\S)[^\n]+\n([=\-~^\"'#*+`])\1{3,}[ \t]*$", re.MULTILINE)
_RST_TOP_TITLE = re.compile(r"\s*([=#*~^\"-])\1{3,}[ \t]*\n[^\n]*\S[^\n]*\n\1{4,}[ \t]*\n")
_RST_MARKUP = re.compile(
    r"^[ \t]*\.\. (?:[\w:-]+::|_[^\n]+:)|(?<![\w`]):[a-z][\w:-]{0,80}:`[^`\n]", re.MULTILINE
)


def sniff(head: bytes, file_name: str) -> FileType:
    """The file's type, from its first HEAD_BYTES bytes and its name.

    Raises EmptyFile, UnsupportedType (no parser for it) or TypeMismatch (name and content
    disagree).
    """
    if not head:
        raise EmptyFile(f"“{file_name}” is empty (0 bytes). Check the original and upload again.")
    extension = PurePosixPath(file_name).suffix.lower()
    by_name = SUPPORTED.get(extension)
    if foreign := _foreign_content(head):
        raise _refusal(file_name, by_name, foreign)
    if head.startswith(_ZIP):
        return _settle(file_name, by_name, _zip_type(head, file_name, by_name))
    if head.startswith(_OLE):
        return _settle(file_name, by_name, _ole_type(head, file_name, by_name))
    for signature, image in _IMAGES:
        if signature.match(head):
            return _settle(file_name, by_name, image)
    # PDF readers skip garbage before the signature; a text may mention it.
    begins = head.lstrip().startswith(b"%PDF-")
    if begins or (b"%PDF-" in head[:1024] and by_name not in _TEXT_TYPES):
        return _settle(file_name, by_name, PDF)
    if head.lstrip()[:5] == b"{\\rtf":
        return _settle(file_name, by_name, RTF)
    if not _looks_like_text(head):
        raise _refusal(file_name, by_name, "binary data of an unknown type")
    return _text_type(head, file_name, by_name)


def _foreign_content(head: bytes) -> str:
    """A description of known unsupported content, for people; empty for anything else."""
    for signature, description in _FOREIGN_SIGNATURES:
        if head.startswith(signature):
            return description
    return "an MPEG video stream" if _is_mpeg_stream(head) else ""


def _is_mpeg_stream(head: bytes) -> bool:
    """True if every 188-byte packet, however padded, begins with "G"; TypeScript shares .ts."""
    return len(head) >= 564 and set(head[: 188 * 20 : 188]) == {0x47} and not head.isascii()


def _zip_type(head: bytes, file_name: str, by_name: FileType | None) -> FileType:
    # The first name in the archive itself, not in an archive packed inside it.
    first = head[30 : 30 + int.from_bytes(head[26:28], "little")]
    for media_type, content in _MIMETYPES.items():
        if first == b"mimetype" and media_type in head[:200]:
            return content
    # Only names in local headers: compressed bytes can contain any text.
    names = _LOCAL_HEADER.findall(head)
    candidates = [kind for path, kind in _FOLDERS.items() if any(n.startswith(path) for n in names)]
    if by_name is ZIP and not (first.startswith(_OFFICE_FIRST) and b"[Content_Types].xml" in names):
        # A user's own folder may be named "word", or contain a document.
        return ZIP
    if by_name in candidates or (not candidates and by_name in _ZIP_TYPES):
        return by_name
    if candidates:
        return candidates[0]
    if by_name is None and not PurePosixPath(file_name).suffix:
        return ZIP
    raise _refusal(file_name, by_name, "a ZIP archive")


def _ole_type(head: bytes, file_name: str, by_name: FileType | None) -> FileType:
    """The type according to its stream names; the file name decides between embedded documents.

    Stream names are often at the end of the file, beyond the head: then its parser decides.
    """
    candidates = [content for stream, content in _STREAMS.items() if stream in head]
    if by_name is None and PurePosixPath(file_name).suffix:
        # A message or a drawing, which may contain a document.
        raise _refusal(file_name, None, "an old Microsoft Office file")
    if by_name in candidates:
        return by_name
    if candidates:
        return candidates[0]
    if by_name is MSG:
        return by_name
    # A .docx in an OLE container is encrypted: its parser reports that.
    if by_name is not None and (by_name in _ALIKE or by_name in _ENCRYPTED_IN_OLE):
        return by_name
    raise _refusal(file_name, by_name, "an old Microsoft Office file")


def _settle(file_name: str, by_name: FileType | None, content: FileType) -> FileType:
    """The content's type. Raises TypeMismatch if the name indicates another."""
    if by_name is None or by_name is content or content in _ALIKE.get(by_name, frozenset()):
        return content
    raise TypeMismatch(
        f"“{file_name}” is named like {_a(by_name.label)} but contains {_a(content.label)}. "
        f"Rename it to end in {content.extension} and upload it again."
    )


def _text_type(head: bytes, file_name: str, by_name: FileType | None) -> FileType:
    text = head.decode("utf-8", "replace")
    start = text.lstrip("\ufeff \t\r\n")
    content = HTML if _HTML_START.match(start) else XML if start.startswith("<?xml ") else TEXT
    if by_name is IPYNB and start.startswith("{"):
        return IPYNB
    if by_name is None:
        # Its extension is its chapter, such as .1 or .3pm. It begins with a request or a comment.
        if _MAN_HEADER.match(start):
            return MAN
        if PurePosixPath(file_name).suffix:
            raise _refusal(file_name, None, "text of an unknown type")
        return content
    if by_name not in _TEXT_TYPES:
        raise TypeMismatch(
            f"“{file_name}” is named like {_a(by_name.label)} but contains {_a(content.label)}. "
            f"Rename it to end in {content.extension}, or export it again as {by_name.label}."
        )
    # Some Sphinx projects, such as Django's documentation, keep reStructuredText in .txt files.
    return RST if by_name is TEXT and _looks_like_rst(text) else by_name


def _looks_like_rst(text: str) -> bool:
    """True if the content of a plain text file is reStructuredText."""
    text = text.replace("\r\n", "\n")
    # Only reStructuredText has titles with a line above as well.
    return bool(
        _RST_TOP_TITLE.match(text) or (_RST_TITLE.search(text) and _RST_MARKUP.search(text))
    )


def _looks_like_text(head: bytes) -> bool:
    """True if the bytes are text in some encoding, with or without a byte order mark."""
    if head.startswith(_BOMS):
        return True
    controls = len(head) - len(head.translate(None, _CONTROL_BYTES))
    if controls == 0 or unmarked_codec(head):
        return True
    try:
        # Up to three bytes of the last character may be cut off.
        head[: max(len(head) - 3, 1)].decode("utf-8")
    except UnicodeDecodeError:
        # Random data has 11% control bytes, text in a legacy encoding none: 2% is a guess.
        return controls < 0.02 * len(head)
    return controls < 0.3 * len(head)


def unmarked_codec(head: bytes) -> str:
    """The codec of UTF-16 or UTF-32 without a byte order mark; empty for any other bytes."""
    if b"\x00" not in head:
        return ""
    for codec in ("utf-32-le", "utf-32-be"):
        if _legible(head, codec) is not None:
            return codec
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if half >= 4 and even >= 0.6 * half and odd <= 0.05 * half:
        return "utf-16-be"
    if half >= 4 and odd >= 0.6 * half and even <= 0.05 * half:
        return "utf-16-le"
    return _unmarked_utf16(head)


def _unmarked_utf16(head: bytes) -> str:
    """The codec of UTF-16 in non-Latin scripts, where only spaces and line ends contain NULs.

    The wrong byte order turns those into other characters, mostly unassigned.
    """
    if _is_text_with_nuls(head):
        return ""
    read = {
        codec: text
        for codec in ("utf-16-le", "utf-16-be")
        if (text := _legible(head, codec)) is not None
    }
    return max(read, key=lambda codec: len(_ASCII.findall(read[codec])), default="")


def _is_text_with_nuls(head: bytes) -> bool:
    """True if the bytes are UTF-8 with no control characters except NULs."""
    try:
        head[: max(len(head) - 3, 1)].decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(head.translate(None, _CONTROL_BYTES)) == len(head) - head.count(0)


def _legible(head: bytes, codec: str) -> str | None:
    """The text decoded with this codec; None if it is too short or not plausible text."""
    try:
        # The last character may be cut off.
        text = codecs.getincrementaldecoder(codec)().decode(head)
    except UnicodeDecodeError:
        return None
    letters = "".join(text.split())
    strange = sum(not char.isprintable() for char in letters)
    is_text = len(letters) >= _FEWEST_LEGIBLE and "\x00" not in letters
    return text if is_text and strange <= 0.02 * len(letters) else None


def main_extensions() -> tuple[str, ...]:
    """The usual extension of each format without its dot, except the many of source code."""
    listed = set(SUPPORTED.values()) - SOURCE_TYPES
    return tuple(sorted(file_type.extension.lstrip(".") for file_type in listed))


def _refusal(
    file_name: str, by_name: FileType | None, content: str
) -> UnsupportedType | TypeMismatch:
    if by_name is not None:
        return TypeMismatch(
            f"“{file_name}” is named like {_a(by_name.label)} but contains {content}. It is "
            "damaged or has the wrong extension: open it in its own program and export it again."
        )
    names = ", ".join(f".{name}" for name in main_extensions())
    return UnsupportedType(
        f"“{file_name}” contains {content}, which is not supported. Upload one of these: {names}, "
        "or source code. Rename other text files to .txt; repack other archives as .zip."
    )


def _a(label: str) -> str:
    if label.startswith(("plain text", "Rich Text", "Markdown", "reStructured", "OpenDocument")):
        return label
    return f"{'an' if label[0] in 'AEHIOX' and label != 'HTML' else 'a'} {label}"
