"""A long soak: several processes do anything at random while workers and the broker are killed.

    python -m benchmarks.soak [--operations 2000] [--minutes 20] [--seed 1] [--processes 3]

On servers of its own, with real Celery workers. What each process does follows from the seed; when
it meets the workers does not, so that a run is like another but not the same. It ends after so
many operations or minutes; then everybody is let finish, and the invariants of `tests/faults` are
checked. Exits with an error when one does not hold, or when an operation raised what it must not.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VAR = ROOT / "var" / "bench" / "soak"
PAUSE = (3.0, 9.0)  # seconds between two kills
SWEEP_SECONDS = 2.0
KILLS = {"worker": 7, "broker": 2, "broker and its data": 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=2_000)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--act", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    _set_up()
    if arguments.act is not None:
        _act(arguments)
        return
    from django.conf import settings

    try:
        _soak(arguments)
    finally:
        settings.EMBEDDED.stop()
        shutil.rmtree(VAR, ignore_errors=True)


def _set_up() -> None:
    os.environ |= {"STEELYARD_VAR": str(VAR), "DATABASE_POOL": "0"}
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.support.short_leases"
    os.environ.setdefault("MODELS_DIR", str(ROOT / "var" / "models"))
    import django

    django.setup()
    logging.disable(logging.WARNING)  # an unavailable broker is what this tests


def _soak(arguments: argparse.Namespace) -> None:
    from django.core.management import call_command

    from kbsite.embedded import ensure_servers
    from search.tuning.install_defaults import install_presets as install

    ensure_servers()
    call_command("migrate", verbosity=0)
    install()
    started = time.monotonic()
    command = [sys.executable, "-m", "benchmarks.soak", *sys.argv[1:]]
    actors = [
        subprocess.Popen([*command, "--act", str(n)], cwd=ROOT, stdout=subprocess.PIPE)
        for n in range(arguments.processes)
    ]
    kills = _kill_while(actors, random.Random(arguments.seed))
    reports = [json.loads(actor.communicate()[0] or b"{}") for actor in actors]
    seconds = time.monotonic() - started
    _finish()
    _report(kills, reports, seconds, time.monotonic() - started - seconds)
    if any(actor.returncode for actor in actors):
        sys.exit("A process ended with an error.")


def _kill_while(actors: list[subprocess.Popen[bytes]], chance: random.Random) -> Counter[str]:
    """Kill processes while the actors work, sweep as beat does, and return the kills by name."""
    from django.conf import settings

    from tests.faults import harness

    kills: Counter[str] = Counter()
    while any(actor.poll() is None for actor in actors):
        with harness.worker() as worker:
            while any(actor.poll() is None for actor in actors):
                _sweep_for(actors, chance.uniform(*PAUSE))
                kind = chance.choices(list(KILLS), list(KILLS.values()))[0]
                kills[kind] += 1
                if kind == "worker" or worker.poll() is not None:
                    break
                valkey = settings.EMBEDDED.valkey
                harness.kill_server(valkey)
                if kind != "broker":
                    shutil.rmtree(valkey.data_dir)
                time.sleep(chance.uniform(0, 2))
                settings.EMBEDDED.start()
    return kills


def _sweep_for(actors: list[subprocess.Popen[bytes]], seconds: float) -> None:
    from common.jobs import sweep
    from ingestion.lexical import bm25_weights
    from ingestion.models import DocumentVersion, Import

    end = time.monotonic() + seconds
    while time.monotonic() < end and any(actor.poll() is None for actor in actors):
        sweep(DocumentVersion)
        sweep(Import)
        bm25_weights.fold()
        time.sleep(SWEEP_SECONDS)


def _finish() -> None:
    """Have a new worker finish the remaining work, and assert the invariants."""
    from common.jobs import RELEASED, sweep
    from ingestion.models import Import
    from tests.faults import harness

    harness.let_time_pass()
    Import.objects.filter(state__in=Import.OPEN).update(**RELEASED)

    def all_over() -> bool:
        sweep(Import)
        opened = Import.objects.filter(state__in=Import.OPEN, collection__deleted_at=None)
        return not opened.exists() and harness.finished()

    with harness.worker():
        harness.wait_for(all_over, seconds=1_800, sweeping=True)
    harness.assert_nothing_lost_or_doubled()


def _report(
    kills: Counter[str], reports: list[dict[str, dict[str, int]]], seconds: float, after: float
) -> None:
    from ingestion.models import Chunk, Document, DocumentVersion

    done: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for each in reports:
        done.update(each.get("done", {}))
        refused.update(each.get("refused", {}))
    states = Counter(
        Document.objects.undeleted().exclude(latest=None).values_list("latest__state", flat=True)
    )
    print(f"{sum(done.values())} operations in {seconds:.0f} s, and {after:.0f} s to finish")
    print("  " + ", ".join(f"{name} {count}" for name, count in done.most_common()))
    print("refused: " + (", ".join(f"{n} {c}" for n, c in refused.most_common()) or "none"))
    print("killed: " + (", ".join(f"{name} {count}" for name, count in kills.items()) or "none"))
    print(
        f"left: {sum(states.values())} documents ({dict(states)}) of"
        f" {DocumentVersion.objects.count()} versions, {Chunk.objects.count()} chunks"
    )
    print("every invariant holds")


def _act(arguments: argparse.Namespace) -> None:
    """Run one process's share of the operations, and print the counts as JSON."""
    from benchmarks.soak_operations import Actor

    actor = Actor(random.Random(f"{arguments.seed}-{arguments.act}"))
    end = time.monotonic() + arguments.minutes * 60
    with ExitStack() as stack:
        stack.callback(lambda: print(json.dumps({"done": actor.done, "refused": actor.refused})))
        for _ in range(arguments.operations // arguments.processes):
            if time.monotonic() > end:
                return
            actor.act()


if __name__ == "__main__":
    main()
