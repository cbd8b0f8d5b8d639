"""Django's own documentation, out of the source distribution of the installed Django."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import django

from kbsite.demo.sources import SourceFile

# Release notes are 380 files more that repeat what the manual says.
LEFT_OUT = {("docs", "releases")}
DOWNLOAD_TIMEOUT = 300  # seconds; a guess: 11 MB, and a build tool for pip to read the metadata


class DocsUnavailable(Exception):
    """The documentation cannot be fetched; the message says why and what to do."""


def django_docs(folder: Path, say: Callable[[str], None]) -> list[SourceFile]:
    """The manual's files in the order of their paths. Raises DocsUnavailable.

    The archive is kept in `folder`, so that a second run downloads nothing.
    """
    version = django.get_version()
    archive = _kept(folder, version)
    if archive is None:
        say(f"Downloading the documentation of Django {version} (11 MB) with pip")
        archive = _download(folder, version)
    try:
        release = "django-" + ".".join(version.split(".")[:2])
        return sorted(_files(archive, release), key=lambda file: file.source)
    except (tarfile.TarError, OSError, EOFError) as error:
        archive.unlink(missing_ok=True)
        raise DocsUnavailable(
            f"{archive.name} was damaged ({error}) and has been removed: run this again."
        ) from error


def _kept(folder: Path, version: str) -> Path | None:
    # Its name differs by the age of the build tool: Django-5.2.1 or django-5.2.1.
    return next(folder.glob(f"[Dd]jango-{version}.tar.gz"), None)


def _download(folder: Path, version: str) -> Path:
    """The archive, fetched with pip: mirrors, proxies and certificates are set up there."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="download-") as directory:
        command = [
            *(sys.executable, "-m", "pip", "download", f"Django=={version}"),
            *("--no-deps", "--no-binary", "Django", "--dest", directory),
            *("--disable-pip-version-check", "--quiet", "--no-input"),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT, check=False
            )
        except subprocess.TimeoutExpired:
            raise DocsUnavailable(
                f"pip did not get Django's source within {DOWNLOAD_TIMEOUT // 60} minutes."
            ) from None
        fetched = _kept(Path(directory), version)
        if fetched is None:
            said = [line for line in done.stderr.splitlines() if line.strip()]
            raise DocsUnavailable(
                f"pip could not download Django's source: {said[-1] if said else 'no reason given'}"
                ". Check the network, or run: make demo ARGS='--corpus samples'"
            )
        return fetched.replace(folder / fetched.name)


def _files(archive: Path, release: str) -> Iterator[SourceFile]:
    """The manual's pages. They are read, never unpacked: no path in the archive is trusted."""
    with tarfile.open(archive) as members:
        for member in members:
            inside = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            content = members.extractfile(member) if _is_wanted(inside) else None
            if content is not None:
                yield SourceFile(
                    file_name=inside.with_suffix(".rst").name,
                    source=f"{release}/{inside.relative_to('docs')}",
                    content=content.read(),
                )


def _is_wanted(path: PurePosixPath) -> bool:
    parts = path.parts
    if parts[:1] != ("docs",) or parts[:2] in LEFT_OUT or path.suffix != ".txt":
        return False
    return not any(part.startswith("_") for part in parts)  # the pages' layout and its licences
