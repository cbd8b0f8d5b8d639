"""Slides as PDF, by LibreOffice where it is installed.

LibreOfficeKit, its C interface, runs within this process. The program `soffice` would run beside it
and open a socket, which the child's filter of system calls refuses.
"""

from __future__ import annotations

import ctypes
import shutil
from functools import cache
from pathlib import Path
from typing import Any

from ingestion.errors import PageNotDrawn

# Debian's package keeps its settings and its list of extensions outside of its folder.
READS = tuple(
    Path(root, "libreoffice") for root in ("/etc", "/usr/share", "/var/lib", "/var/spool")
)
_USUAL_FOLDER = Path("/usr/lib/libreoffice/program")
_LIBRARIES = ("libmergedlo.so", "libsofficeapp.so")
# Places in the tables of functions of LibreOfficeKit.h: its order is the interface.
_LOAD, _ERROR, _SAVE = 2, 3, 2


@cache
def library() -> Path | None:
    """LibreOffice's library; None where LibreOffice is not installed."""
    program = shutil.which("soffice")
    folder = Path(program).resolve().parent if program else _USUAL_FOLDER
    return next((folder / name for name in _LIBRARIES if (folder / name).is_file()), None)


def write_pdf(source: Path, target: Path, profile: Path) -> None:
    """Write the file at `source` as PDF to `target`, with LibreOffice's settings in `profile`.

    Its threads end with the process. Raises PageNotDrawn.
    """
    path = library()
    if path is None:
        raise PageNotDrawn("LibreOffice is not installed.")
    start = ctypes.CDLL(str(path)).libreofficekit_hook_2
    start.restype, start.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_char_p]
    kit = start(bytes(path.parent), profile.as_uri().encode())
    if not kit:
        raise PageNotDrawn("LibreOffice did not start.")
    document = _call(kit, _LOAD, ctypes.c_void_p, source.as_uri())
    if not document or not _call(document, _SAVE, ctypes.c_int, target.as_uri(), "pdf", None):
        raise PageNotDrawn((_call(kit, _ERROR, ctypes.c_char_p) or b"").decode("utf-8", "replace"))


def _call(this: int, place: int, result: type, *texts: str | None) -> Any:
    """The result of the function at `place` of an object of LibreOfficeKit."""
    table = ctypes.cast(this, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))[0]
    kind = ctypes.CFUNCTYPE(result, ctypes.c_void_p, *[ctypes.c_char_p] * len(texts))
    return kind(table[place])(this, *(text and text.encode() for text in texts))
