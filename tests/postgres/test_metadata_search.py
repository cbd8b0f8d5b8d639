"""Free metadata in search: what it finds, what it offers, and that it opens nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from common.accounts.models import User
from ingestion import services
from ingestion.models import Collection, Document, Visibility
from search.domain import Comparison, MetadataFilter
from search.errors import SearchError
from search.pages.facets import facets_for
from search.pipeline import search
from search.query.field_operators import metadata_filter
from search.retrieval import Filters, Scope
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

METADATA: dict[str, dict[str, Any]] = {
    "Alpha": {"department": "Sales", "year": 2023, "due": "2026-01-31", "tags": ["pump", "valve"]},
    "Beta": {"department": "Legal", "year": 2024, "due": "2026-02-01T09:30", "tags": ["pump"]},
    "Gamma": {"department": "R&D", "year": "2025", "price": 12.5, "draft": True},
    "Delta": {"department": 'the "inner" circle, 50 %', "year": "soon", "due": "31.01.2026"},
    "None": {},
}


@pytest.fixture(scope="module")
def shelf(django_db_setup: None, django_db_blocker: Any) -> Iterator[Collection]:
    """Documents with metadata for all tests that only read, in a transaction around theirs."""
    with lasting(django_db_blocker):
        handbook = make_collection("Handbook", metadata_keys=["department", "tags"])
        for title, metadata in METADATA.items():
            document = make_document(handbook, f"# {title}\n\nA pump stands in the {title} hall.")
            services.describe(document, metadata=metadata, acting_user=None)
        yield handbook


def titles(text: str, **options: Any) -> set[str]:
    return {result.title for result in search(text, viewer=None, **options).results}


@pytest.mark.usefixtures("shelf")
class TestSearch:
    @pytest.mark.parametrize(
        ("condition", "found"),
        [
            pytest.param("meta.department:Sales", {"Alpha"}, id="equal"),
            pytest.param("meta.department:sales", set(), id="as it is written"),
            pytest.param("meta.department:R&D", {"Gamma"}, id="marks"),
            pytest.param("meta.tags:pump", {"Alpha", "Beta"}, id="a list that holds it"),
            pytest.param("meta.tags:pump meta.tags:valve", {"Alpha", "Beta"}, id="any of a key"),
            pytest.param("meta.tags:pump meta.year:2024", {"Beta"}, id="every key"),
            pytest.param("meta.year:2024", {"Beta"}, id="a number"),
            pytest.param("meta.draft:true", {"Gamma"}, id="a boolean"),
            pytest.param("meta.year>=2024", {"Beta", "Gamma"}, id="at least"),
            pytest.param("meta.year>2024", {"Gamma"}, id="above"),
            pytest.param("meta.year>2022 meta.year<2024", {"Alpha"}, id="between"),
            pytest.param("meta.due>=2026-01-31", {"Alpha", "Beta"}, id="a day, inclusive"),
            pytest.param("meta.due>2026-01-31", {"Beta"}, id="after a day"),
            pytest.param("meta.due<2026-02-01", {"Alpha"}, id="before a day"),
            pytest.param("meta.due>2026-02-01", set(), id="a moment of the day is not after it"),
            pytest.param("meta.due<=2026", {"Alpha", "Beta"}, id="within a year"),
            pytest.param("meta.tags>1", set(), id="words are neither number nor day"),
            pytest.param("meta.nothing>1", set(), id="unknown key compared"),
            pytest.param("-meta.tags:pump", {"Gamma", "Delta", "None"}, id="left out"),
            pytest.param(
                "-meta.year:2023 -meta.draft:true", {"Beta", "Delta", "None"}, id="each left out"
            ),
        ],
    )
    def test_metadata_condition_narrows_the_results(self, condition: str, found: set[str]) -> None:
        assert titles(f"pump {condition}") == found
        assert titles(f"{condition} pump") == found

    def test_conditions_of_a_page_hold_as_well(self) -> None:
        wanted = Filters(metadata=(metadata_filter('department:the "inner" circle, 50 %'),))
        assert titles("pump", filters=wanted) == {"Delta"}
        assert titles("pump meta.year:2023", filters=wanted) == set()

    def test_a_value_is_never_read_as_sql_or_as_a_path(self) -> None:
        hostile = ("x' OR 1=1 --", '"', '") || (true', "%s", "%(key)s", "{}", "\\", "$.*", "?")
        for value in hostile:
            wanted = Filters(metadata=(MetadataFilter("department", value),))
            assert titles("pump", filters=wanted) == set()

    @pytest.mark.parametrize("key", ["", "A", 'a"b', "a b", "a.b", "a'"])
    def test_a_condition_on_no_key_cannot_be_made(self, key: str) -> None:
        with pytest.raises(ValueError, match="not a key"):
            MetadataFilter(key, "x")

    @settings(
        max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(st.sampled_from(list(Comparison)), st.text(max_size=8))
    def test_any_value_is_searched_or_refused(self, comparison: Comparison, value: str) -> None:
        try:
            titles(f"pump meta.department{comparison.value}{value}")
        except SearchError:
            return

    @pytest.mark.parametrize(
        "condition", [MetadataFilter("tags", "pump"), MetadataFilter("n", "5", Comparison.ABOVE)]
    )
    def test_metadata_condition_uses_the_index(self, condition: MetadataFilter) -> None:
        chunks = Scope.of(None, Filters(metadata=(condition,))).chunks
        with transaction.atomic(), connection.cursor() as cursor:
            # So few rows need no index, and each passage could bring its document by itself.
            for way in ("seqscan", "indexscan", "nestloop", "mergejoin"):
                cursor.execute(f"SET LOCAL enable_{way} = off")
            assert "Bitmap Index Scan on document_metadata" in chunks.values("pk").explain()


@pytest.mark.usefixtures("shelf")
class TestFacets:
    def test_facets_are_the_keys_named_by_collections(self) -> None:
        found = {
            facet.label: [(one.value, one.documents) for one in facet.options]
            for facet in facets_for(None).metadata
        }
        assert found == {
            "Department": [
                ("department:Legal", 1),
                ("department:R&D", 1),
                ("department:Sales", 1),
                ('department:the "inner" circle, 50 %', 1),
            ],
            "Tags": [("tags:pump", 2), ("tags:valve", 1)],
        }

    def test_each_facet_value_finds_its_number_of_documents(self) -> None:
        Collection.objects.update(metadata_keys=["department", "tags", "year", "price", "draft"])
        offered = [one for facet in facets_for(None).metadata for one in facet.options]
        assert {"draft:true", "price:12.5", "year:2024"} <= {one.value for one in offered}
        for option in offered:
            wanted = Filters(metadata=(metadata_filter(option.value),))
            assert len(titles("pump", filters=wanted)) == option.documents, option.value

    def test_facets_show_the_most_frequent_values(self, shelf: Collection) -> None:
        # With only 10 of 15 values, those of two documents come first.
        for n in range(15):
            for copy in range(2 if n >= 12 else 1):
                note = make_document(shelf, f"# N{n}.{copy}\n\nA note {n}, copy {copy}.")
                services.describe(note, metadata={"tags": f"t{n:02}"}, acting_user=None)
        tags = next(f for f in facets_for(None).metadata if f.key == "tags")
        labels = [option.label for option in tags.options]
        assert labels[:4] == ["pump", "t12", "t13", "t14"]
        assert len(labels) == 10

    def test_facets_leave_out_hidden_documents(self, member: User) -> None:
        hidden = make_collection(
            "Vault", visibility=Visibility.GROUPS, groups=["insiders"], metadata_keys=["code"]
        )
        secret = make_document(hidden, "# Vault\n\nA pump of gold.")
        services.describe(secret, metadata={"department": "Vault", "code": "x"}, acting_user=None)
        shown = repr(facets_for(None))
        assert "Vault" not in shown
        assert "code" not in shown
        assert "'department:Vault'" in repr(facets_for(member))
        assert "'code:x'" in repr(facets_for(member))
        assert titles("pump meta.department:Vault") == set()

    def test_facets_leave_out_deleted_and_unprocessed_documents(self, shelf: Collection) -> None:
        services.delete([Document.objects.get(title="Beta")], acting_user=None)
        waiting = upload(shelf, "# Waiting").document
        services.describe(waiting, metadata={"tags": "pump"}, acting_user=None)
        tags = next(f for f in facets_for(None).metadata if f.key == "tags")
        assert [(one.label, one.documents) for one in tags.options] == [("pump", 1), ("valve", 1)]

    def test_facets_cost_a_query_only_if_a_key_is_named(
        self, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        with django_assert_num_queries(2):
            facets_for(None)
        Collection.objects.update(metadata_keys=[])
        with django_assert_num_queries(1):
            assert facets_for(None).metadata == ()
