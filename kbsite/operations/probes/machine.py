"""Probes of this machine: settings, secrets, disks, storage, backups, parser, mail."""

from __future__ import annotations

import os
import shutil
import smtplib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.core.mail import get_connection
from prometheus_client import Metric

from common.probes import Finding, Occasion, gauge, look, ok, register, wrong
from ingestion.errors import ParseFailed
from ingestion.files.bucket import BucketStorage
from ingestion.parsing.child.isolation_report import isolation_report
from ingestion.parsing.child.sandbox import parse_file
from ingestion.parsing.limits import ParseLimits
from kbsite.layout import ENV_FILE
from kbsite.operations import backups, endpoints
from kbsite.operations.probes import findings

# Free space (share, bytes) below which to warn, and below which uploads soon fail.
LITTLE, TOO_LITTLE = (0.10, 2 << 30), (0.02, 200 << 20)
_SAMPLE = "<!doctype html><title>Sample</title><h1>Sample</h1><p>A paragraph to be read.</p>"


@register("settings")
def settings_() -> Iterator[Finding]:
    """The findings of `manage.py check`, with `--deploy` where the site is served over HTTPS."""
    problems = list(findings(include_deployment_checks=settings.HTTPS))
    yield from problems or [ok("nothing to correct")]


@register("secrets")
def secrets() -> Iterator[Finding]:
    """Files with secrets must be closed to other users of the machine."""
    files = [ENV_FILE]
    if not os.environ.get("SECRET_KEY"):
        files.append(Path(settings.VAR_DIR) / "secret_key")
    for path in files:
        if not path.is_file():
            continue
        about = path.stat()
        # A file of root's is read by its group (docs/install.md), a file of this user's is not.
        mode = 0o600 if about.st_uid == os.geteuid() else 0o640
        if about.st_mode & 0o777 & ~mode:
            text = f"Other users of this machine may read or write {path}."
            advice = f"chmod {mode:o} {path}. It holds what signs sessions and opens the database."
            yield look(text, advice)


def _folders() -> dict[str, Path]:
    return {"var": Path(settings.VAR_DIR), "files": Path(settings.MEDIA_ROOT)}


def disk_gauges() -> Iterator[Metric]:
    free = gauge("disk_free_bytes", "Room on the disk of a folder.", "folder")
    size = gauge("disk_bytes", "Size of the disk of a folder.", "folder")
    for name, path in _folders().items():
        # Files come with the first upload: until then, the folder above.
        existing = next(each for each in (path, *path.parents) if each.exists())
        usage = shutil.disk_usage(existing)
        free.add_metric([name], usage.free)
        size.add_metric([name], usage.total)
    yield from (free, size)


@register("disks", gauges=disk_gauges)
def disks() -> Iterator[Finding]:
    """Whether the folders are writable, and the free space on their disks."""
    for name, folder in _folders().items():
        yield _disk(name, folder)


def _disk(name: str, folder: Path) -> Finding:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x" * 4096)
        usage = shutil.disk_usage(folder)
    except OSError as error:
        advice = "Make room, or let this user write there."
        return wrong(f"{name}: {folder} cannot be written: {error.strerror}", advice)
    free, total = usage.free / 2**30, usage.total / 2**30
    text = f"{name}: {free:.1f} GiB of {total:.1f} GiB free at {folder}"
    advice = "Empty the bin, remove what is not needed, or enlarge the disk."
    for (share, least), make in ((TOO_LITTLE, wrong), (LITTLE, look)):
        if usage.free < least or usage.free < share * usage.total:
            return make(text, advice)
    return ok(text)


@register(
    "storage",
    alive=endpoints.storage_answers,
    start="Make room, or check FILES_DIR or ORIGINALS_URL and AWS_ENDPOINT.",
)
def storage() -> Iterator[Finding]:
    """Whether an original can be written, read and deleted."""
    if not settings.ORIGINALS_URL:
        yield ok("originals can be stored")
        return
    try:
        BucketStorage(settings.ORIGINALS_URL).check()
    except OSError as error:
        reason = str(error.__cause__ or error).split("\n", 1)[0]
        advice = "Check ORIGINALS_URL, AWS_ENDPOINT, AWS_REGION and the key's rights."
        yield wrong(f"{settings.ORIGINALS_URL}: {reason}", advice)
    else:
        yield ok(f"{settings.ORIGINALS_URL} is written, read and deleted")


def backup_gauges() -> Iterator[Metric]:
    metric = gauge("backup_age_seconds", "Age of the last good backup.")
    if backups.is_configured():
        age = backups.age()
        metric.add_metric([], float("inf") if age is None else age.total_seconds())
    yield metric


def backup_is_recent() -> bool | None:
    return backups.is_recent() if backups.is_configured() else None


@register("backup", Occasion.DEPLOYMENT, alive=backup_is_recent, vital=False, gauges=backup_gauges)
def backup() -> Iterator[Finding]:
    """There must be backups, and the last must be recent."""
    if not settings.BACKUP_FOLDER:
        advice = (
            "Set BACKUP_FOLDER to the folder of `manage.py backup` (docs/backup.md), or to "
            "“elsewhere” if other programs back up the database and the files."
        )
        yield look("No backups are made.", advice, "W030")
    elif backups.is_configured() and not backups.is_recent():
        text = f"There is no backup of the last {backups.LATE.total_seconds() / 3600:.0f} hours."
        yield look(text, "Run `manage.py backup`, and look at the log of its timer.", "W033")


@register("parser")
def parser() -> Iterator[Finding]:
    """Whether a file can be read in a parser's process, and what isolates it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.html"
        path.write_text(_SAMPLE)
        try:
            parsed = parse_file(path, path.name, ParseLimits.of(settings.PARSE_LIMITS))
        except (ParseFailed, OSError) as error:
            advice = "Look at the log: it says how the parser's process ended."
            yield wrong(f"cannot read a page of HTML: {error}", advice)
            return
    yield ok(f"read a page of HTML as {len(parsed.blocks)} blocks")
    for works, text in isolation_report():
        yield ok(text) if works else look(text, "docs/formats.md: “The parser”.")


@register("mail")
def mail() -> Iterator[Finding]:
    """Whether the mail server accepts a connection. Nothing is sent."""
    backend = settings.EMAIL_BACKEND.rpartition(".")[0].rpartition(".")[2]
    server = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    if backend != "smtp":
        yield ok(f"not set up: written to {backend}")
    else:
        try:
            connection = get_connection(fail_silently=False)
            connection.open()
            connection.close()
        except (smtplib.SMTPException, OSError) as error:
            text = f"{server} cannot be used: {type(error).__name__}"
            yield wrong(text, "Check EMAIL_URL: its address, user and password.")
        else:
            yield ok(f"{server} accepts a connection")
