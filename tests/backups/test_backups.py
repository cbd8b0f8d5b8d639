"""Snapshots: what they hold, and what becomes of them when something goes wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.checks import run_checks
from django.core.files.storage import FileSystemStorage, default_storage
from django.core.management import CommandError, call_command
from django.db import connection
from psycopg.conninfo import make_conninfo

from ingestion.documents import purging
from ingestion.models import Collection, Document
from kbsite.operations import backups, dumps
from kbsite.operations.backups import FILES, LIST, Snapshot
from kbsite.operations.dumps import BackupError
from search.pipeline import search
from tests.backups.conftest import contents, rows
from tests.faults.harness import ROOT, environment
from tests.faults.test_intake import small_disk
from tests.support.factories import upload
from tests.support.programs import needs
from tests.upgrades import release


def back_up(folder: Path) -> Snapshot:
    return backups.write(folder, database=dumps.parameters(), storage=default_storage)


def restore(folder: Path, into: dict[str, Any], storage: FileSystemStorage) -> int:
    snapshot = Snapshot.read(folder)
    backups.verify(folder, snapshot)
    return backups.restore(folder, snapshot, database=into, storage=storage)


def test_a_snapshot_holds_every_row_and_original(
    library: Collection, folder: Path, files: Path, empty: dict[str, Any],
    elsewhere: FileSystemStorage,
) -> None:  # fmt: skip
    snapshot = back_up(folder)
    assert snapshot == Snapshot.read(folder)
    assert contents(folder / FILES) == contents(files)
    assert restore(folder, empty, elsewhere) == 3
    assert contents(Path(elsewhere.location)) == contents(files)
    assert rows(empty) == rows(dumps.parameters())
    # Repeated, as after an interruption: no original is written twice.
    assert restore(folder, empty, elsewhere) == 0
    assert rows(empty) == rows(dumps.parameters())


def test_next_snapshot_copies_only_new_or_damaged_originals(
    library: Collection, folder: Path
) -> None:
    back_up(folder)
    copies = {
        path: path.stat().st_mtime_ns for path in (folder / FILES).rglob("*") if path.is_file()
    }
    damaged = next(iter(copies))
    damaged.write_bytes(b"flipped")
    new = upload(library, b"# Four\n\nThe fourth pump.", file_name="four.md")
    gone = Document.objects.order_by("pk").exclude(versions__file__endswith=damaged.name)[0]
    gone_name = str(gone.latest.file.name)
    purging.purge([gone])
    snapshot = back_up(folder)

    assert new.version.file.name in snapshot.originals
    assert gone_name not in snapshot.originals
    assert not (folder / FILES / gone_name).exists(), "What people purge leaves the folder."
    assert [path.name for path in folder.glob("*.dump")] == [snapshot.dump]
    backups.verify(folder, snapshot)
    kept = [path for path in copies if path.exists() and path != damaged]
    assert kept
    assert all(path.stat().st_mtime_ns == copies[path] for path in kept)


def test_a_restore_that_is_cut_off_changes_no_row_and_can_be_repeated(
    library: Collection, folder: Path, empty: dict[str, Any], elsewhere: FileSystemStorage
) -> None:
    dump = folder / back_up(folder).dump
    restore(folder, empty, elsewhere)
    before, whole = rows(empty), dump.read_bytes()
    dump.write_bytes(whole[: len(whole) * 9 // 10])
    with pytest.raises(BackupError, match="unchanged"):
        dumps.restore(empty, dump)
    assert rows(empty) == before
    dump.write_bytes(whole)
    dumps.restore(empty, dump)
    assert rows(empty) == before


def test_a_restore_waits_for_nobody_who_still_uses_the_database(
    library: Collection, folder: Path, empty: dict[str, Any], elsewhere: FileSystemStorage,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    back_up(folder)
    restore(folder, empty, elsewhere)
    statements = dumps.EMPTY_SCHEMA.replace("10s", "100ms")
    monkeypatch.setattr(dumps, "EMPTY_SCHEMA", statements)
    with psycopg.connect(make_conninfo(**empty)) as reader:
        reader.execute("SELECT count(*) FROM ingestion_document")
        with pytest.raises(BackupError, match="Stop the web servers"):
            restore(folder, empty, elsewhere)


def test_file_purged_during_a_backup_makes_the_backup_start_again(
    library: Collection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, taken = dumps.ExportedSnapshot.originals, []

    def names(self: dumps.ExportedSnapshot) -> set[str]:
        found = real(self)
        taken.append(found)
        if len(taken) == 2:
            late = upload(library, b"# Late\n\nComes and goes.", file_name="late.md")
            purging.purge([late.version.document])
            found.add(str(late.version.file.name))
        return found

    monkeypatch.setattr(dumps.ExportedSnapshot, "originals", names)
    assert back_up(folder).missing == []
    assert len(taken) == 3


def test_an_original_that_the_site_lost_is_named_and_stops_nothing(
    library: Collection, folder: Path, capsys: Any
) -> None:
    lost, changed = Document.objects.order_by("pk")[:2]
    lost, changed = (str(document.latest.file.name) for document in (lost, changed))
    default_storage.delete(lost)
    Path(default_storage.path(changed)).write_bytes(b"not what it was")
    for _ in range(2):  # it is looked at again the next time, rather than believed
        call_command("backup", str(folder))
        snapshot = Snapshot.read(folder)
        assert (snapshot.missing, snapshot.damaged) == ([lost], [changed])
        assert len(snapshot.originals) == 2
    printed = capsys.readouterr().err
    assert lost in printed
    assert changed in printed


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("pattern", "harm", "words"),
    [
        (f"{FILES}/*/*/*", _flip, "damaged"), (f"{FILES}/*/*/*", Path.unlink, "damaged"),
        ("*.dump", _cut, "damaged"), ("*.dump", Path.unlink, "damaged"),
        (LIST, _cut, "cannot be read"), (LIST, Path.unlink, "holds no snapshot"),
    ],
)  # fmt: skip
def test_a_damaged_snapshot_is_noticed_before_anything_is_touched(
    library: Collection, folder: Path, pattern: str, harm: Callable[[Path], None], words: str,
    files: Path,
) -> None:  # fmt: skip
    back_up(folder)
    harm(next(folder.glob(pattern)))
    before = rows(dumps.parameters()), contents(files)
    for option in ({"overwrite": True}, {"verify": True}):
        with pytest.raises(CommandError, match=words):
            call_command("restore", str(folder), **option)
    assert (rows(dumps.parameters()), contents(files)) == before


def test_a_site_with_data_is_overwritten_only_on_request(library: Collection, folder: Path) -> None:
    back_up(folder)
    before = rows(dumps.parameters())
    with pytest.raises(CommandError, match="holds data of a site"):
        call_command("restore", str(folder))
    upload(library, b"# Four\n\nToo late.", file_name="four.md")
    call_command("restore", str(folder), overwrite=True)
    assert rows(dumps.parameters()) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"migrations": [["ingestion", "9999_of_the_future"]]}, r"newer version.*9999_of_the_futu"),
        ({"dump": "../../etc/passwd"}, "outside the folder"),
        ({"format": 2}, "format 2"),
    ],
)
def test_a_list_that_this_version_cannot_restore_is_refused(
    library: Collection, folder: Path, change: dict[str, Any], words: str
) -> None:
    back_up(folder)
    content = json.loads((folder / LIST).read_text()) | change
    (folder / LIST).write_text(json.dumps(content))
    with pytest.raises(CommandError, match=words):
        call_command("restore", str(folder), overwrite=True)


def test_a_folder_with_other_files_is_left_alone(library: Collection, folder: Path) -> None:
    folder.mkdir()
    (folder / "thesis.odt").touch()
    with pytest.raises(CommandError, match=r"other files \(thesis"):
        call_command("backup", str(folder))
    with pytest.raises(CommandError, match="Give a folder"):
        call_command("backup")


KILLED = """
import os, signal, sys, django
django.setup()
from kbsite.operations import backups
if sys.argv[1] == "list":
    backups.Snapshot.write = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
