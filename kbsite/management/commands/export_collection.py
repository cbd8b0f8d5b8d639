"""`manage.py export_collection`, with `--server` for a folder that serves the collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q

from common.audit.models import Kind
from common.audit.recording import record
from ingestion.errors import IngestionError
from ingestion.management.commands import export_collection
from ingestion.models import Collection
from kbsite.exported.folder import write_folder


class Command(export_collection.Command):
    help = (
        "Write a collection to a ZIP archive that import_collection restores, or with --server to "
        "a folder that serves it, read-only, on another machine."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        # The archive's path is not asked for with --server.
        for action in parser._actions:
            if action.dest == "file":
                action.nargs = "?"
                action.required = False
        parser.add_argument("--server", type=Path, metavar="DIR", help="Write a server's folder.")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path | None = options["server"]
        if (folder is None) == (options["file"] is None):
            raise CommandError("Give either FILE.zip or --server DIR.")
        if folder is None:
            super().handle(*args, **options)
            return
        name = options["collection"]
        found = Collection.objects.kept().filter(Q(name=name) | Q(slug=name))
        collection = found.filter(name=name).first() or found.first()
        if collection is None:
            raise CommandError(f"There is no collection “{name}”.")
        if folder.exists():
            raise CommandError(f"{folder} already exists. Remove it, or choose another.")
        record(Kind.EXPORTED, subject=collection, details={"what": "a server"})
        try:
            write_folder(collection, folder.resolve())
        except IngestionError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{folder} cannot be written: {error.strerror}.") from None
        self.stdout.write(f"{folder}: start it with {folder}/serve.sh; see its README.md")
