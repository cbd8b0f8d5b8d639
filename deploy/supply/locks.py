"""Compile ``requirements/*.in`` to pins with hashes, and say whether the two still agree."""

import hashlib
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
# The largest one first: the others take its pins as constraints, so that no two files differ.
MAIN = {
    "requirements/development.in": "requirements-dev.txt",
    "requirements/demo.in": "requirements.txt",
    "requirements/production.in": "requirements/production.txt",
}
# An environment of its own, which need not fit the others.
ALONE = {"requirements/tools.in": "requirements/tools.txt"}
HEADER = (
    "# Written by `make lock` from {source}: edit that one.\n# sha256 of the inputs: {digest}\n"
)


@dataclass(frozen=True)
class Pin:
    """One package of a compiled file: of several versions, each for some versions of Python."""

    name: str
    versions: frozenset[str]
    hashes: frozenset[str]


def locks(root: Path = ROOT) -> dict[str, str]:
    """Return inputs and their outputs in the order of compilation; other inputs are extras."""
    known = MAIN | ALONE
    extras = sorted(path.relative_to(root).as_posix() for path in root.glob("requirements/*.in"))
    return MAIN | {name: name[: -len("in")] + "txt" for name in extras if name not in known} | ALONE


def wanted(source: Path) -> Iterator[Requirement]:
    """Yield the requirements of an input, those of the files that it includes first.

    :raises ValueError: a line is neither a requirement nor ``-r FILE``
    """
    for line in source.read_text("utf-8").splitlines():
        text = re.sub(r"(^|\s)#.*", "", line).strip()
        if text.startswith("-r "):
            yield from wanted(source.parent / text.removeprefix("-r ").strip())
        elif text:
            yield Requirement(text)


def digest(source: Path) -> str:
    """Return the hash of an input's requirements; comments and order do not change it."""
    lines = sorted(str(requirement) for requirement in wanted(source))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def pins(compiled: Path) -> dict[str, Pin]:
    """Return the pins of a compiled file by their normalised names."""
    text = compiled.read_text("utf-8").replace("\\\n", " ")
    found: dict[str, Pin] = {}
    for line in text.splitlines():
        match = re.match(r"([A-Za-z0-9][\w.-]*)==([^\s;]+)", line)
        if match:
            name = canonicalize_name(match[1])
            hashes = frozenset(re.findall(r"--hash=(sha256:[0-9a-f]{64})", line))
            other = found.get(name, Pin(name, frozenset(), frozenset()))
            found[name] = Pin(name, other.versions | {match[2]}, other.hashes | hashes)
    return found


def disagreements(root: Path = ROOT) -> list[str]:
    """Return what `make lock` would mend, a sentence each; needs no network."""
    wrong = []
    first: dict[str, tuple[str, Pin]] = {}
    for source, output in locks(root).items():
        if not (root / output).exists():
            wrong.append(f"{output} is missing.")
            continue
        compiled = pins(root / output)
        if f"inputs: {digest(root / source)}\n" not in (root / output).read_text("utf-8"):
            wrong.append(f"{source} was changed since {output} was written.")
        wrong += _unmet(source, output, wanted(root / source), compiled)
        for name, pin in compiled.items():
            if not pin.hashes:
                wrong.append(f"{output}: {name} has no hash.")
            other, known = first.setdefault(name, (output, pin))
            if known != pin and source not in ALONE:
                wrong.append(f"{name} differs between {other} and {output}.")
    return wrong


def _unmet(
    source: str, output: str, requirements: Iterator[Requirement], compiled: dict[str, Pin]
) -> Iterator[str]:
    for requirement in requirements:
        pin = compiled.get(canonicalize_name(requirement.name))
        if pin is None:
            yield f"{source} asks for {requirement.name}, which {output} lacks."
        elif not all(
            requirement.specifier.contains(version, prereleases=True) for version in pin.versions
        ):
            yield f"{source} asks for {requirement}, {output} has {_listed(pin)}."


def _listed(pin: Pin) -> str:
    return " and ".join(sorted(pin.versions))


def lock(uv: str, arguments: Sequence[str] = (), root: Path = ROOT) -> None:
    """Write all outputs, keeping the pins that they have where the inputs allow.

    :param uv: the program
    :param arguments: to uv, such as ``--upgrade-package NAME`` or ``--constraint FILE``
    :raises subprocess.CalledProcessError: no set of versions fits; nothing was written
    """
    with tempfile.TemporaryDirectory() as folder:
        written: dict[str, Path] = {}
        for number, (source, output) in enumerate(locks(root).items()):
            target = Path(folder) / f"{number}.txt"
            if (root / output).exists():
                target.write_bytes((root / output).read_bytes())
            constraint = written.get(MAIN["requirements/development.in"])
            _compile(uv, source, target, None if source in ALONE else constraint, arguments, root)
            written[output] = target
        # All or none, so that a failure in the middle leaves files that agree.
        # What did not change keeps its date: make installs again what is newer than its stamp.
        for output, target in written.items():
            found, path = target.read_bytes(), root / output
            if not path.exists() or path.read_bytes() != found:
                path.write_bytes(found)


def _compile(
    uv: str,
    source: str,
    target: Path,
    constraint: Path | None,
    arguments: Sequence[str],
    root: Path,
) -> None:
    # One file for all platforms: markers where they differ, and the hashes of every file that the
    # index has of a version, for whatever system and processor.
    command = [uv, "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header"]
    command += ["--python-version", "3.11", "--annotation-style", "line", source]
    command += ["--output-file", str(target), *arguments]
    if constraint:
        command += ["--constraint", str(constraint)]
    subprocess.run(command, cwd=root, check=True)
    header = HEADER.format(source=source, digest=digest(root / source))
    target.write_text(header + _without_paths(target.read_text("utf-8")), "utf-8")


def _without_paths(text: str) -> str:
    """Drop the temporary constraint from the comments, and the header of the last run."""
    lines = [line for line in text.splitlines() if line != "" and not _is_header(line)]
    text = "\n".join(lines) + "\n"
    text = re.sub(r"(?<=[ ,])-c \S+?\.txt(, )?", "", text)
    return re.sub(r"^ +# via *\n|,\s*$", "", text, flags=re.MULTILINE)


def _is_header(line: str) -> bool:
    return line.startswith(("# Written by", "# sha256 of"))
