"""Lists in the admin, in the API and of a reader: as many queries for many rows as for few."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from common.accounts import tokens
from common.accounts.models import User
from ingestion import services
from ingestion.models import Collection, Document, EmbeddingSpace, Import
from search.answers import answering
from search.answers.request import AnswerRequest
from search.models import SearchProfile
from search.parts.experiments.models import Experiment
from search.tuning import judging
from search.tuning.models import EvaluationRun, Optimisation
from tests.support.database import statements
from tests.support.factories import make_collection, make_document, upload
from tests.support.golden_library import active_profile, draft_with

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

FEW, MANY = 2, 6


def shelf() -> Collection:
    return Collection.objects.filter(name="Shelf").first() or make_collection("Shelf")


def document(number: int, user: User) -> Document:
    text = f"# Ferry {number}\n\nThe ferry of pier {number} crosses the river.\n"
    return make_document(shelf(), text, file_name=f"{number}.md")


def queued(number: int, user: User) -> Document:
    return upload(shelf(), f"Text {number}", file_name=f"{number}.md").document


def deleted(number: int, user: User) -> None:
    services.delete([queued(number, user)], acting_user=user)


def collection(number: int, user: User) -> None:
    make_collection(f"Shelf {number}", visibility="groups", groups=["insiders"])


def imported(number: int, user: User) -> None:
    Import.objects.create(collection=shelf(), kind="archive", origin=f"{number}.zip")


def space(number: int, user: User) -> None:
    EmbeddingSpace.objects.create(
        name=f"{number}", fingerprint=f"{number}", dimensions=3, max_tokens=9
    )


def draft(number: int, user: User) -> None:
    draft_with(depth=50 + number, user=user)


def golden(number: int, user: User) -> None:
    judging.judge(f"ferry {number}", [], document(number, user), 1, acting_user=user)


def run(number: int, user: User) -> None:
    EvaluationRun.objects.create(state="done", profile=active_profile())


def optimisation(number: int, user: User) -> None:
    found = {"verdict": "No reliable gain.", "presets": []}
    Optimisation.objects.create(profile=active_profile(), state="done", found=found)


def experiment(number: int, user: User) -> None:
    retired = SearchProfile.objects.filter(state="retired").first()
    Experiment.objects.create(name=f"{number}", a=active_profile(), b=retired, added_by=user)


def answer(number: int, user: User) -> None:
    if not Document.objects.exists():
        document(number, user)
    answering.answer(AnswerRequest("When does the ferry cross?", viewer=user))


def token(number: int, user: User) -> None:
    tokens.make(user, scopes=["read"], collections=[shelf().pk])


LISTS: dict[str, Callable[[int, User], object]] = {
    "/admin/ingestion/collection/": collection,
    "/admin/ingestion/document/": document,
    "/admin/ingestion/deleteddocument/": deleted,
    "/admin/ingestion/import/": imported,
    "/admin/ingestion/embeddingspace/": space,
    "/admin/search/searchprofile/": draft,
    "/admin/tuning/profilechange/": draft,
    "/admin/tuning/goldenquery/": golden,
    "/admin/tuning/optimisation/": optimisation,
    "/admin/experiments/experiment/": experiment,
    "/admin/answers/answer/": answer,
    "/api/v1/collections/": collection,
    "/api/v1/documents/": queued,
    "/api/v1/documents/?deleted=true": deleted,
    "/api/v1/imports/": imported,
    "/api/v1/golden-queries/": golden,
    "/api/v1/judgements/": golden,
    "/api/v1/profile-changes/": draft,
    "/api/v1/runs/": run,
    "/api/v1/answers/": answer,
    "/me/tokens/": token,
}


@pytest.mark.parametrize("address", LISTS)
def test_queries_of_lists_do_not_grow_with_rows(
    desk: Client, administrator: User, address: str
) -> None:
    for number in range(FEW):
        LISTS[address](number, administrator)
    assert desk.get(address).status_code == 200  # and what a process asks only once
    few = statements(lambda: desk.get(address))
    for number in range(FEW, MANY):
        LISTS[address](number, administrator)
    assert statements(lambda: desk.get(address)) == few
