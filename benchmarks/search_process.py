"""The process that searches the library of one size for `benchmarks.search_speed`.

Requests and answers are lines of JSON on standard input and output.
"""

from __future__ import annotations

import gc
import http.client
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

_RELATIONS = """
SELECT c.relname || CASE c.relkind WHEN 'i' THEN '' ELSE ' (table, TOAST)' END,
       CASE c.relkind WHEN 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END / 1e6
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'i')
"""


def serve(queries: int) -> None:
    """Answer requests until standard input ends."""
    from benchmarks.open_streams import server
    from benchmarks.processes import postmaster, timed
    from benchmarks.texts import questions
    from kbsite.apps import spare_collections

    texts = questions(queries)
    # The product's own server, of one process: the one client needs no more. Its connection may
    # wait longer for its turn than the product keeps one.
    own = ("--config", "python:kbsite.gunicorn", "--keep-alive", "75", "kbsite.asgi")
    with server(*own) as target:
        port, web = target.port, target.process.pid
        ways = {
            "statement": _replay(_statements(texts)),
            "pipeline": _pipeline(texts),
            "pipeline, all marked": _pipeline(texts, mark_folded=True),
            "HTTP": over_http(texts, port),
        }
        gc.collect()
        spare_collections()
        others = [web, postmaster()]
        for line in sys.stdin:
            request = json.loads(line)
            if "way" in request:
                way = partial(ways[request["way"]], request["question"])
                answer: Any = timed(way, others)[:2]
            else:
                answer = _report(web) if "report" in request else len(texts)
            print(json.dumps(answer), flush=True)


def _report(web: int) -> dict[str, Any]:
    """The megabytes of the relations, of the database, and of memory."""
    from django.db import connection

    from benchmarks.processes import megabytes, postmaster

    with connection.cursor() as cursor:
        cursor.execute(_RELATIONS)
        relations = {name: float(size) for name, size in cursor.fetchall()}
        cursor.execute("SELECT pg_database_size(current_database()) / 1e6")
        database = float(cursor.fetchone()[0])
    return {
        "relations": relations,
        "database": database,
        "Postgres in memory, MB": megabytes(postmaster()),
        "web in memory, MB": megabytes(web),
    }


def _statements(questions: Sequence[str]) -> list[list[tuple[str, Any]]]:
    """Every statement of each question, as it was sent. Warms all caches."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    sent: list[list[tuple[str, Any]]] = []

    def keep(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        sent[-1].append((sql, params))
        return execute(sql, params, many, context)

    run = _pipeline(questions)
    with CaptureQueriesContext(connection), connection.execute_wrapper(keep):
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
        options=database["OPTIONS"]["options"],
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


def _pipeline(questions: Sequence[str], *, mark_folded: bool = False) -> Callable[[int], None]:
    from search.pipeline import search

    def run(i: int) -> None:
        search(questions[i], viewer=None, mark_folded=mark_folded)

    return run


def over_http(questions: Sequence[str], port: int) -> Callable[[int], None]:
    """Ask the API of a server on this machine the question with a number, on one connection."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def run(i: int) -> None:
        client.request("GET", "/api/v1/search/?" + urlencode({"q": questions[i]}))
        response = client.getresponse()
        body = response.read()
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {body[:300]!r}")

    return run
