"""What a reader is shown agrees with the rule of `tests.support.permissions`, in random graphs.

Each step changes one permission, then asks something that shows documents, for a visitor and a
person. `make attack` takes ten thousand steps. Faults that are planted here are found.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from io import BytesIO
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import pytest
from django.test import Client
from django.utils import timezone
from knox.models import AuthToken

from common.accounts import tokens
from ingestion import services
from ingestion.documents.currency import currencies
from ingestion.documents.restricted_readers import Readers
from ingestion.exporting import writing
from ingestion.models import Chunk, Collection, Document
from ingestion.webhooks import sending
from ingestion.webhooks.models import Webhook
from search import pipeline
from search.analytics.models import SearchEvent
from search.answers import recording
from search.answers.models import Answer, AnswerSource, records
from search.domain import RunningExperiment
from search.engine.configuration import current
from search.mcp import tool_results
from search.pages.facets import facets_for
from search.presentation import result_rows
from search.readers import favourites, reviews
from search.readers.models import Favourite
from search.readers.suggestions import suggest
from search.retrieval import Filters, Scope, statement
from search.retrieval.prepared import Shapes
from search.retrieval.spelling_candidates import neighbours, passages_with
from search.tuning import golden_import_export
from search.tuning import workbench_preview as preview
from search.tuning.models import GoldenQuery, Judgement
from tests.support.database import lasting
from tests.support.laws import examples
from tests.support.permissions import WORDS, Graph

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

STEPS = 150 if examples(100) <= 100 else 10_000


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[Graph]:
    """The library, and of each document an answer, a grade, a favourite, a webhook."""
    with lasting(django_db_blocker):
        graph = Graph()
        query = GoldenQuery.objects.create(text="vessel")
        for word, document in graph.documents.items():
            _answer(word, document)
            judged = {"document": document, "reference": document.public_id, "grade": 3}
            Judgement.objects.create(query=query, title=document.title, **judged)
        for person in (*graph.sailors, graph.captain):
            for document in graph.documents.values():
                Favourite.objects.create(user=person, document=document)
            address = "http://h.example/"
            Webhook.objects.create(name=str(person), url=address, events=[], acts_for=person)
        yield graph


def _answer(word: str, document: Document) -> None:
    """A stored answer to everybody who has its thread, with the document as its source."""
    asked = {"question": word, "searched_for": word, "asked_mode": "instant", "mode": "instant"}
    answer = Answer.objects.create(**asked, state="done", text=f"See the {word}.", source_count=1)
    chunk = document.chunks.get()
    AnswerSource.objects.create(
        answer=answer, number=1, document=document, version=document.current, rank=1, score=1,
        chunk_ids=[chunk.pk], ordinal=0, title=document.title, start=0, end=9, text=chunk.text,
    )  # fmt: skip


@pytest.fixture
def graph(library: Graph, db: None, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setattr(preview, "STAMP_SECONDS", 0)  # a sweep of all surfaces may take less
    return deepcopy(library)


class Shown:
    """What one viewer is shown: each public method returns the words of documents."""

    def __init__(self, graph: Graph, viewer: Any, shelf: Collection) -> None:
        self.graph, self.viewer, self.shelf = graph, viewer, shelf
        self.expected = {word for word in WORDS if graph.may_read(viewer, word)}

    def on_the_shelf(self) -> set[str]:
        documents = self.graph.documents
        return {word for word in self.expected if documents[word].collection_id == self.shelf.pk}

    def words(self, documents: Any) -> set[str]:
        """The words of documents, given as rows, keys or public ids."""
        keys = {str(getattr(each, "pk", each)) for each in documents}
        rows = self.graph.documents.items()
        return {word for word, row in rows if {str(row.pk), str(row.public_id)} & keys}

    def lists_and_passages(self) -> set[str]:
        passages = Chunk.objects.visible_to(self.viewer).values_list("document", flat=True)
        assert self.words(passages) == self.expected
        return self.words(Document.objects.visible_to(self.viewer))

    def results(self) -> set[str]:
        response = pipeline.search("vessel", viewer=self.viewer)
        assert response.total == len(self.expected)
        slug, here = self.shelf.slug, self.on_the_shelf()
        inside = Filters(collections=(slug,))
        assert self.found("vessel", inside) == self.found(f"vessel collection:{slug}") == here
        assert self.found(f"vessel -collection:{slug}") == self.expected - here
        assert self.found('"every vessel has"') == self.expected
        return self.words(result.document_id for result in response.results)

    def found(self, text: str, filters: Filters | None = None, **options: Any) -> set[str]:
        response = pipeline.search(text, viewer=self.viewer, filters=filters, **options)
        assert response.total == len(response.results)
        return self.words(result.document_id for result in response.results)

    def results_of_an_experiment(self) -> set[str]:
        configured, ours = current(), current().profile()
        both = RunningExperiment(0, "salt", 1.0, ours, replace(ours, version=ours.version + 1))
        mixed: dict[str, Any] = {
            "visitor": "one",
            "configuration": replace(configured, experiment=both),
        }
        response = pipeline.search("vessel", viewer=self.viewer, **mixed)
        assert response.trial is not None
        return self.found("vessel", **mixed)

    def a_passage_by_its_id(self) -> set[str]:
        documents = dict(Chunk.objects.values_list("pk", "document"))
        seen = result_rows.read_rows(documents, self.viewer, (), "vessel")
        return self.words(documents[pk] for pk in seen)

    def statistics(self) -> set[str]:
        counts = passages_with([*WORDS, "vessel"], self.viewer)
        assert counts.get("vessel", 0) == len(self.expected)
        return counts.keys() - {"vessel"}

    def suggestions(self) -> set[str]:
        """Words spelt like a wrong one, and the words that no readable passage has."""
        wrong = {f"{word[:-2]}{word[-1]}{word[-2]}": word for word in WORDS}
        found = neighbours([*wrong], Scope.of(self.viewer, Filters()), ())
        response = pipeline.search(" ".join([*WORDS, "vessel"]), viewer=self.viewer)
        if self.expected:
            assert {*response.unknown} == {*WORDS} - self.expected
        return {wrong[each] for each, near in found.items() if near}

    def typed(self) -> set[str]:
        """Titles and headings suggested for the first letters of a word."""
        found = {each.text for word in WORDS for each in suggest(word[:5], self.viewer)}
        return {word for word in WORDS if f"The {word}" in found}

    def successors(self) -> set[str]:
        """Three documents are superseded by the three others, which their readers alone hear."""
        rows = [self.graph.documents[word] for word in WORDS]
        for older, newer in zip(rows[:3], rows[3:], strict=True):
            Document.objects.filter(pk=older.pk).update(superseded_by=newer)
        states = currencies([row.pk for row in rows], self.viewer)
        assert self.words(each.successor for each in states.values()) == self.expected & {
            *WORDS[3:]
        }
        return self.expected

    def reviews(self) -> set[str]:
        if self.viewer.is_anonymous:
            return self.expected
        own = {"owner": self.viewer.pk, "review_by": timezone.localdate(), "superseded_by": None}
        Document.objects.update(**own)
        return self.words(reviews.waiting_for(self.viewer))

    def facets(self) -> set[str]:
        facets = facets_for(self.viewer)
        assert facets.documents == len(self.expected)
        self.counts({option.value: option.documents for option in facets.collections})
        return self.expected

    def counts(self, told: dict[str, int]) -> None:
        """Compare numbers of documents by the slug of their collection."""
        places = [self.graph.documents[word].collection.slug for word in self.expected]
        for shelf in self.graph.shelves:
            assert told.get(shelf.slug, 0) == places.count(shelf.slug), (shelf, told)
        assert {*told} <= {shelf.slug for shelf in self.graph.shelves}

    def agents(self) -> set[str]:
        caller = tool_results.Caller(self.viewer, "http://kb.example/")
        listed = tool_results.list_collections(caller)
        self.counts({item.slug: item.documents for item in listed.collections})
        shown = set()
        for word, row in self.graph.documents.items():
            with suppress(tool_results.NotFound):
                assert word in tool_results.fetch(str(row.public_id), caller).text
                shown.add(word)
        return shown

    def api(self) -> set[str]:
        client = Client()
        if self.viewer.is_authenticated:
            limit = self.viewer.collections_limit
            AuthToken.objects.filter(user=self.viewer).delete()  # a person has 100 at most
            _, key = tokens.make(self.viewer, name="t", scopes=["read"], collections=limit)
            client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {key}"
        listed = client.get("/api/v1/collections/").json()["results"]
        self.counts({each["slug"]: each["documents"] for each in listed})
        self.counts({each["slug"]: each["searchable"] for each in listed})
        documents = client.get("/api/v1/documents/").json()["results"]
        return self.words(each["id"] for each in documents)

    def stored_answers(self) -> set[str]:
        answers = [recording.for_reader(row) for row in recording.with_sources(self.viewer)]
        assert not any(each.text or each.context.passages for each in answers if each.withheld)
        return {each.text.removeprefix("See the ")[:-1] for each in answers if not each.withheld}

    def recorded_searches(self) -> set[str]:
        if getattr(self.viewer, "is_superuser", False):
            return self.expected  # who is shown them all
        SearchEvent.objects.all().delete()
        for word, row in self.graph.documents.items():
            readers = Document.objects.get(pk=row.pk).readers_id
            SearchEvent.objects.create(
                query=word, query_class="lookup", total=1, milliseconds=1, sources=[readers]
            )
        return {event.query for event in SearchEvent.objects.visible_to(self.viewer)}

    def exported_judgements(self) -> set[str]:
        if getattr(self.viewer, "is_superuser", False):
            return self.expected  # who is given them all
        _, data = golden_import_export.export("csv", viewer=self.viewer)
        return {word for word in WORDS if f"The {word}" in data.decode()}

    def favourites(self) -> set[str]:
        if self.viewer.is_anonymous:
            return self.expected
        return self.words(favourites.favourites_of(self.viewer))

    def webhooks(self) -> set[str]:
        if self.viewer.is_anonymous or self.viewer.collections_limit is not None:
            return self.expected
        hook = Webhook.objects.get(acts_for=self.viewer)
        # Of what is in the bin they are told that it was deleted.
        rows = Document.objects.exclude(collection__in=self.graph.binned)
        return self.words(row for row in rows if sending._may_read(hook, row.readers_id))

    def exports(self) -> set[str]:
        """Of one collection, if the viewer may read that."""
        if not Collection.objects.visible_to(self.viewer).filter(pk=self.shelf.pk).exists():
            assert self.on_the_shelf() == set()
            return self.expected
        archive = ZipFile(BytesIO(b"".join(writing.streamed(self.shelf, self.viewer))))
        rows = self.graph.documents.items()
        packed = {word for word, row in rows if f"files/{row.content_hash}" in archive.namelist()}
        return packed | (self.expected - self.on_the_shelf())

    def cached_candidates(self) -> set[str]:
        """The workbench's, whose key names all that may be read."""
        width = preview.Width.of((configured := current()).profile())
        found = preview.candidates_for("vessel", width, configured, viewer=self.viewer)
        return self.words(found.candidates.documents[0].tolist())


