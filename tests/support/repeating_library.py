"""A library with repetitions, for the tests of grouping: one long document and three copies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from ingestion.models import Visibility
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

HANDOVER = """The handover of a shift begins a quarter of an hour before its end. Whoever leaves
walks the line with whoever comes, names each machine that was stopped, and says what was done
about it. Both sign the book. A machine that was stopped twice within one shift is not started
again until the fitter has looked at it, and the fitter writes the cause beside the time. Spare
parts that were used are counted and ordered on the same day, because the store keeps no more than
two of each. Nobody leaves while the alarm of the furnace is on, not even for a minute, and nobody
answers the telephone during the walk. Valid from {date}. Questions go to the foreman, who keeps
the list of those that may sign."""

_TOPICS = {
    "Furnace": "lining, burner, thermocouple, damper and flame detector",
    "Conveyor": "belt, roller, scraper, gear and emergency rope",
    "Press": "cylinder, ram, light curtain, valve block and die",
    "Kiln": "ring, tyre, girth gear, seal and cooling fan",
    "Crane": "hook, rope drum, limit switch, trolley and brake",
}


def _section(name: str, parts: str) -> str:
    checks = "".join(
        f"In round {number} of the shift the {part.strip()} of the {name.lower()} is looked at "
        f"from both sides and what is found goes into column {number} of the sheet. "
        for number, part in enumerate(parts.replace(" and ", ", ").split(","), 1)
    )
    return f"## {name}\n\nOn every shift the {name.lower()} has its own round. {checks}\n"


def manual() -> str:
    """A document of six passages, each about a shift; the first is the one with copies."""
    sections = "\n".join(_section(name, parts) for name, parts in _TOPICS.items())
    return f"# Shift manual\n\n{HANDOVER.format(date='12 March 2024')}\n\n{sections}"


def edition(title: str, date: str) -> str:
    """A document with the manual's first passage in another edition."""
    return f"# {title}\n\n{HANDOVER.format(date=date)}\n"


@contextmanager
def lasting_repeats(blocker: Any) -> Iterator[SimpleNamespace]:
    """The library for all tests of a module, in a transaction around theirs."""
    with lasting(blocker):
        yield fill()


def fill() -> SimpleNamespace:
    """Create the documents, all searchable, by a short name; `hidden` is for insiders only."""
    works = make_collection("Works")
    archive = make_collection("Archive")
    closed = make_collection("Zanzibar", visibility=Visibility.GROUPS, groups=["insiders"])
    files: dict[str, tuple[Any, str, str]] = {
        "manual": (works, manual(), "manual.md"),
        "older": (archive, edition("Old handover", "1 May 2019"), "older.md"),
        "founder": (archive, edition("Rules of the founder", "30 April 2011"), "founder.md"),
        "hidden": (closed, edition("Zanzibar handover", "2 June 2022"), "zanzibar.md"),
        "other": (works, "# Canteen\n\nThe canteen opens before every shift.\n", "canteen.md"),
    }
    return SimpleNamespace(
        **{
            name: make_document(collection, text, file_name=file_name)
            for name, (collection, text, file_name) in files.items()
        }
    )
