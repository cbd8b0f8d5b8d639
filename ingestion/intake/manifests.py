"""Manifests (CSV, JSON Lines): files and addresses with their metadata."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.utils.translation import gettext

from ingestion.currency_dates import KEYS, values_of
from ingestion.errors import InvalidMetadata
from ingestion.intake.import_archives import local_file
from ingestion.intake.import_folders import allowed, opened
from ingestion.intake.import_protocol import (
    METADATA,
    STATED,
    ImportRefused,
    ImportSource,
    ItemDraft,
    ItemFile,
    Skip,
)
from ingestion.intake.import_web import UrlSource
from ingestion.lexical.languages import primary_code
from ingestion.metadata import as_key, check_metadata, read_value
from ingestion.models import Document, Import, ImportItem

BASE = "base"
"""The option with the base folder of a command's relative paths."""

OWN = ("path", "url", "title", "language", "collection", "metadata")
NAMED = {*OWN, *KEYS} - {"owner"}  # which stays metadata, as in lists of 0.1.0
LONGEST_TITLE = Document._meta.get_field("title").max_length or 500
LONGEST_LINE = 1_000_000


class ManifestSource(ImportSource):
    """The files and addresses listed in a manifest."""

    def check(self) -> None:
        with _text(self.of) as file:
            if next(_rows(file), None) is None:
                raise ImportRefused(
                    gettext("The manifest has no entries. Check that it is the right file.")
                )

    def discover(self) -> Iterator[ItemDraft]:
        lines: dict[str, int] = {}
        with _text(self.of) as file:
            for number, row in _rows(file):
                item = _item_of_line(number, row)
                first = lines.setdefault(item.reference, number)
                if first != number:
                    error = gettext("Line %(number)s names the document of line %(first)s.") % {
                        "number": number,
                        "first": first,
                    }
                    item = ItemDraft(f"line {number}", metadata={"error": error})
                yield item

    @contextmanager
    def take(self, item: ImportItem) -> Iterator[ItemFile]:
        metadata = item.metadata
        with self._opened(item) as file:
            yield replace(
                file,
                title=metadata.get("title") or file.title,
                language=metadata.get("language") or file.language,
                metadata=metadata.get(METADATA),
                stated=metadata.get(STATED),
                items=(),
            )

    def _opened(self, item: ImportItem) -> AbstractContextManager[ItemFile]:
        if item.metadata.get("url"):
            return UrlSource(self.of).take(item)
        path = Path(item.reference)
        if base := self.of.options.get(BASE):
            path = Path(base, path)
        elif not path.is_absolute():
            raise ImportRefused(gettext("Enter the full path, beginning with /."))
        file = allowed(self.of, path)
        if not file.exists():  # `opened` would report it as deleted, which is not known
            raise Skip(
                gettext("There is no file at this path. Correct the line if there should be one.")
            )
        return opened(file.parent, file.name)


@contextmanager
def _text(of: Import) -> Iterator[IO[str]]:
    with local_file(of) as path:
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                yield file
        except UnicodeDecodeError as error:
            raise ImportRefused(
                gettext("The manifest is not in UTF-8. Save it as UTF-8.")
            ) from error


def _rows(file: IO[str]) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    """Each line's number with its values, or with an error message."""
    head = file.read(1)
    while head.isspace():
        head = file.read(1)
    file.seek(0)
    yield from _json_rows(file) if head == "{" else _csv_rows(file)


def _json_rows(file: IO[str]) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise ImportRefused(
                gettext("Line %(number)s is longer than %(longest_line)s characters.")
                % {"number": number, "longest_line": f"{LONGEST_LINE:,}"}
            )
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, gettext("it is not valid JSON: %(error)s") % {"error": error}
        else:
            yield number, row if isinstance(row, dict) else gettext("it is not a JSON object: {…}")


