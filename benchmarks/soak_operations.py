"""What a person or a program may do to the library, chosen at random; for `benchmarks.soak`."""

from __future__ import annotations

import io
import random
import zipfile
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Model, QuerySet

from ingestion import services
from ingestion.errors import IngestionError
from ingestion.intake import imports as imports
from ingestion.models import Chunk, Collection, Document, DocumentVersion, Import, Visibility
from search.pipeline import search

Row = TypeVar("Row", bound=Model)

COLLECTIONS = 3
SOURCES = 40
WORDS = (
    *("valve", "pump", "gasket", "turbine", "bearing", "rotor", "flange", "piston", "nozzle"),
    *("green", "blue", "northern", "southern", "old", "spare", "leaking", "quiet", "broken"),
)


class Actor:
    """Carries out one operation after another.

    `refused` counts the expected refusals by their error. Any other error of an operation is a
    fault of the product, and ends the soak.
    """

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.done: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._operations: dict[Callable[[], object], int] = {
            self.upload: 24, self.mirror: 12, self.archive: 4, self.damaged: 2, self.replace: 8,
            self.delete: 9, self.restore: 7, self.purge: 4, self.reprocess: 8, self.retry: 2,
            self.rename: 3, self.revert: 3, self.edit: 8, self.import_archive: 2,
            self.delete_collection: 1, self.restore_collection: 2, self.search: 20,
        }  # fmt: skip

    def act(self) -> None:
        weights = list(self._operations.values())
        operation = self.chance.choices(list(self._operations), weights)[0]
        try:
            operation()
        except (IngestionError, ObjectDoesNotExist) as error:
            self.refused[type(error).__name__] += 1
        self.done[operation.__name__] += 1

    def upload(self) -> None:
        self._receive(self._note(), "note.md")

    def mirror(self) -> None:
        """A file from one of a few sources that all processes share."""
        self._receive(self._note(), "note.md", source=f"/shared/{self.chance.randrange(SOURCES)}")

    def archive(self) -> None:
        self._receive(self._packed(3), "notes.zip")

    def damaged(self) -> None:
        self._receive(b"%PDF-1.7\n" + self.chance.randbytes(300), "damaged.pdf")

    def replace(self) -> None:
        document = self._one_of(Document.objects.undeleted().filter(parent=None))
        file = io.BytesIO(self._note())
        services.replace(document, file, file_name="newer.md", acting_user=None)

    def delete(self) -> None:
        services.delete([self._one_of(Document.objects.undeleted())], acting_user=None)

    def restore(self) -> None:
        binned = Document.objects.exclude(deleted_at=None)
        services.restore([self._one_of(binned)], acting_user=None)

    def purge(self) -> None:
        services.purge([self._one_of(Document.objects.all())])

    def reprocess(self) -> None:
        services.reprocess([self._one_of(Document.objects.undeleted())], acting_user=None)

    def retry(self) -> None:
        failed = Document.objects.undeleted().filter(latest__state="failed")
        services.retry([self._one_of(failed)], acting_user=None)

    def rename(self) -> None:
        document = self._one_of(Document.objects.undeleted())
        services.describe(document, title=self._words(3).title(), acting_user=None)

    def revert(self) -> None:
        older = DocumentVersion.objects.filter(state="superseded", document__deleted_at=None)
        services.make_current(self._one_of(older), acting_user=None)

    def edit(self) -> None:
        chunk = self._one_of(Chunk.objects.filter(searchable=True))
        wish = self.chance.choice(
            [
                services.Wish(text=f"{chunk.text} {self._words(6)}"),
                services.Wish(disabled=True),
                services.Wish(note=self._words(4)),
                services.Wish(),
            ]
        )
        services.edit_chunk(chunk, wish, acting_user=None)

    def import_archive(self) -> None:
        file = io.BytesIO(self._packed(5))
        kind = Import.Kind.ARCHIVE
        imports.start(self._collection(), kind, "many.zip", file=file, acting_user=None)

    def delete_collection(self) -> None:
        services.delete_collection(self._collection(), acting_user=None)

    def restore_collection(self) -> None:
        binned = Collection.objects.exclude(deleted_at=None)
        services.restore_collection(self._one_of(binned), acting_user=None)

    def search(self) -> None:
        search(self._words(self.chance.randint(1, 4)), viewer=None)

    def _receive(self, content: bytes, name: str, source: str = "") -> None:
        file, collection = io.BytesIO(content), self._collection()
        services.receive(collection, file, file_name=name, source=source, acting_user=None)

    def _collection(self) -> Collection:
        """One of a few collections; created again if it is missing or in the bin."""
        name = f"Soak {self.chance.randrange(COLLECTIONS)}"
        fields = {"visibility": Visibility.PUBLIC}
        return Collection.objects.get_or_create(name=name, deleted_at=None, defaults=fields)[0]

    def _note(self) -> bytes:
        """Some sections of random words; one in ten has been uploaded before."""
        if self.chance.random() < 0.1:
            return f"# Known\n\nThe {WORDS[self.chance.randrange(5)]} is known.".encode()
        sections = (
            f"## {self._words(2)}\n\n{self._words(self.chance.randint(20, 150))}."
            for _ in range(self.chance.randint(1, 6))
        )
        return "\n\n".join([f"# {self._words(3)}", *sections]).encode()

    def _packed(self, count: int) -> bytes:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for number in range(count):
                archive.writestr(f"{number}.md", self._note())
        return packed.getvalue()

    def _words(self, count: int) -> str:
        return " ".join(self.chance.choices(WORDS, k=count))

    def _one_of(self, rows: QuerySet[Row]) -> Row:
        """Any of the rows. Raises DoesNotExist without rows."""
        pks = list(rows.order_by("pk").values_list("pk", flat=True))
        if not pks:
            raise ObjectDoesNotExist
        return rows.get(pk=self.chance.choice(pks))
