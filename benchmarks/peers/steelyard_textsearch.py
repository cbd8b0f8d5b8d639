"""Steelyard with KEYWORD_BACKEND=pg_textsearch, on a copy of its library."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from benchmarks.peers import steelyard
from benchmarks.peers.shared import Library, build_once
from benchmarks.site import copy_database

SETTINGS = "the same, but KEYWORD_BACKEND=pg_textsearch"


class Searcher(steelyard.Searcher):
    """Starts before the server of the library itself, of whose files it takes a copy."""

    def __init__(self, library: Library, folder: Path) -> None:
        from kbsite import embedded
        from tests.support.textsearch_server import TextsearchPostgres

        os.environ["KEYWORD_BACKEND"] = "pg_textsearch"
        embedded.Postgres = TextsearchPostgres  # type: ignore[misc]  # with the library loaded
        copy = folder / "textsearch"
        build_once(copy, "copied", lambda: _copy(steelyard.site_of(folder), copy))
        super().__init__(library, folder, site=copy)
        _index()


def _copy(site: Path, copy: Path) -> None:
    shutil.rmtree(copy, ignore_errors=True)
    copy_database(site, copy)


def _index() -> None:
    """The index, once: the table of chunks is written anew."""
    from django.core.management import call_command
    from django.db import connection

    from ingestion.lexical import textsearch

    if textsearch.exists():
        return
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE ingestion_chunk")