else:
    copy, left = backups.Copies._copy, [2]
    def dying(self, name):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return copy(self, name)
    backups.Copies._copy = dying
from django.core.management import call_command
call_command("backup", sys.argv[2])
"""


def _run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, text=True, capture_output=True, timeout=120, check=False,
        env=environment(DJANGO_SETTINGS_MODULE="kbsite.settings", PYTHONPATH=str(ROOT), **more),
    )  # fmt: skip


@pytest.mark.parametrize("moment", ["copies", "list"])
def test_killed_backup_keeps_the_last_snapshot_and_the_next_backup_continues(
    library: Collection, folder: Path, files: Path, moment: str
) -> None:
    first = _run(sys.executable, "-c", KILLED, moment, str(folder), FILES_DIR=str(files))
    assert first.returncode == -signal.SIGKILL, first.stderr
    with pytest.raises(BackupError, match="holds no snapshot"):
        Snapshot.read(folder)

    good = back_up(folder)
    for number in range(3):
        upload(library, f"# More {number}".encode(), file_name=f"more{number}.md")
    done = _run(sys.executable, "-c", KILLED, moment, str(folder), FILES_DIR=str(files))
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert Snapshot.read(folder) == good
    backups.verify(folder, good)

    snapshot = back_up(folder)
    assert len(snapshot.originals) == 6
    backups.verify(folder, snapshot)
    expected = {LIST, snapshot.dump, *(f"{FILES}/{name}" for name in snapshot.originals)}
    assert contents(folder).keys() == expected


def test_full_disk_is_reported_and_the_last_snapshot_stays(
    library: Collection, tmp_path: Path, files: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    upload(library, os.urandom(1_500_000).hex().encode(), file_name="big.txt")
    prefix = small_disk(disk) or ["prlimit", "--fsize=1000000"]
    done = _run(*prefix, sys.executable, "manage.py", "backup", str(disk), FILES_DIR=str(files))
    assert done.returncode == 1, done.stderr
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_second_backup_at_once_is_refused(library: Collection, folder: Path) -> None:
    with dumps.alone(dumps.parameters()), pytest.raises(CommandError, match="running already"):
        call_command("backup", str(folder))


def test_checks_and_health_report_the_age_of_the_last_backup(
    library: Collection, folder: Path, settings: Any
) -> None:
    def warnings() -> set[str]:
        found = {str(each.id) for each in run_checks(include_deployment_checks=True)}
        return found & {"steelyard.W030", "steelyard.W033"}

    assert warnings() == {"steelyard.W030"}
    settings.BACKUP_FOLDER = backups.ELSEWHERE
    assert warnings() == set()
    settings.BACKUP_FOLDER = str(folder)
    assert warnings() == {"steelyard.W033"}
    call_command("backup")
    assert warnings() == set()
    assert folder.stat().st_mode & 0o777 == 0o700
    content = json.loads((folder / LIST).read_text())
    content["made"] = (datetime.now(UTC) - timedelta(hours=37)).isoformat()
    (folder / LIST).write_text(json.dumps(content))
    assert warnings() == {"steelyard.W033"}


@needs("restic")
def test_restic_encrypts_and_restores_the_backup_folder(
    library: Collection, folder: Path, tmp_path: Path, empty: dict[str, Any],
    elsewhere: FileSystemStorage, files: Path,
) -> None:  # fmt: skip
    """The commands of docs/backup.md."""
    (tmp_path / "password").write_text("correct horse\n")
    repository = tmp_path / "repository"
    variables = os.environ | {
        "RESTIC_REPOSITORY": str(repository), "RESTIC_PASSWORD_FILE": str(tmp_path / "password"),
        "RESTIC_CACHE_DIR": str(tmp_path / "cache"),
    }  # fmt: skip

    def restic(*arguments: str, cwd: Path = folder) -> str:
        command = ["restic", *arguments]
        done = subprocess.run(
            command, cwd=cwd, env=variables, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    folder.mkdir()
    restic("init")
    for number in range(2):
        upload(library, f"# Valve {number}".encode(), file_name=f"valve{number}.md")
        back_up(folder)
        restic("backup", ".")
        restic("forget", "--prune", "--keep-daily=14", "--keep-weekly=8")
    restic("check", "--read-data-subset=1/14")
    assert not any(b"pump" in data for data in contents(repository).values())
    assert len(json.loads(restic("snapshots", "--json"))) == 1

    (tmp_path / "back").mkdir()
    restic("restore", "latest", "--target", str(tmp_path / "back"))
    assert contents(tmp_path / "back") == contents(folder)
    assert restore(tmp_path / "back", empty, elsewhere) == 5
    assert rows(empty) == rows(dumps.parameters())


SEARCHES = """
import json, sys, django
django.setup()
from tests.backups.test_backups import results
print(json.dumps(results(json.loads(sys.argv[1]))))
"""


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


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("clean_cache")
def test_a_site_that_was_destroyed_is_restored_as_it_was(
    tmp_path: Path, folder: Path, files: Path, empty: dict[str, Any]
) -> None:
    release.fill()
    questions = fifty_questions()
    then = results(questions)
    assert sum(map(bool, then)) > 40
    call_command("backup", str(folder))
    before = rows(dumps.parameters())

    def run(*arguments: str) -> str:
        """What a command prints on another machine: no row, no file, only the code."""
        host = quote(connection.settings_dict["HOST"])
        url = f"postgres://{empty['user']}@/{empty['dbname']}?host={host}"
        done = _run(
            sys.executable, *arguments, FILES_DIR=str(tmp_path / "new"),
            DATABASE_URL=f"{url}&port={connection.settings_dict['PORT']}",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "migrated" in run("manage.py", "restore", str(folder))
    assert rows(empty) == before
    assert contents(tmp_path / "new") == contents(files)
    assert json.loads(run("-c", SEARCHES, json.dumps(questions))) == json.loads(json.dumps(then))
