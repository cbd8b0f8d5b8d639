"""The ZIPs that TREC's and BEIR's two files travel in."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from search.tuning.formats.rows import FormatError

MAX_UNPACKED = 200 * 1024 * 1024


def zipped(files: Mapping[str, str]) -> bytes:
    """A ZIP of these texts by file name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            # The same judgements are the same bytes, whenever they are exported.
            archive.writestr(zipfile.ZipInfo(name), text)
    return out.getvalue()


def unzipped(data: bytes) -> dict[str, bytes]:
    """The files of a ZIP by path. Raises FormatError for a broken, locked or too large one."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = [entry for entry in archive.infolist() if not entry.is_dir()]
            if sum(entry.file_size for entry in files) > MAX_UNPACKED:
                raise FormatError("The ZIP is too large: unpacked it is over 200 MB.")
            return {entry.filename: archive.read(entry) for entry in files}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise FormatError("The ZIP cannot be read. Make it anew, without a password.") from error


def file_named(files: Mapping[str, bytes], *names: str) -> bytes:
    """The file whose path speaks of one of `names`; the test set where there are several."""
    fitting = [path for path in files if any(name in path.lower() for name in names)]
    best = sorted(fitting, key=lambda path: ("test" not in path, path))
    if not best:
        raise FormatError(f"The ZIP holds no file named after {' or '.join(names)}.")
    return files[best[0]]
