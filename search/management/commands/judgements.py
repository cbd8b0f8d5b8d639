"""`manage.py judgements`: import and export golden queries and judgements."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from common.accounts.models import User
from ingestion.management import PlainCommand
from search.tuning import golden_import_export as exchange
from search.tuning.golden_file_formats import FORMATS


class Command(PlainCommand):
    help = "Import and export golden queries and their judgements."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        read = actions.add_parser("import", help="Import judgements from a file.")
        read.add_argument("file", type=Path)
        read.add_argument("--queries", type=Path, help="BEIR's queries.jsonl, for a qrels.tsv.")
        read.add_argument("--judge", default="", help="The judge, if the file names none.")
        write = actions.add_parser("export", help="Export all judgements to a file.")
        write.add_argument("file", type=Path)
        for action in (read, write):
            action.add_argument("--format", choices=list(FORMATS), required=True)
            action.add_argument("--user", help="Only what this user may see (default: everything).")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._import(options) if options["action"] == "import" else self._export(options)
        except OSError as error:
            raise CommandError(str(error)) from error

    def _import(self, options: dict[str, Any]) -> None:
        queries: Path | None = options["queries"]
        done = exchange.import_file(
            options["format"],
            options["file"].read_bytes(),
            queries=queries.read_bytes() if queries else None,
            judge=options["judge"],
            acting_user=_user(options["user"]),
        )
        for problem in done.problems:
            self.stderr.write(str(problem))
        self.stdout.write(
            f"{done.judgements} judgements and {done.queries} golden queries are new; "
            f"{done.unchanged} existed; {len(done.problems)} lines were refused."
        )

    def _export(self, options: dict[str, Any]) -> None:
        viewer = _user(options["user"]) or User(username="export", is_superuser=True)
        _, content = exchange.export(options["format"], viewer=viewer)
        options["file"].write_bytes(content)
        self.stdout.write(f"Written to {options['file']}.")


def _user(name: str | None) -> User | None:
    if not name:
        return None
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"There is no user {name!r}.")
    return user
