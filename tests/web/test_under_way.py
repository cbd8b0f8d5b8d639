"""The line that says how far the files being read are."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries

from common.accounts.models import User
from ingestion.documents.progress import note_under_way, under_way
from ingestion.models import DocumentVersion, State, Visibility
from tests.support.factories import make_collection, make_document, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]


def test_pages_say_how_far_the_files_are_and_whose_nobody_may_know(
    client: Client,
    administrator: User,
    reader: User,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    public = make_collection("Public", visibility=Visibility.PUBLIC)
    make_document(public, "# Earlier\n\nRead long ago.")
    first, second = (upload(public, f"# Part {n}\n\nSame size.").version for n in (1, 2))
    hidden = upload(make_collection("Hidden", visibility=Visibility.GROUPS), "# Secret").version
    note_under_way()
    DocumentVersion.objects.filter(pk=first.pk).update(state=State.READY)
    note_under_way()

    # What is finished counts while another file of its time is not; before that, nothing.
    assert "2 files are being read: 50%" in client.get("/").text
    client.force_login(administrator)
    for path in ("/", "/admin/"):
        assert "3 files are being read: " in client.get(path).text
    with django_assert_num_queries(0):
        assert under_way(AnonymousUser()) == under_way(reader)

    DocumentVersion.objects.filter(pk=second.pk).update(state=State.FAILED)
    note_under_way()
    assert under_way(reader) is None
    assert under_way(administrator)
    DocumentVersion.objects.filter(pk=hidden.pk).update(state=State.READY)
    note_under_way()
    assert under_way(administrator) is None
    assert "being read" not in client.get("/").text
