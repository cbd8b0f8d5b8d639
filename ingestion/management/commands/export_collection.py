"""`manage.py export_collection NAME FILE.zip`: export files, edits and judgements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q

from common.audit.models import Kind
from common.audit.recording import record
from ingestion.errors import IngestionError
from ingestion.exporting.writing import export
from ingestion.models import Collection


class Command(BaseCommand):
    help = "Write a collection to a ZIP archive that import_collection restores."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", metavar="NAME", help="The collection's name or slug.")
        parser.add_argument("file", type=Path, metavar="FILE.zip")
        parser.add_argument("--force", action="store_true", help="Overwrite an existing file.")

    def handle(self, *args: Any, **options: Any) -> None:
        name, target = options["collection"], options["file"]
        found = Collection.objects.kept().filter(Q(name=name) | Q(slug=name))
        collection = found.filter(name=name).first() or found.first()
        if collection is None:
            raise CommandError(f"There is no collection “{name}”.")
        if target.exists() and not options["force"]:
            raise CommandError(f"{target} already exists. To overwrite it: --force")
        record(Kind.EXPORTED, subject=collection)
        draft = target.with_name(f"{target.name}.part")
        try:
            with draft.open("wb") as file:
                for piece in export(collection):
                    file.write(piece)
            draft.replace(target)
        except IngestionError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{target} cannot be written: {error.strerror}.") from None
        finally:
            draft.unlink(missing_ok=True)
        self.stdout.write(f"{target}: {target.stat().st_size / 1024 / 1024:,.1f} MB")
