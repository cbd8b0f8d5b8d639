"""The programs, the settings, the disks, mail and the parser of this machine."""

from __future__ import annotations

import platform
import re
import shutil
import smtplib
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from django.conf import settings
from django.core.checks import ERROR, WARNING, run_checks
from django.core.mail import get_connection
from packaging.requirements import Requirement

from ingestion.errors import ParseFailed
from ingestion.files.bucket import BucketStorage
from ingestion.parsing import ParseLimits, parse_file
from ingestion.parsing.isolation_report import isolation_report
from kbsite.doctor.findings import Finding

# Room on a disk, as a share and in bytes, below which to look, and below which uploads soon fail.
LITTLE, TOO_LITTLE = (0.10, 2 << 30), (0.02, 200 << 20)
_PIN = re.compile(r"[A-Za-z0-9]\S*==")
_SAMPLE = "<!doctype html><title>Sample</title><h1>Sample</h1><p>A paragraph to be read.</p>"


def versions() -> Iterator[Finding]:
    """Python, and the packages against their pins."""
    yield Finding.ok("python", f"{platform.python_version()} on {platform.platform(terse=True)}")
    pins = _pins(settings.BASE_DIR / "requirements" / "production.txt")
    others = []
    for package, pinned in pins.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            found = "missing"
        if found != pinned:
            others.append(f"{package} {found} (pinned {pinned})")
    if others:
        advice = (
            "Run: .venv/bin/pip install --require-hashes --requirement requirements/production.txt"
        )
        yield Finding.look("packages", "; ".join(others), advice)
    else:
        yield Finding.ok("packages", f"{len(pins)} as pinned")


def _pins(path: Path) -> dict[str, str]:
    """The versions that this machine must have, of a file that `make lock` wrote."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not _PIN.match(line):
            continue
        wanted = Requirement(line.rstrip(" \\"))
        if wanted.marker is None or wanted.marker.evaluate():
            found[wanted.name] = next(iter(wanted.specifier)).version
    return found


def settings_() -> Iterator[Finding]:
    """What `manage.py check` finds, with `--deploy` where the site is served over HTTPS."""
    found = run_checks(include_deployment_checks=settings.HTTPS)
    serious = [each for each in found if each.level >= WARNING and not each.is_silenced()]
    for each in serious:
        make = Finding.wrong if each.level >= ERROR else Finding.look
        yield make("settings", f"{each.msg} ({each.id})", each.hint or "See docs/operations.md.")
    if not serious:
        yield Finding.ok("settings", "nothing to correct")


def disks() -> Iterator[Finding]:
    """Whether the folders can be written, and the room on their disks."""
    for name, folder in (("var", settings.VAR_DIR), ("files", settings.MEDIA_ROOT)):
        yield _disk(f"disk of {name}", Path(folder))


def originals() -> Iterator[Finding]:
    """Whether a file can be written to the bucket of the originals, read and deleted."""
    if not settings.ORIGINALS_URL:
        return
    try:
        BucketStorage(settings.ORIGINALS_URL).check()
    except OSError as error:
        reason = str(error.__cause__ or error).split("\n", 1)[0]
        advice = "Check ORIGINALS_URL, AWS_ENDPOINT, AWS_REGION and the key's rights."
        yield Finding.wrong("originals", f"{settings.ORIGINALS_URL}: {reason}", advice)
    else:
        yield Finding.ok("originals", f"{settings.ORIGINALS_URL} is written, read and deleted")


def _disk(name: str, folder: Path) -> Finding:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x" * 4096)
        found = shutil.disk_usage(folder)
    except OSError as error:
        advice = "Make room, or let this user write there."
        return Finding.wrong(name, f"{folder} cannot be written: {error.strerror}", advice)
    text = f"{found.free / 2**30:.1f} GiB of {found.total / 2**30:.1f} GiB free at {folder}"
    advice = "Empty the bin, remove what is not needed, or enlarge the disk."
    for (share, least), make in ((TOO_LITTLE, Finding.wrong), (LITTLE, Finding.look)):
        if found.free < least or found.free < share * found.total:
            return make(name, text, advice)
    return Finding.ok(name, text)


def parser() -> Iterator[Finding]:
    """Whether a file can be read in a parser's process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.html"
        path.write_text(_SAMPLE)
        try:
            found = parse_file(path, path.name, ParseLimits.of(settings.PARSE_LIMITS))
        except (ParseFailed, OSError) as error:
            advice = "Look at the log: it says how the parser's process ended."
            yield Finding.wrong("parser", f"cannot read a page of HTML: {error}", advice)
            return
    yield Finding.ok("parser", f"read a page of HTML as {len(found.blocks)} blocks")
    # What is missing of these is a warning of `manage.py check`, shown with the settings.
    for is_held, text in isolation_report():
        if is_held:
            yield Finding.ok("isolation", text)


def mail() -> Iterator[Finding]:
    """Whether the mail server accepts a connection. Nothing is sent."""
    backend = settings.EMAIL_BACKEND.rpartition(".")[0].rpartition(".")[2]
    if backend != "smtp":
        if settings.ALERT_EMAILS:
            text = f"ALERT_EMAILS is set, but mail goes to {backend}"
            yield Finding.look("mail", text, "Set EMAIL_URL to your mail server.")
        else:
            yield Finding.ok("mail", f"not set up: written to {backend}")
        return
    server = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    try:
        connection = get_connection(fail_silently=False)
        connection.open()
        connection.close()
    except (smtplib.SMTPException, OSError) as error:
        text = f"{server} cannot be used: {type(error).__name__}"
        yield Finding.wrong("mail", text, "Check EMAIL_URL: its address, user and password.")
        return
    yield Finding.ok("mail", f"{server} accepts a connection")
