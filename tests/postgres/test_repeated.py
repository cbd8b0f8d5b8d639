"""A kept response is the one that a new search would give, for every reader, whatever has changed.

Readers ask the same questions again and again while the library, its audiences and its
configuration change at random; each answer from memory must equal one from the database.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common.accounts.models import User
from ingestion import services
from ingestion.documents import arranging, deletion
from ingestion.lexical import concepts, terms
from ingestion.models import Chunk, Collection, CorpusStatistics, Document
from ingestion.services import Wish
from search.engine import repeated
from search.engine.find import find
from search.models import Hide, Pin, Synonym
from search.pipeline import SearchResponse, search
from search.tuning.models import ProfileChange
from search.tuning.publishing import activation
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.golden_library import active_profile

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "remembering")]

QUESTIONS = ("winch oil", "how is the ferry moored")
TEXTS = {
    "winch.md": "# Winch\n\nThe winch takes two litres of oil in spring, before the ferry sails.\n",
    "ferry.md": "# Ferry\n\nThe ferry is moored at the north quay by two lines and a winch.\n",
}


@pytest.fixture
def remembering(settings: Any) -> Iterator[None]:
    settings.RESULT_CACHE_SECONDS = 300
    repeated.forget()
    yield
    repeated.forget()


@pytest.fixture(scope="module")
def _shelves(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with lasting(django_db_blocker):
        for name, audience in (("Open", "public"), ("House", "signed_in"), ("Crew", "groups")):
            collection = make_collection(name, visibility=audience)
            for file_name, text in TEXTS.items():
                make_document(collection, f"{text}\nThis is the {name} copy.", file_name=file_name)
        yield


@dataclass
class Library:
    """The collections, the readers, and the random choices among them."""

    collections: list[Collection]
    viewers: list[User | None]
    dice: random.Random

    @property
    def document(self) -> Document:
        kept = Document.objects.filter(deleted_at=None, collection__deleted_at=None)
        return self.dice.choice(list(kept.select_related("collection").order_by("pk")))

    @property
    def collection(self) -> Collection:
        return self.dice.choice(list(Collection.objects.kept().order_by("pk")))

    @property
    def chunk(self) -> Chunk:
        shown = Chunk.objects.filter(searchable=True).select_related("version", "edit")
        return self.dice.choice(list(shown.order_by("pk")))


@pytest.fixture
def library(_shelves: None, member: User, reader: User, administrator: User) -> Library:
    curator = User.objects.create_user("curator", password="x", is_staff=True)
    curator.user_permissions.add(Permission.objects.get(codename="change_hide"))
    shelves = list(Collection.objects.order_by("pk"))
    limited = User.objects.get(pk=administrator.pk)
    limited.collections_limit = frozenset({shelves[0].pk})
    return Library(
        shelves, [None, reader, member, curator, administrator, limited], random.Random(0)
    )


def told(response: SearchResponse) -> Any:
    """What a response says, but for the time that it took."""
    return (
        [replace(result, group=None) for result in response.results],  # type: ignore[arg-type]
        [result.hit.score for result in response.results],
        response.total,
        response.sentences,
        (response.suggestion, response.corrected_from, response.unknown, response.terms),
        (response.profile.name, response.profile.version, response.weights),
        (response.classification, response.confidence, response.low_confidence),
    )


def names_in(response: SearchResponse) -> set[str]:
    """The collections whose passages a response shows, folded ones included."""
    shown = (one for best in response.results for one in (best, *best.folded, *best.copies))
    return {one.collection for one in shown}


def asked_anew(question: str, viewer: User | None, settings: Any) -> SearchResponse:
    settings.RESULT_CACHE_SECONDS = 0
    try:
        return search(question, viewer=viewer)
    finally:
        settings.RESULT_CACHE_SECONDS = 300


def fresh(viewer: User | None) -> User | None:
    """The viewer as another request reads them."""
    if viewer is None:
        return None
    read = User.objects.get(pk=viewer.pk)
    read.collections_limit = viewer.collections_limit
    return read


def upload(library: Library) -> None:
    text = f"# More\n\nA winch needs oil {library.dice.random()}, says the ferry's mate.\n"
    make_document(library.collection, text, file_name=f"more-{library.dice.random()}.md")


def to_bin(library: Library) -> None:
    deletion.delete([library.document], acting_user=None)


def restore(library: Library) -> None:
    gone = Document.objects.exclude(deleted_at=None).order_by("pk").first()
    if gone is not None:
        deletion.restore([gone], acting_user=None)


def edit_by_hand(library: Library) -> None:
    text = f"The winch gets {library.dice.random()} litres of whale oil."
    services.edit_chunk(library.chunk, Wish(text, note="for staff"), acting_user=None)


def disable(library: Library) -> None:
    services.edit_chunk(library.chunk, Wish(disabled=True), acting_user=None)


def move(library: Library) -> None:
    user = library.viewers[4]
    assert user is not None
    arranging.move([library.document], library.collection, acting_user=user)


def tag(library: Library) -> None:
    user = library.viewers[4]
    assert user is not None
    arranging.annotate(
        [library.document], acting_user=user, add_tags=[f"t{library.dice.randrange(9)}"]
    )


def retitle(library: Library) -> None:
    document = library.document
    document.title = f"Renamed {library.dice.random()}"
    document.save(update_fields=["title", "updated"])


def change_audience(library: Library) -> None:
    collection = library.collection
    collection.visibility = library.dice.choice(["public", "signed_in", "groups"])
    collection.save()


def change_groups(library: Library) -> None:
    group, _ = Group.objects.get_or_create(name="insiders")
    library.collection.groups.set(library.dice.choice([[], [group]]))


def change_members(library: Library) -> None:
    group, _ = Group.objects.get_or_create(name="insiders")
    user = library.dice.choice(library.viewers[1:4])
    assert user is not None
    user.groups.set(library.dice.choice([[], [group]]))


def change_rights(library: Library) -> None:
    user = library.dice.choice(library.viewers[1:4])
    fields = {"is_staff", "is_superuser", "is_active"}
    changed = {name: library.dice.random() < 0.5 for name in fields}
    User.objects.filter(pk=user.pk if user else None).update(**changed | {"is_active": True})


def shut_collection(library: Library) -> None:
    if Collection.objects.kept().count() > 1:
        deletion.delete_collection(library.collection, acting_user=None)


def open_collection(library: Library) -> None:
    gone = Collection.objects.exclude(deleted_at=None).first()
    if gone is not None:
        deletion.restore_collection(gone, acting_user=None)


def hide(library: Library) -> None:
    Hide.objects.get_or_create(query=QUESTIONS[0], document=library.document)


def pin(library: Library) -> None:
    Pin.objects.get_or_create(query=QUESTIONS[1], document=library.document)


def synonym(library: Library) -> None:
    Synonym.objects.create(terms=["winch", library.dice.choice(["quay", "mate", "lines"])])


def publish(library: Library) -> None:
    draft = activation.draft_from(active_profile(), acting_user=None)
    draft.vector_candidates_only = True
    draft.save()
    activation.activate(draft, action=ProfileChange.Action.PUBLISHED, acting_user=None)


def fold(library: Library) -> None:
    terms.fold()


def reweigh(library: Library) -> None:
    CorpusStatistics.objects.update(weighed_length=library.dice.randrange(5, 50))
    terms.fold()


def name_concepts(library: Library) -> None:
    concepts.refresh(library.document.pk)


CHANGES: tuple[Callable[[Library], None], ...] = (
    upload, to_bin, restore, edit_by_hand, disable, move, tag, retitle, change_audience,
    change_groups, change_members, change_rights, shut_collection, open_collection, hide, pin,
    synonym, publish, fold, reweigh, name_concepts,
)  # fmt: skip


# Almost all of the time goes into the searches after each change.
@pytest.mark.parametrize(("seed", "most"), [(1, len(CHANGES)), (2, 7)])
def test_it_equals_the_response_of_a_new_search(
    library: Library, settings: Any, seed: int, most: int
) -> None:
    library.dice = random.Random(seed)
    changes = library.dice.sample(CHANGES, most)
    for change in [fold, *changes]:
        change(library)
        for viewer in library.dice.sample(library.viewers, 4):
            for question in QUESTIONS:
                held = search(question, viewer=fresh(viewer))
                anew = asked_anew(question, fresh(viewer), settings)
                who = viewer.username if viewer else "a visitor"
                assert told(held) == told(anew), f"{who} after {change.__name__}"


@pytest.mark.parametrize("change", ["a reader is let in", "a reader is let out"])
def test_what_changes_during_a_search_is_kept_for_nobody(
    library: Library, settings: Any, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Ann's rights change after the key was made; Bob has what hers were before."""
    crew = library.collections[2]
    group, _ = Group.objects.get_or_create(name="crew")
    crew.groups.add(group)
    ann, bob = (User.objects.create_user(name, password="x") for name in ("ann", "bob"))
    before, after = ([], [group]) if change == "a reader is let in" else ([group], [])
    ann.groups.set(before)
    bob.groups.set(before)

    def meanwhile(*arguments: Any) -> Any:
        ann.groups.set(after)
        return find(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr("search.pipeline.find", meanwhile)
        shown = search("winch oil", viewer=fresh(ann))
    assert ("Crew" in names_in(shown)) is (change == "a reader is let in")

    held = search("winch oil", viewer=fresh(bob))
    assert told(held) == told(asked_anew("winch oil", fresh(bob), settings))
    assert ("Crew" in names_in(held)) is (change == "a reader is let out")


@pytest.mark.usefixtures("_shelves")
class TestWhenNothingChanges:
    def test_one_statement_answers(self, reader: User, django_assert_num_queries: Any) -> None:
        first = search("winch oil", viewer=None)
        with django_assert_num_queries(1):
            again = search("  winch   oil", viewer=None)
        assert told(again) == told(first)
        assert set(again.milliseconds) == {"total"}
        with CaptureQueriesContext(connection) as others:
            search("winch oil", viewer=reader)  # who may read more
            search("winch oil", viewer=None, page=2)
            search("winch oil", viewer=None, group=False)
        assert len(others) > 3

    def test_it_ends(self, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        search("winch oil", viewer=None)
        later = repeated.time.monotonic() + settings.RESULT_CACHE_SECONDS
        monkeypatch.setattr(repeated.time, "monotonic", lambda: later)
        with CaptureQueriesContext(connection) as asked:
            search("winch oil", viewer=None)
        assert len(asked) > 1

    def test_no_more_than_some_are_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(repeated, "MOST_KEPT", 2)
        for question in ("winch", "oil", "ferry"):
            search(question, viewer=None)
        with CaptureQueriesContext(connection) as asked:
            search("winch", viewer=None)
        assert len(asked) > 1

    def test_long_texts_are_not_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(repeated, "MOST_CHARS", 10)
        search("winch oil", viewer=None)
        with CaptureQueriesContext(connection) as asked:
            search("winch oil", viewer=None)
        assert len(asked) > 1
