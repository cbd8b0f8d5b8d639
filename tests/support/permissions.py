"""Random graphs of permissions over a small library, and what each reader may read by the rule.

The rule is written here once more, over sets of keys in memory: `visible_to` and all that is built
on it must agree. A walk changes one edge of the graph at a time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib.auth.models import AnonymousUser, Group

from common.accounts.models import User
from ingestion import services
from ingestion.documents.restricted_readers import Readers
from ingestion.models import Collection, Document, Visibility
from tests.support.factories import make_collection, make_document

# Each is in one document alone, two in a collection; all documents have the word “vessel”.
WORDS = ("anchor", "binnacle", "capstan", "davit", "forestay", "gunwale")


class Graph:
    """Three collections, first for everybody; three groups, first empty; three people, and one who
    may do everything.
    """

    def __init__(self) -> None:
        self.shelves = [make_collection(name) for name in ("Bridge", "Galley", "Hold")]
        self.documents = {
            word: make_document(
                self.shelves[place // 2],
                f"# The {word}\n\nEvery vessel has a {word}. A sailor looks after the {word}.\n",
                file_name=f"{word}.md",
            )
            for place, word in enumerate(WORDS)
        }
        self.groups = [Group.objects.create(name=f"watch{number}") for number in range(3)]
        self.sailors = [User.objects.create_user(f"sailor{number}") for number in range(3)]
        self.captain = User.objects.create_superuser("captain", "c@example.org", "pw-captain")
        self.audience = {shelf.pk: (str(Visibility.PUBLIC), {0}) for shelf in self.shelves}
        self.members = {person.pk: {0} for person in (*self.sailors, self.captain)}
        self.readers: dict[str, tuple[set[int], set[int]]] = {}
        self.binned: set[int] = set()

    def change(self, chance: random.Random) -> str:
        """Change one edge, in the database and here; return what changed."""
        step = chance.choice((self._open, self._restrict, self._restrict, self._join, self._bin))
        groups = chance.sample(self.groups, chance.randrange(3))
        return step(chance, chance.choice(self.shelves), groups)

    def viewers(self, chance: random.Random) -> Iterator[User | AnonymousUser]:
        """A visitor and one of the people, whose token may be limited to some collections."""
        yield AnonymousUser()
        person = User.objects.get(pk=chance.choice([*self.sailors, self.captain]).pk)
        if chance.random() < 0.3:
            limit = chance.sample(self.shelves, 2)
            person.collections_limit = frozenset(shelf.pk for shelf in limit)
        yield person

    def may_read(self, viewer: Any, word: str) -> bool:
        shelf, own = self.documents[word].collection_id, self.members.get(viewer.pk, set())
        limit = getattr(viewer, "collections_limit", None)
        if shelf in self.binned or (limit is not None and shelf not in limit):
            return False
        if getattr(viewer, "is_superuser", False):
            return True
        visibility, of_shelf = self.audience[shelf]
        if (visibility == Visibility.GROUPS and not own & of_shelf) or (
            visibility == Visibility.SIGNED_IN and not own
        ):
            return False
        groups, people = self.readers.get(word, (own, {viewer.pk}))
        return bool(own & groups) or viewer.pk in people

    def _open(self, chance: random.Random, shelf: Collection, groups: Sequence[Group]) -> str:
        visibility = chance.choice(Visibility.values)
        self.audience[shelf.pk] = visibility, {group.pk for group in groups}
        Collection.objects.filter(pk=shelf.pk).update(visibility=visibility)
        shelf.groups.set(groups)
        return f"{shelf} for {visibility}, {groups}"

    def _restrict(self, chance: random.Random, _: Collection, groups: Sequence[Group]) -> str:
        word, readers = chance.choice(WORDS), None
        document = Document.objects.get(pk=self.documents[word].pk)
        if document.collection_id in self.binned:
            return f"{word} is in the bin"
        self.readers.pop(word, None)
        if chance.random() < 0.7:
            people = chance.sample(self.sailors, chance.randrange(3))
            readers = Readers(groups if chance.random() < 0.7 else (), people)
            named = (readers.groups, readers.people)
            self.readers[word] = ({one.pk for one in named[0]}, {one.pk for one in named[1]})
        assert not services.restrict([document], readers, acting_user=self.captain).refused
        return f"{word} for {readers}"

    def _join(self, chance: random.Random, _: Collection, groups: Sequence[Group]) -> str:
        person = chance.choice(self.sailors)
        person.groups.set(groups)
        self.members[person.pk] = {0, *(group.pk for group in groups)}
        return f"{person} is in {groups}"

    def _bin(self, chance: random.Random, shelf: Collection, _: Sequence[Group]) -> str:
        """Of one shelf at a time, so that there is something to read."""
        for pk in self.binned:
            services.restore_collection(Collection.objects.get(pk=pk), acting_user=None)
        self.binned = {shelf.pk} - self.binned if chance.random() < 0.5 else set()
        if self.binned:
            services.delete_collection(shelf, acting_user=None)
        return f"in the bin: {self.binned}"
