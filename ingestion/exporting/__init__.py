"""Export a collection as one file, and restore it.

format    -> the layout of the ZIP, its versions, and the parts that other apps attach
writing   -> collection -> stream of bytes, in constant memory
restoring -> archive -> collection; document by document, so that it can be resumed
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import IO, Any, Protocol

from django.db.models import QuerySet
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.intake.import_protocol import ImportRefused
from ingestion.models import Collection, Document

NAME = "steelyard-collection"
VERSION = 1
# Version with restricted documents: older releases would show these to all readers.
WITH_READERS = 2
MANIFEST = "manifest.json"
DOCUMENTS = "documents.jsonl"
EDITS = "edits.jsonl"
FILES = "files/"

LARGEST_MANIFEST = 1024 * 1024
# A line contains one row: the longest is a hand edit with the text of a passage.
LONGEST_LINE = 16 * 1024 * 1024

Row = Mapping[str, Any]


def lines(rows: Iterable[Row]) -> Iterator[bytes]:
    """The rows as JSON Lines."""
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read_lines(file: IO[bytes], name: str) -> Iterator[dict[str, Any]]:
    """The rows of JSON Lines. Raises ImportRefused with the number of an invalid line."""
    number = 0

    def refused(text: str) -> ImportRefused:
        return ImportRefused(text % {"name": name, "number": number})

    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            text = gettext("%(name)s, line %(number)d: the line is too long for this format.")
            raise refused(text)
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise refused(gettext("%(name)s, line %(number)d: not valid JSON.")) from error
        if not isinstance(row, dict):
            raise refused(gettext("%(name)s, line %(number)d: not a JSON object."))
        yield row


def read_manifest(data: bytes) -> dict[str, Any]:
    """The manifest. Raises ImportRefused if it is invalid or of another version."""
    try:
        manifest = json.loads(data)
        name, version = manifest["format"], int(manifest["version"])
        collection = manifest["collection"]
        collection["name"] = str(collection["name"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ImportRefused(
            gettext("The manifest cannot be read: the archive is not an exported collection.")
        ) from error
    if name != NAME:
        raise ImportRefused(
            gettext("The archive is not an exported collection but “%(name)s”.") % {"name": name}
        )
    if version not in (VERSION, WITH_READERS):
        raise ImportRefused(
            gettext(
                "The archive has format %(version)d; this release supports format %(supported)d. "
                "Export the collection again with this release, or import the archive with the "
                "release that wrote it."
            )
            % {"version": version, "supported": WITH_READERS}
        )
    return dict(manifest)


def moment(text: Any) -> datetime:
    """The datetime of a row's timestamp. Raises ValueError if it is invalid or has no time zone."""
    timestamp = parse_datetime(str(text))
    if timestamp is None or timestamp.tzinfo is None:
        raise ValueError(f"{text!r} is not a timestamp")
    return timestamp


def currency(stated: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a document's currency except its successor; people by their user names."""
    days = {"valid_from", "valid_until", "review_by", "reviewed"} & stated.keys()
    fields: dict[str, Any] = {name: date.fromisoformat(stated[name]) for name in days}
    for name in {"owner", "reviewed_by"} & stated.keys():
        fields[name] = User.objects.filter(username=stated[name]).first()
    return fields


Documents = QuerySet[Document]


class Attached(Protocol):
    """A kind of row that belongs to a collection; `name` is that of its file, without suffix."""

    name: str

    def rows(self, collection: Collection, documents: Documents, reader: Any) -> Iterable[Row]:
        """The rows to export as JSON objects, in an order that can be restored.

        `documents` are those of the collection that are exported, `reader` is who gets them; None:
        somebody who sees all.
        """

    def restore(self, collection: Collection, row: dict[str, Any]) -> bool:
        """Create the row in the caller's transaction; return False if it existed.

        Raises KeyError, TypeError or ValueError for an invalid row.
        """


_attached: dict[str, Attached] = {}


def attach(part: Attached) -> None:
    """Register a part of all exports."""
    _attached[part.name] = part


def attached() -> list[Attached]:
    """The parts in the order of registration, in which they are restored."""
    return list(_attached.values())
