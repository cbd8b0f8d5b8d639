"""`manage.py export_collection NAME`: to a ZIP archive, or to a folder that serves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q

from common.audit.models import Kind
from common.audit.trail import record
from ingestion.exporting.writing import export
from ingestion.management import PlainCommand
from ingestion.models import Collection
from search.read_only_server import write_folder


class Command(PlainCommand):
    help = (
        "Write a collection to a ZIP archive that import_collection restores, or with --server to "
        "a folder that serves it, read-only, on another machine."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", metavar="NAME", help="The collection's name or slug.")
        parser.add_argument("file", type=Path, metavar="FILE.zip", nargs="?")
        parser.add_argument("--force", action="store_true", help="Overwrite an existing file.")
        parser.add_argument("--server", type=Path, metavar="DIR", help="Write a server's folder.")

    def handle(self, *args: Any, **options: Any) -> None:
        file, folder = options["file"], options["server"]
        if (folder is None) == (file is None):
            raise CommandError("Give either FILE.zip or --server DIR.")
        collection = _collection(options["collection"])
        target = file or folder
        try:
            if file is not None:
                self._write_archive(collection, file, overwrite=options["force"])
            else:
                self._write_server(collection, folder)
        except OSError as error:
            raise CommandError(f"{target} cannot be written: {error.strerror}.") from None

    def _write_archive(self, collection: Collection, target: Path, *, overwrite: bool) -> None:
        if target.exists() and not overwrite:
            raise CommandError(f"{target} already exists. To overwrite it: --force")
        record(Kind.EXPORTED, subject=collection)
        draft = target.with_name(f"{target.name}.part")
        try:
            with draft.open("wb") as file:
                for piece in export(collection):
                    file.write(piece)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
        self.stdout.write(f"{target}: {target.stat().st_size / 1024 / 1024:,.1f} MB")

    def _write_server(self, collection: Collection, folder: Path) -> None:
        if folder.exists():
            raise CommandError(f"{folder} already exists. Remove it, or choose another.")
        record(Kind.EXPORTED, subject=collection, details={"what": "a server"})
        write_folder(collection, folder.resolve())
        self.stdout.write(f"{folder}: start it with {folder}/serve.sh; see its README.md")


def _collection(name: str) -> Collection:
    rows = Collection.objects.undeleted().filter(Q(name=name) | Q(slug=name))
    collection = rows.filter(name=name).first() or rows.first()
    if collection is None:
        raise CommandError(f"There is no collection “{name}”.")
    return collection
