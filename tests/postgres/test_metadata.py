"""Free metadata of documents: how it gets there, and what it outlasts."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from common.accounts.models import User
from ingestion import services
from ingestion.documents import processing_steps
from ingestion.exporting import restoring, writing
from ingestion.intake import import_runner as runner
from ingestion.intake import imports as importing
from ingestion.lexical import bm25_weights
from ingestion.models import Collection, Document, Import, ImportItem, SourceKind
from search.pipeline import search
from tests.samples.builders import make_zip
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


def titles(text: str) -> set[str]:
    return {result.title for result in search(text, viewer=None).results}


ALPHA = {"department": "Sales", "year": 2023, "tags": ["pump"]}


class TestServices:
    @pytest.fixture
    def plain(self) -> Collection:
        return make_collection()

    def receive(self, collection: Collection, text: str, **options: Any) -> services.Receipt:
        data = io.BytesIO(text.encode())
        return services.receive(
            collection, data, file_name="a.md", acting_user=options.pop("user", None), **options
        )

    def test_new_version_keeps_metadata_unless_new_metadata_is_given(
        self, plain: Collection, administrator: User
    ) -> None:
        def stored() -> Any:
            return Document.objects.get().metadata

        self.receive(plain, "# A", source="/a", metadata={"n": 1})
        assert self.receive(plain, "# B", source="/a").replaced
        assert stored() == {"n": 1}
        self.receive(plain, "# C", source="/a", metadata={"m": 2})
        assert stored() == {"m": 2}
        document = Document.objects.get()
        services.replace(document, io.BytesIO(b"# D"), file_name="a.md", acting_user=None)
        assert stored() == {"m": 2}
        services.replace(
            document, io.BytesIO(b"# E"), file_name="a.md", acting_user=administrator, metadata={}
        )
        assert stored() == {}
        messages = list(LogEntry.objects.values_list("change_message", flat=True))
        assert messages == ["New version 5: a.md", "Changed metadata"]

    def test_the_same_bytes_from_the_same_source_bring_new_metadata(
        self, plain: Collection
    ) -> None:
        self.receive(plain, "# A", source="/a", metadata={"n": 1})
        assert self.receive(plain, "# A", source="/a", metadata={"n": 2}).unchanged
        assert self.receive(plain, "# A", source="/b", metadata={"n": 3}).duplicate
        document = Document.objects.get()
        assert (document.metadata, document.versions.count()) == ({"n": 2}, 1)

    def test_archive_members_inherit_metadata_of_the_archive(self, plain: Collection) -> None:
        data = io.BytesIO(make_zip({"in.md": "# In\n\nA pump within."}))
        receipt = services.receive(
            plain, data, file_name="a.zip", metadata={"client": "ACME"}, acting_user=None
        )
        processing_steps.advance(receipt.version.pk)
        part = Document.objects.get(parent=receipt.document)
        assert part.latest_id is not None
        processing_steps.advance(part.latest_id)
        bm25_weights.fold()
        assert "In" in titles("pump meta.client:ACME")


class TestExports:
    def test_exports_contain_metadata_and_the_keys_of_the_collection(self, tmp_path: Path) -> None:
        source = make_collection("Source", metadata_keys=["department"])
        document = make_document(source, "# A\n\nText.")
        services.describe(document, metadata=ALPHA, acting_user=None)
        path = tmp_path / "export.zip"
        path.write_bytes(b"".join(writing.export(source)))
        source.delete()
        restored = restoring.restore(path).collection
        assert restored.metadata_keys == ["department"]
        assert Document.objects.get().metadata == ALPHA


class TestManifests:
    def run(self, folder: Path, name: str, text: str, **options: Any) -> Import:
        (folder / "a.md").write_text("# A")
        (folder / "b.md").write_text("# B")
        (folder / name).write_text(text)
        collection = Collection.objects.first() or make_collection()
        of = importing.start(
            collection,
            Import.Kind.MANIFEST,
            name,
            options={"path": str(folder / name), "base": str(folder)},
            acting_user=None,
            by_command=True,
            **options,
        )
        runner.run(of.pk, by_command=True)
        return of

    def test_columns_become_metadata_of_the_documents(self, tmp_path: Path) -> None:
        text = 'path,Part Number,Year,metadata\na.md,007,2024,"{""tags"": [""x""]}"\nb.md,,,\n'
        self.run(tmp_path, "m.csv", text)
        stored = dict(Document.objects.values_list("title", "metadata"))
        assert stored == {"a": {"part_number": "007", "year": 2024, "tags": ["x"]}, "b": {}}
        assert Document.objects.get(title="a").source_kind == SourceKind.PATH

    def test_later_manifest_corrects_metadata_without_a_new_version(self, tmp_path: Path) -> None:
        self.run(tmp_path, "m.csv", "path,owner\na.md,Ann\n")
        of = self.run(tmp_path, "n.csv", "path,owner\na.md,Bob\nb.md,Bob\n")
        assert {one.state for one in ImportItem.objects.filter(of=of)} == {"duplicate", "added"}
        assert Document.objects.get(title="a").metadata == {"owner": "Bob"}
        self.run(tmp_path, "o.csv", "path\na.md\n")
        assert Document.objects.get(title="a").metadata == {"owner": "Bob"}

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ({"名前": "x"}, "“名前” is not a valid key"),
            ({"size": {"mm": 5}}, "“size” is neither text"),
            ({"Owner": "a", "owner": "b"}, "both become the key “owner”"),
            ({"metadata": {"n": 10**16}}, "“n” is beyond"),
            ({"metadata": []}, "is not a JSON object"),
        ],
    )
    def test_a_line_with_bad_metadata_fails_alone(
        self, tmp_path: Path, row: dict[str, Any], message: str
    ) -> None:
        lines = [json.dumps({"path": "a.md", **row}), json.dumps({"path": "b.md", "n": None})]
        of = self.run(tmp_path, "m.jsonl", "\n".join(lines))
        [failed] = ImportItem.objects.filter(of=of, state="failed")
        assert failed.reference == "line 1"
        assert message in failed.message
        assert Document.objects.get().title == "b"

    def test_manifest_line_overrides_metadata_of_the_import(self, tmp_path: Path) -> None:
        given = {"owner": "Ann", "batch": 7}
        self.run(tmp_path, "m.csv", "path,owner\na.md,Bob\nb.md,\n", metadata=given)
        stored = dict(Document.objects.values_list("title", "metadata"))
        assert stored == {"a": {"owner": "Bob", "batch": 7}, "b": given}
