"""`manage.py judgements`: import, export and generate golden queries and judgements."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from common.accounts.models import User
from search.errors import JudgementError, NotPermitted
from search.tuning.golden import exchange, from_clicks, synthetic
from search.tuning.golden.formats import FORMATS


class Command(BaseCommand):
    help = "Import, export and generate golden queries and their judgements."

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
        generator = actions.add_parser(
            "synthetic", help="Generate queries from headings and sentences."
        )
        generator.add_argument("--count", type=int, default=synthetic.COUNT)
        generator.add_argument("--seed", type=int, default=1, help="Seed of the random sample.")
        generator.add_argument("--user", help="Only from what this user may read.")
        generator.add_argument(
            "--remove", action="store_true", help="Remove all synthetic queries."
        )
        clicks = actions.add_parser("clicks", help="Derive judgements from clicks.")
        clicks.add_argument("--user", required=True, help="Only from what this user may read.")
        clicks.add_argument("--take-back", action="store_true", help="Remove these judgements.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            match options["action"]:
                case "import":
                    self._import(options)
                case "export":
                    self._export(options)
                case "synthetic":
                    self._synthetic(options)
                case "clicks":
                    self._clicks(options)
        except (JudgementError, NotPermitted, OSError) as error:
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
        export = exchange.export(options["format"], viewer=viewer)
        options["file"].write_bytes(export.content)
        self.stdout.write(f"Written to {options['file']}.")

    def _synthetic(self, options: dict[str, Any]) -> None:
        user = _user(options["user"])
        if options["remove"]:
            self.stdout.write(f"{synthetic.remove(acting_user=user)} synthetic queries removed.")
            return
        outcome = synthetic.make(options["count"], seed=options["seed"], acting_user=user)
        self.stdout.write(
            f"{outcome.queries} synthetic queries are new; {outcome.already} existed."
        )

    def _clicks(self, options: dict[str, Any]) -> None:
        if options["take_back"]:
            self.stdout.write(f"{from_clicks.take_back()} judgements removed.")
            return
        user = _user(options["user"])
        assert user is not None  # the option is required
        judged = from_clicks.learn(acting_user=user)
        self.stdout.write(f"{judged} documents were judged from clicks.")


def _user(name: str | None) -> User | None:
    if not name:
        return None
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"There is no user {name!r}.")
    return user
