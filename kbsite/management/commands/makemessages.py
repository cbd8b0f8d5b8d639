"""`manage.py makemessages -l xx`: write the strings of readers' pages into a catalogue."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import makemessages

from kbsite.layout import BASE_DIR

# Calls whose argument at this place is a text for readers, in code that knows no Django.
MARKERS = {"FileType": 3} | dict.fromkeys(("InvalidFilter", "EmptyQuestion", "QueryTooLong"), 1)


def is_for_readers(path: str) -> bool:
    """Whether the strings of this file (a path in the project) can appear on readers' pages."""
    lines = (BASE_DIR / "locale/readers.txt").read_text().splitlines()
    rules = [line for line in lines if path.startswith(line.removeprefix("- "))]
    return not max(rules, key=len, default="-").startswith("-")


class Command(makemessages.Command):
    keywords = [f"--keyword={name}:{place}" for name, place in MARKERS.items()]
    xgettext_options = makemessages.Command.xgettext_options + keywords

    def find_files(self, root: str) -> list[Any]:
        files = super().find_files(root)
        return [file for file in files if is_for_readers(file.path.removeprefix("./"))]