HELPERS = ("__init__", "words", "counts", "found", "on_the_shelf")
SURFACES = [name for name, made in vars(Shown).items() if callable(made) and name not in HELPERS]


def walk(graph: Graph, steps: int, *surfaces: str) -> None:
    """Change the graph in steps; check one surface after each, in turn."""
    chance = random.Random(20_261_126)
    told = []
    for step in range(steps):
        told.append(graph.change(chance))
        surface = (surfaces or SURFACES)[step % len(surfaces or SURFACES)]
        for viewer in graph.viewers(chance):
            shown = Shown(graph, viewer, chance.choice(graph.shelves))
            limit = getattr(viewer, "collections_limit", None)
            story = f"{surface} for {viewer} ({limit}) after:\n" + "\n".join(told)
            assert getattr(shown, surface)() == shown.expected, story


def test_everybody_is_shown_what_they_may_read_and_nothing_else(graph: Graph) -> None:
    walk(graph, STEPS)


def test_cached_workbench_candidates_respect_current_rights(graph: Graph) -> None:
    viewer = graph.sailors[0]
    two = [graph.documents[word] for word in ("anchor", "binnacle")]
    for mine, hidden in (two, two[::-1]):  # what is counted stays the same
        for row, reader in ((mine, viewer), (hidden, graph.sailors[1])):
            document = Document.objects.get(pk=row.pk)
            services.restrict([document], Readers(people=[reader]), acting_user=graph.captain)
        shown = Shown(graph, viewer, graph.shelves[0]).cached_candidates()
        assert shown & {"anchor", "binnacle"} == {mine.title.split()[-1]}


def test_leak_test_detects_retrieval_without_the_visibility_filter(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unfiltered(scope: Scope) -> Scope:
        return replace(scope, made=lambda: Chunk.objects.filter(searchable=True))

    monkeypatch.setattr(Scope, "within_statement", unfiltered)
    monkeypatch.setattr(statement, "_shapes", Shapes())  # of statements with the filter
    with pytest.raises(AssertionError):
        walk(graph, STEPS, "results")


def test_leak_test_detects_a_stored_answer_with_an_unreadable_source(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = SimpleNamespace(visible_to=lambda _viewer: Document.objects.all())
    monkeypatch.setattr(records, "Document", SimpleNamespace(objects=everything))
    with pytest.raises(AssertionError):
        walk(graph, STEPS, "stored_answers")
