"""Search: the whole pipeline in-process and over HTTP beside the bare SQL, at two corpus sizes.

    python -m benchmarks.search [--sizes 20000 200000] [--queries 120]

Runs on servers of its own under var/bench. Each size is built once and kept.
"""

from __future__ import annotations

import argparse
import http.client
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 3


def main() -> None:
    arguments = _arguments()
    for size in arguments.sizes:
        _use_var(ROOT / "var" / "bench" / str(size))
        command = [sys.executable, "-m", "benchmarks.search", "--measure", str(size)]
        environment = os.environ | {"DATABASE_POOL": "4"}
        subprocess.run([*command, "--queries", str(arguments.queries)], check=True, env=environment)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--queries", type=int, default=120)
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def _use_var(path: Path) -> None:
    os.environ["STEELYARD_VAR"] = str(path)
    os.environ.setdefault("MODELS_DIR", str(ROOT / "var" / "models"))
    os.environ.setdefault("THROTTLE_ANONYMOUS", "1000000/min")


def measure(size: int, count: int) -> None:
    """Builds the corpus where it is missing, and prints one table."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
    import django

    django.setup()
    from django.core.management import call_command

    from kbsite.servers import ensure_servers

    ensure_servers()
    call_command("migrate", verbosity=0)
    from benchmarks import corpus, texts
    from ingestion.models import Chunk

    if Chunk.objects.count() != size:
        print(f"Building {size} chunks ...", flush=True)
        started = time.perf_counter()
        corpus.build(size)
        print(f"  built in {time.perf_counter() - started:.0f} s")
    questions = texts.questions(count)
    with _server() as port:
        runs = {
            "bare SQL": _replay(_statements(questions)),
            "pipeline": _pipeline(questions),
            "HTTP": _http(questions, port),
        }
        rows = _times(runs, len(questions))
    _print(size, rows)


def _statements(questions: Sequence[str]) -> list[list[tuple[str, Any]]]:
    """Every statement that each question runs, as it was sent. Warms all caches on the way."""
    from django.db import connection

    from search.retrieval.kept import sent_as_text

    sent: list[list[tuple[str, Any]]] = []

    def keep(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        sent[-1].append((sql, params))
        return execute(sql, params, many, context)

    run = _pipeline(questions)
    with sent_as_text(), connection.execute_wrapper(keep):
        for i in range(len(questions)):
            sent.append([])
            run(i)
    return sent


def _replay(statements: list[list[tuple[str, Any]]]) -> Callable[[int], None]:
    import psycopg
    from django.conf import settings
    from django.db import connection

    database = settings.DATABASES["default"]
    plain = psycopg.connect(
        host=database["HOST"],
        user=database["USER"],
        password=database.get("PASSWORD") or None,
        dbname=database["NAME"],
        port=database.get("PORT") or None,
        options="-c jit=off",
        autocommit=True,
        cursor_factory=psycopg.ClientCursor,
    )
    connection.ensure_connection()
    plain.adapters._dumpers = connection.connection.adapters._dumpers

    def run(i: int) -> None:
        for sql, params in statements[i]:
            with plain.cursor() as cursor:
                cursor.execute(sql, params)
                while cursor.nextset():
                    pass
                if cursor.description:
                    cursor.fetchall()

    return run


def _pipeline(questions: Sequence[str]) -> Callable[[int], None]:
    from search.pipeline import search

    def run(i: int) -> None:
        search(questions[i], viewer=None)

    return run


def _http(questions: Sequence[str], port: int) -> Callable[[int], None]:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def run(i: int) -> None:
        client.request("GET", "/api/v1/search/?" + urlencode({"q": questions[i]}))
        response = client.getresponse()
        body = response.read()
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {body[:300]!r}")

    return run


@contextmanager
def _server() -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "kbsite.wsgi", "--bind", f"127.0.0.1:{port}"]
    log = subprocess.DEVNULL
    process = subprocess.Popen([*command, "--threads", "2"], stdout=log, stderr=log)
    try:
        for _ in range(150):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        yield port
    finally:
        process.terminate()
        process.wait()


def _times(runs: dict[str, Callable[[int], None]], count: int) -> dict[str, list[float]]:
    """Milliseconds of every call, after one round unmeasured.

    The ways take turns at every question: what else the machine is doing hits all of them.
    """
    found: dict[str, list[float]] = {name: [] for name in runs}
    for round_number in range(ROUNDS + 1):
        for i in range(count):
            for name, run in runs.items():
                started = time.perf_counter()
                run(i)
                if round_number:
                    found[name].append((time.perf_counter() - started) * 1000)
    return found


def _print(size: int, rows: dict[str, list[float]]) -> None:
    base = statistics.median(rows["bare SQL"])
    print(f"\n{size} chunks, {len(rows['pipeline'])} searches each")
    print(f"{'':<10}{'p50 ms':>9}{'p95 ms':>9}{'p50 / bare SQL':>16}")
    for name, times in rows.items():
        p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
        print(f"{name:<10}{p50:>9.1f}{p95:>9.1f}{p50 / base:>16.2f}")


if __name__ == "__main__":
    chosen = _arguments()
    if chosen.measure:
        measure(chosen.measure, chosen.queries)
    else:
        main()