def _csv_rows(file: IO[str]) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    header = file.readline(LONGEST_LINE)
    delimiter = max(",;\t", key=header.count)
    names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter), [])]
    if not {"path", "url"} & set(names):
        raise ImportRefused(
            gettext(
                "The manifest's first line names no column “path” or “url”. Write the names "
                "of the columns there: path, url, title, language, collection, metadata."
            )
        )
    if len(set(names)) < len(names):
        raise ImportRefused(gettext("The manifest's first line names a column twice."))
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 2  # after the header, from 1
        try:
            values = next(reader, None)
        except csv.Error as error:
            yield number, gettext("it is not valid CSV: %(error)s") % {"error": error}
            continue
        if values is None:
            return
        if not any(value.strip() for value in values):
            continue
        if len(values) > len(names):
            yield (
                number,
                gettext("it has %(values)d values for %(columns)d columns")
                % {"values": len(values), "columns": len(names)},
            )
        else:
            yield (
                number,
                {
                    name: value.strip() if name in OWN else read_value(value)
                    for name, value in zip(names, values, strict=False)
                },
            )


def _item_of_line(number: int, row: Mapping[str, Any] | str) -> ItemDraft:
    """The item of a line; an invalid line becomes an item that fails with the reason."""
    try:
        if isinstance(row, str):
            raise ValueError(row)
        return _item(row)
    except ValueError as error:
        return ItemDraft(
            f"line {number}",
            metadata={
                "error": gettext("Line %(number)s: %(error)s.") % {"number": number, "error": error}
            },
        )


def _item(row: Mapping[str, Any]) -> ItemDraft:
    """The item of a line. Raises ValueError with the reason if it is invalid."""
    options = {name: row[name] for name in OWN if row.get(name) not in (None, "")}
    if any("\0" in text or not _is_text(text) for text in _strings(row)):
        raise ValueError(gettext("it contains control characters"))
    for name in ("path", "url", "title", "language", "collection"):
        if not isinstance(options.get(name, ""), str):
            raise ValueError(gettext("“%(name)s” is not text") % {"name": name})
    if any(name.strip().casefold() == "readers" for name, it in row.items() if it):
        # As metadata they would restrict nothing.
        raise ValueError(gettext("“readers” are given by the API, for a whole import; not here"))
    if ("path" in options) == ("url" in options):
        raise ValueError(gettext("give either a path or a url"))
    if "url" in options and not settings.URL_IMPORT:
        raise ValueError(gettext("fetching from the web is switched off: set URL_IMPORT=1"))
    if len(options.get("title", "")) > LONGEST_TITLE:
        raise ValueError(
            gettext("the title is longer than %(longest_title)s characters")
            % {"longest_title": LONGEST_TITLE}
        )
    if "language" in options:
        options["language"] = _language(options["language"])
    others = {name: it for name, it in row.items() if name not in NAMED and it not in (None, "")}
    metadata = _metadata({**others, **_object(options.pop("metadata", {}))})
    reference = options.pop("path", "") or options["url"]
    extra = {METADATA: metadata, STATED: values_of(row)}
    return ItemDraft(reference, metadata=options | {key: it for key, it in extra.items() if it})


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a line. Raises ValueError."""
    metadata: dict[str, Any] = {}
    try:
        for name, value in row.items():
            if (key := as_key(name)) in metadata:
                raise ValueError(
                    gettext("“%(name)s” and another column both become the key “%(key)s”")
                    % {"name": name, "key": key}
                )
            metadata[key] = value
        return dict(check_metadata(metadata))
    except InvalidMetadata as error:
        raise ValueError(str(error).removesuffix(".")) from error


def _strings(value: Any) -> Iterator[str]:
    """All strings within a JSON value, including names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _is_text(value: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def _language(value: str) -> str:
    code = primary_code(value)
    if not code:
        raise ValueError(
            gettext("“%(value)s” is not a language code: give two letters, such as en")
            % {"value": value}
        )
    return code


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError(
                gettext("“metadata” is not valid JSON: %(error)s") % {"error": error}
            ) from error
    if not isinstance(value, dict):
        raise ValueError(gettext("“metadata” is not a JSON object: {…}"))
    return value
