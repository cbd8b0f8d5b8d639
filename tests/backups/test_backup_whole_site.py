"""Everything is destroyed and restored: every table, every file and fifty searches are the same."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from django.db import connection

from kbsite.backups import database
from kbsite.backups.services import last_backup
from search.pipeline import search
from tests.backups.conftest import contents, rows
from tests.faults.harness import ROOT, environment
from tests.upgrades import release

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("clean_cache")]

SEARCHES = """
import json, sys, django
django.setup()
from tests.backups.test_backup_whole_site import results
print(json.dumps(results(json.loads(sys.argv[1]))))
"""
# The row of the backup itself is running while it is made, and done afterwards.
ITS_OWN = "backups_backuprun"


def results(questions: list[str]) -> list[list[Any]]:
    """Titles, passages and scores of some searches by anybody."""
    return [
        [
            [found.title, found.chunk, round(found.hit.score, 6)]
            for found in search(question, viewer=AnonymousUser()).results
        ]
        for question in questions
    ]


def fifty_questions() -> list[str]:
    """Fifty different pairs of neighbouring words of the documents, one in quotes now and then."""
    words = re.findall(r"[A-Za-z]\w+", " ".join(release.DOCUMENTS.values()))
    pairs = dict.fromkeys(f"{one} {two}" for one, two in pairwise(words))
    return [f'"{pair}"' if number % 7 == 0 else pair for number, pair in enumerate(pairs)][:50]


def test_a_site_that_was_destroyed_is_restored_as_it_was(
    tmp_path: Path, files: Path, empty: dict[str, Any], capsys: Any
) -> None:
    release.fill()
    questions = fifty_questions()
    assert len(set(questions)) == 50
    then = results(questions)
    assert sum(map(bool, then)) > 40
    place, key = tmp_path / "backups", tmp_path / "key"
    call_command("backup", to=str(place), key=str(key))
    said = capsys.readouterr().out
    assert "keep a copy on another machine" in said
    assert "Verified." in said
    assert key.stat().st_mode & 0o777 == 0o600
    assert (last := last_backup()) is not None
    assert not last.is_late
    before = rows(database.parameters())

    def run(*arguments: str) -> str:
        """What a command prints on another machine: no row, no file, only the code and the key."""
        host = quote(connection.settings_dict["HOST"])
        url = f"postgres://{empty['user']}@/{empty['dbname']}?host={host}"
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT, text=True, capture_output=True, timeout=300, check=False,
            env=environment(
                DATABASE_URL=f"{url}&port={connection.settings_dict['PORT']}",
                FILES_DIR=str(tmp_path / "new"), DJANGO_SETTINGS_MODULE="kbsite.settings",
                PYTHONPATH=str(ROOT),
            ),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "migrated" in run("manage.py", "restore", "--from", str(place), "--key", str(key))
    restored = rows(empty)
    assert restored.pop(ITS_OWN) == []
    before.pop(ITS_OWN)
    assert restored.keys() == before.keys()
    for table, held in before.items():
        assert restored[table] == held, table
    assert contents(tmp_path / "new") == contents(files)
    assert json.loads(run("-c", SEARCHES, json.dumps(questions))) == json.loads(json.dumps(then))
