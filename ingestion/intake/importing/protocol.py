"""What a kind of import tells the runner: what there is to take, and how to take one.

A source holds no state that a restart would miss. The runner makes one for each slice of work,
writes what it finds as ImportItem rows, takes the rows one by one and may be killed at any
moment: `discover` then starts over (a reference that is known already is left as it is), and at
most one item is taken twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Any, Self

from ingestion.errors import IngestionError
from ingestion.models import Import, ImportItem, SourceKind

MANIFEST_ENDS = (".csv", ".tsv", ".jsonl", ".ndjson")
"""How the name of a manifest ends. Any other file that is imported must be a ZIP archive."""
METADATA = "metadata"
"""The option of an import that holds the metadata of all its documents, and an item's own."""


@dataclass(frozen=True, slots=True)
class Found:
    """Something to take: its path or address, its links from the start, what is known of it.

    `reference` is unique within the import: the runner drops one that it holds already.
    `metadata` is JSON that `take` will see again as `item.metadata`. Its "collection" names
    another collection than the import's; its "error" makes the item fail with that message.
    """

    reference: str
    depth: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Taken:
    """The bytes of an item, rewindable, and what its document is to be called.

    A file from a `source` that the collection knows becomes that document's next version, which
    keeps the document's metadata where `metadata` is None.
    `found` are further items that this one led to, a page's links for instance.
    """

    file: IO[bytes]
    file_name: str
    source: str = ""
    source_kind: SourceKind = SourceKind.UPLOAD
    title: str = ""
    language: str = ""
    metadata: Mapping[str, Any] | None = None
    found: Iterable[Found] = ()


class Skip(Exception):
    """An item is left out on purpose; the message says why. It is no failure.

    `found` are items that it led to all the same.
    """

    def __init__(self, reason: str, found: Iterable[Found] = ()) -> None:
        super().__init__(reason)
        self.found = tuple(found)


class TryLater(Exception):
    """Nothing can be taken for now; the whole import waits, and the item is tried again.

    For a server that asks for a pause. After `runner.MAX_ATTEMPTS` an item fails with the message.
    """

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class Source:
    """Base of the sources: made for one import, open for a slice of work, closed after it.

    Raises IngestionError from any of its methods: from `take` the item failed, from the others
    the import cannot go on; the message goes to the person who asked for it.
    """

    takes_what_it_finds: bool = False
    """True where nobody named each item: what no parser reads is then left out, and no failure."""

    def __init__(self, of: Import) -> None:
        self.of = of

    def __enter__(self) -> Self:
        """Opens what all items share, such as an archive or a connection pool."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes it."""

    def check(self) -> None:
        """Raises IngestionError if the import can never work: switched off, a bad address.

        Called before an import is made, in the request of the person who wants it: be quick.
        """

    def discover(self) -> Iterable[Found]:
        """What there is to take, in order, as a stream: there may be many thousand."""
        raise NotImplementedError

    def take(self, item: ImportItem) -> AbstractContextManager[Taken]:
        """A block in which an item's bytes are open; it closes and removes them after.

        Raises IngestionError (the item failed), Skip or TryLater on entering the block.
        """
        raise NotImplementedError


class ImportRefused(IngestionError):
    """The import cannot be made, or cannot go on: the message says what to change."""

    code = "import_refused"
