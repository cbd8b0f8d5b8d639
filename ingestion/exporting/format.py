"""The format of an exported collection, and the parts that other applications attach to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import IO, Any, Protocol

from django.utils.dateparse import parse_datetime

from ingestion.intake.importing.protocol import ImportRefused
from ingestion.models import Collection

NAME = "steelyard-collection"
VERSION = 1
MANIFEST = "manifest.json"
DOCUMENTS = "documents.jsonl"
EDITS = "edits.jsonl"
FILES = "files/"

LARGEST_MANIFEST = 1024 * 1024
# A line holds what a person wrote, or the text of one passage.
LONGEST_LINE = 16 * 1024 * 1024

Row = Mapping[str, Any]


def lines(rows: Iterable[Row]) -> Iterator[bytes]:
    """The rows as JSON Lines."""
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read_lines(file: IO[bytes], name: str) -> Iterator[dict[str, Any]]:
    """The rows of JSON Lines. Raises ImportRefused with the line that is none."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise ImportRefused(f"{name}, line {number}: the line is too long for this format.")
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ImportRefused(f"{name}, line {number}: it is no JSON.") from error
        if not isinstance(row, dict):
            raise ImportRefused(f"{name}, line {number}: it is no JSON object.")
        yield row


def read_manifest(data: bytes) -> dict[str, Any]:
    """The manifest, if it is of a version that can be read. Raises ImportRefused."""
    try:
        manifest = json.loads(data)
        name, version = manifest["format"], int(manifest["version"])
        collection = manifest["collection"]
        collection["name"] = str(collection["name"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ImportRefused("Its manifest cannot be read: it is no exported collection.") from error
    if name != NAME:
        raise ImportRefused(f"It is no exported collection, but “{name}”.")
    if version != VERSION:
        raise ImportRefused(
            f"It is of format {version}; this release reads format {VERSION}. Export it again with "
            "this release, or import it with the release that wrote it."
        )
    return dict(manifest)


def moment(text: Any) -> datetime:
    """A moment as the rows state it. Raises ValueError for what is none."""
    found = parse_datetime(str(text))
    if found is None or found.tzinfo is None:
        raise ValueError(f"{text!r} is no moment")
    return found


class Attached(Protocol):
    """One kind of row that goes with a collection; `name` is its file's, without the end."""

    name: str

    def rows(self, collection: Collection) -> Iterable[Row]:
        """What there is to keep, as JSON objects, in an order that can be restored."""

    def restore(self, collection: Collection, row: dict[str, Any]) -> bool:
        """True when the row was made; False when it was there. In the caller's transaction.

        Raises KeyError, TypeError or ValueError for a row that is none of its kind.
        """


_attached: dict[str, Attached] = {}


def attach(part: Attached) -> None:
    """Adds a part to every export from now on."""
    _attached[part.name] = part


def attached() -> list[Attached]:
    """The parts in the order in which they were added, which is that of restoring."""
    return list(_attached.values())
