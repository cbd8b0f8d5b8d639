"""A temporary installation for a benchmark: servers, tables and workers, removed afterwards."""

from __future__ import annotations

import io
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingestion.models import Collection, Lane

ROOT = Path(__file__).resolve().parents[1]
CORES = len(os.sched_getaffinity(0))


@contextmanager
def site(name: str, library: str = "") -> Iterator[Path]:
    """The installation's directory; Django is set up and its servers answer within the block.

    `library`: its database is a copy of the one of that name under var/bench, whose server must
    not run.
    """
    var = ROOT / "var" / "bench" / name
    set_up(var)
    from django.conf import settings
    from django.core.management import call_command

    from kbsite.embedded import ensure_servers

    logging.getLogger("ingestion.events").setLevel(logging.WARNING)  # a line for each upload
    settings.EMBEDDED.stop()  # remains of a killed run
    shutil.rmtree(var, ignore_errors=True)
    if library:
        copy_database(var.with_name(library), var)
    ensure_servers()
    settings.STATIC_ROOT.mkdir(exist_ok=True)
    try:
        call_command("migrate", verbosity=0)
        yield var
    finally:
        settings.EMBEDDED.stop()
        shutil.rmtree(var, ignore_errors=True)


def copy_database(source: Path, var: Path) -> None:
    """Copy the database of one installation to another without one. Raises if the source runs."""
    if (source / "postgres" / "postmaster.pid").exists():
        raise RuntimeError(f"The server of {source} runs: stop it, and begin again.")
    shutil.copytree(source / "postgres", var / "postgres")


def set_up(var: Path) -> None:
    """Set Django up on an installation that runs, or is about to run."""
    os.environ |= {"STEELYARD_VAR": str(var), "DJANGO_SETTINGS_MODULE": "kbsite.settings"}
    os.environ.setdefault("MODELS_DIR", str(ROOT / "var" / "models"))
    import django

    django.setup()
    # `kill` ends the blocks of the benchmark as Ctrl-C does, so that no server outlives it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@contextmanager
def worker(processes: int, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Celery worker of so many processes with a thread each, as `make demo` starts it.

    As nice, too, as there and in deploy/systemd.
    """
    from kbsite.demo.site import WORKER_NICENESS

    command = [
        "nice",
        "-n",
        str(WORKER_NICENESS),
        sys.executable,
        "-m",
        "celery",
        "-A",
        "kbsite",
        "--quiet",
        "worker",
        "-l",
        "ERROR",
        *arguments,
    ]
    environment = os.environ | {"EMBEDDER_THREADS": "1", "WORKER_CONCURRENCY": str(processes)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def receive(
    collection: Collection, files: Iterable[bytes], name: str, lane: Lane | None = None
) -> list[int]:
    """Queue the files for the workers; return the ids of their versions."""
    from ingestion import services
    from ingestion.models import Lane

    return [
        services.receive(
            collection,
            io.BytesIO(content),
            file_name=name,
            lane=lane or Lane.INTERACTIVE,
            acting_user=None,
        ).version.pk
        for content in files
    ]


def wait_until_finished() -> None:
    """Wait until every version is ready. Raises if one failed."""
    from ingestion.models import DocumentVersion, State
    from ingestion.models.versions import UNFINISHED

    while DocumentVersion.objects.filter(state__in=UNFINISHED).exists():
        time.sleep(0.1)
    if error := DocumentVersion.objects.filter(state=State.FAILED).values_list("error").first():
        raise RuntimeError(error[0])
