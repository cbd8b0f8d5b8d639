"""What a look through a folder found, beside what was known: pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ingestion.walking import Seen


@dataclass(frozen=True, slots=True)
class Known:
    """A file as the last look left it. `open`: it is still to be taken in."""

    path: str
    size: int
    mtime_ns: int
    open: bool
    missing: bool


@dataclass(slots=True)
class Differences:
    """Paths by what is to be done about them; each stands in one list.

    `new` and `changed` wait until they stand still; `due` did, and are to be taken in; `gone`
    were there at the last look; `still_gone` were missing already; `back` are there again.
    """

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    due: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    still_gone: list[str] = field(default_factory=list)
    same: int = 0


def compare(
    known: Mapping[str, Known], seen: Mapping[str, Seen], unknown: Iterable[str]
) -> Differences:
    """The differences; of what lies at or below a path in `unknown` nothing is said."""
    found = Differences()
    for path, file in seen.items():
        before = known.get(path)
        if before is None:
            found.new.append(path)
        elif (before.size, before.mtime_ns) != (file.size, file.mtime_ns):
            found.changed.append(path)
        elif before.open:
            found.due.append(path)
        elif before.missing:
            found.back.append(path)
        else:
            found.same += 1
    hidden = tuple(unknown)
    for path, before in known.items():
        if path in seen or any(path == one or path.startswith(f"{one}/") for one in hidden):
            continue
        (found.still_gone if before.missing else found.gone).append(path)
    return found
