"""After a test that commits, the database is as the migrations left it."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib.auth.models import Group

from ingestion.models import Document
from search.models import SearchProfile
from tests.support.database import FirstRows
from tests.support.factories import make_collection, make_document

pytestmark = pytest.mark.django_db(transaction=True)


def everything() -> dict[str, list[tuple[object, ...]]]:
    """All rows of all models that have any, by the name of their table."""
    models = apps.get_models(include_auto_created=True)
    rows = {
        model._meta.db_table: list(model._base_manager.order_by("pk").values_list())
        for model in models
    }
    return {table: found for table, found in rows.items() if found}


def test_what_was_made_changed_and_deleted_is_undone() -> None:
    before = everything()
    kept = FirstRows.of_database()
    make_document(make_collection(groups=["insiders"]), "# Made\n\nBy this test.")
    SearchProfile.objects.update(description="Changed by this test.")
    Group.objects.exclude(name="insiders").delete()
    assert everything() != before

    kept.restore()

    assert everything() == before
    assert kept.rows.keys() == before.keys() - {"django_migrations"}
    assert not Document.objects.exists()
    # New rows get keys of their own beside those that are back.
    make_document(make_collection(groups=["insiders"]), "# Made\n\nBy this test.")
