"""Backups: what they hold, what they add, and what becomes of them when something goes wrong."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.files.storage import FileSystemStorage, default_storage
from django.core.management import CommandError, call_command
from psycopg.conninfo import make_conninfo

from ingestion.documents import purging
from ingestion.models import Collection, Document
from kbsite.backups import database, reading, services, splitting, writing
from kbsite.backups.errors import BackupDamaged, BackupError
from kbsite.backups.keys import Key
from kbsite.backups.listing import FILE, Listing, address, backups
from kbsite.backups.models import BackupRun
from kbsite.backups.store import Store
from tests.backups.conftest import Make, contents, rows
from tests.faults.harness import ROOT, environment
from tests.faults.test_storage import small_disk
from tests.support.factories import upload


def test_a_backup_holds_every_row_and_original(
    make: Make, store: Store, key: Key, files: Path, empty: dict[str, Any],
    elsewhere: FileSystemStorage,
) -> None:  # fmt: skip
    listing = make().listing

    assert reading.find(store, key) == listing
    assert reading.verify(store, key, listing) == 3 + len(listing.dump)
    assert reading.restore(store, key, listing, database=empty, storage=elsewhere) == 3
    assert contents(Path(elsewhere.location)) == contents(files)
    assert rows(empty) == rows(database.parameters())
    # Repeated, as after an interruption: nothing is written twice.
    assert reading.restore(store, key, listing, database=empty, storage=elsewhere) == 0
    assert rows(empty) == rows(database.parameters())


def test_a_restore_that_is_cut_off_changes_no_row_and_can_be_repeated(
    make: Make, store: Store, key: Key, empty: dict[str, Any], elsewhere: FileSystemStorage
) -> None:
    listing = make().listing
    reading.restore(store, key, listing, database=empty, storage=elsewhere)
    before = rows(empty)
    text = b"".join(reading.dump_parts(store, key, listing))

    def cut_off() -> Iterator[bytes]:
        yield text[: len(text) // 2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        database.restore(empty, cut_off())
    assert rows(empty) == before
    with pytest.raises(BackupError, match=r"syntax error.*unchanged"):
        database.restore(empty, [text, b"\nSELEKT 1;\n"])
    assert rows(empty) == before
    database.restore(empty, [text])
    assert rows(empty) == before


def test_a_restore_waits_for_nobody_who_still_uses_the_database(
    make: Make, store: Store, key: Key, empty: dict[str, Any], elsewhere: FileSystemStorage,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    listing = make().listing
    reading.restore(store, key, listing, database=empty, storage=elsewhere)
    monkeypatch.setattr(database, "EMPTIED", database.EMPTIED.replace("10s", "100ms"))
    with psycopg.connect(make_conninfo(**empty)) as reader:
        reader.execute("SELECT count(*) FROM ingestion_document")
        with pytest.raises(BackupError, match="Stop the web servers"):
            reading.restore(store, key, listing, database=empty, storage=elsewhere)


def test_nothing_in_the_store_can_be_read_or_recognised_without_the_key(
    make: Make, place: Path, key: Key, tmp_path: Path
) -> None:
    listing = make().listing
    held = contents(place)
    for piece in listing.files.values():
        assert not any(piece.sha256 in name for name in held)
    assert not any(b"pump" in data or b"handbook" in data.lower() for data in held.values())
    other = Key.create(tmp_path / "other")
    sealed = Store(str(place)).read(address(listing.name, key))
    with pytest.raises(BackupDamaged, match="cannot be decrypted"):
        other.decrypt(sealed)


def test_a_later_backup_adds_only_what_is_new(make: Make, library: Collection) -> None:
    first = make()
    again = make()
    assert first.objects == 3 + len(first.listing.dump)
    # A dump as small as this is one piece, and contains the time at which it was made.
    assert again.objects <= len(again.listing.dump)
    upload(library, b"# Four\n\nThe fourth pump.", file_name="four.md")
    assert make().objects == 1 + len(again.listing.dump)


def test_a_file_that_was_purged_meanwhile_makes_it_take_another_snapshot(
    make: Make, library: Collection, monkeypatch: pytest.MonkeyPatch, store: Store, key: Key,
    empty: dict[str, Any], elsewhere: FileSystemStorage,
) -> None:  # fmt: skip
    taken = []

    def names(self: database.Snapshot) -> set[str]:
        found = database.originals(self.connection)
        if not taken:
            late = upload(library, b"# Late\n\nComes and goes.", file_name="late.md")
            purging.purge([late.version.document], acting_user=None)
            found.add(str(late.version.file.name))
        taken.append(found)
        return found

    monkeypatch.setattr(database.Snapshot, "originals", names)
    listing = make().listing
    assert len(taken) == 2
    assert not listing.missing
    reading.restore(store, key, listing, database=empty, storage=elsewhere)
    assert all(elsewhere.exists(name) for name in listing.files)


def test_an_original_that_the_site_lost_is_named_and_stops_nothing(
    make: Make, library: Collection
) -> None:
    lost, changed = Document.objects.order_by("pk")[:2]
    lost, changed = (str(document.latest.file.name) for document in (lost, changed))
    default_storage.delete(lost)
    Path(default_storage.path(changed)).write_bytes(b"not what it was")
    listing = make().listing
    assert listing.missing == (lost,)
    assert listing.damaged == (changed,)
    assert len(listing.files) == 2
    # It is looked at again the next time, rather than believed.
    assert make().listing.damaged == (changed,)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("what", "harm"),
    [
        ("original", _cut), ("original", _flip), ("original", Path.unlink),
        ("dump", _flip), ("dump", Path.unlink), ("list", _cut),
    ],
)  # fmt: skip
def test_a_damaged_backup_is_noticed_before_anything_is_touched(
    make: Make, store: Store, key: Key, place: Path, harm: Callable[[Path], None], what: str,
    files: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(writing, "REREAD_DAYS", 1)  # every object every time
    good = make().listing
    bad = make().listing
    piece = next(iter(bad.files.values()))
    names = {
        "original": key.name_of(FILE, piece.sha256),
        "dump": key.name_of("dump", bad.dump[0].sha256),
        "list": address(bad.name, key),
    }
    harm(place / names[what])
    before = rows(database.parameters()), contents(files)

    asked = {"place": str(place), "key": str(place.parent / "key"), "overwrite": True}
    with pytest.raises(CommandError, match="damaged"):
        call_command("restore", bad.name, **asked)
    assert (rows(database.parameters()), contents(files)) == before
    # The next one is whole again, by itself.
    reading.verify(store, key, make().listing)
    if what != "original":
        reading.verify(store, key, good)


def test_another_key_is_refused_in_words(make: Make, place: Path, tmp_path: Path) -> None:
    make()
    Key.create(tmp_path / "other")
    for command in ("restore", "backup"):
        argument = {"restore": "place", "backup": "to"}[command]
        with pytest.raises(CommandError, match="holds backups of another key"):
            call_command(command, **{argument: str(place), "key": str(tmp_path / "other")})
    with pytest.raises(CommandError, match="no key of backups"):
        call_command("restore", place=str(place), key=str(tmp_path / "none"))
    (tmp_path / "empty").write_text("nothing\n")
    with pytest.raises(CommandError, match="holds no age key"):
        call_command("restore", place=str(place), key=str(tmp_path / "empty"))


def test_a_site_with_data_is_overwritten_only_if_told(
    make: Make, place: Path, library: Collection, capsys: Any
) -> None:
    made = make()
    before = rows(database.parameters())
    asked = {"place": str(place), "key": str(place.parent / "key")}
    with pytest.raises(CommandError, match="holds data of a site"):
        call_command("restore", **asked)
    upload(library, b"# Four\n\nToo late.", file_name="four.md")
    call_command("restore", overwrite=True, **asked)
    assert rows(database.parameters()) == before
    assert made.listing.name[:8] == capsys.readouterr().out.split("Backup ")[1][:8]


def test_a_backup_of_newer_code_is_refused(make: Make, store: Store, key: Key, place: Path) -> None:
    listing = make().listing
    newer = (*listing.migrations, ("ingestion", "9999_from_the_future"))
    Listing("20990101T000000000000Z", listing.dump, {}, newer, 180000).write(store, key)
    with pytest.raises(CommandError, match=r"newer version of .*9999_from_the_future"):
        call_command("restore", place=str(place), key=str(place.parent / "key"), overwrite=True)


KILLED = """
import os, signal, sys, django
django.setup()
from kbsite.backups.store import Store
put, left = Store.put, [int(sys.argv[1])]
def dying(self, name, content):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    put(self, name, content)
Store.put = dying
from django.core.management import call_command
call_command("backup", to=sys.argv[2], key=sys.argv[3])
"""


def _run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, text=True, capture_output=True, timeout=120, check=False,
        env=environment(DJANGO_SETTINGS_MODULE="kbsite.settings", PYTHONPATH=str(ROOT), **more),
    )  # fmt: skip


def test_a_killed_backup_leaves_the_last_good_one_and_the_next_one_goes_on(
    make: Make, library: Collection, store: Store, key: Key, place: Path, files: Path
) -> None:
    good = make().listing
    for number in range(3):
        upload(library, f"# More {number}".encode(), file_name=f"more{number}.md")
    done = _run(sys.executable, "-c", KILLED, "3", str(place), str(place.parent / "key"),
                FILES_DIR=str(files))  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert backups(store, key) == [good.name]
    reading.verify(store, key, good)
    assert BackupRun.objects.get().state == "running"

    row = services.back_up(key, place=str(place))
    assert row.files == 6
    assert BackupRun.objects.exclude(pk=row.pk).get().error.startswith("It was interrupted")
    reading.verify(store, key, reading.find(store, key))


def test_a_full_disk_is_said_and_the_last_good_backup_stays(
    make: Make, library: Collection, tmp_path: Path, key: Key, files: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    upload(library, os.urandom(1_500_000).hex().encode(), file_name="big.txt")
    prefix = small_disk(disk) or ["prlimit", "--fsize=1000000"]
    done = _run(*prefix, sys.executable, "manage.py", "backup", "--to", str(disk),
                "--key", str(tmp_path / "key"), FILES_DIR=str(files))  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "is full: make room" in done.stderr or "could not be copied" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    row = BackupRun.objects.get()
    assert row.state == "failed"
    assert row.error in done.stderr


def test_a_second_backup_at_once_is_refused(make: Make, key: Key, place: Path) -> None:
    with (
        database.alone(database.parameters()),
        pytest.raises(BackupError, match="running already"),
    ):
        services.back_up(key, place=str(place))


def test_the_pieces_of_a_dump_are_the_dump_and_most_survive_an_edit(tmp_path: Path) -> None:
    lines = [f"{number}\t{number * 7919 % 1000}\tsome text of a passage\n".encode()
             for number in range(40_000)]  # fmt: skip
    edited = [*lines[:20_000], b"one row more\n", *lines[20_001:]]

    def pieces(given: list[bytes]) -> list[bytes]:
        path = tmp_path / "dump"
        path.write_bytes(b"".join(given))
        with path.open("rb") as text:
            return list(splitting.split(text, least=20_000, most=100_000))

    old, new = pieces(lines), pieces(edited)
    assert b"".join(old) == b"".join(lines)
    assert b"".join(new) == b"".join(edited)
    assert all(20_000 <= len(piece) <= 100_000 for piece in old[:-1])
    assert len(old) > 30
    assert len(set(new) - set(old)) <= 2


def test_a_line_longer_than_any_piece_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_bytes(b"a\n" + b"x" * 1_000 + b"\nb\n")
    with path.open("rb") as text:
        found = list(splitting.split(text, least=50, most=300))
    assert b"".join(found) == path.read_bytes()
    assert max(map(len, found)) == 300


def test_age_and_gunzip_read_a_list_without_steelyard(make: Make, store: Store, key: Key) -> None:
    """What docs/backup.md says of reading a backup by hand."""
    listing = make().listing
    whole = key.decrypt(store.read(address(listing.name, key)))
    assert listing.name.encode() in gzip.decompress(whole[32:])


def test_writing_does_not_need_the_django_tables_of_backups(make: Make) -> None:
    """The first backup of a site from before backups: its table does not exist yet."""
    assert isinstance(make(), writing.Made)
    assert not BackupRun.objects.exists()
