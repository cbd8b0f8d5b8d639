"""S5-32: a classifier of one's own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from kbsite.operations.probes.settings import query_classifier
from search.domain import Classification, Query, QueryClass
from search.engine import external_classifier
from search.pipeline import SearchResponse, search

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "empty_pause")]

LEAK = "dripping boiler at night"


@pytest.fixture
def empty_pause(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has plugged-in models of its own, which may take their time."""
    monkeypatch.setattr(external_classifier, "MODEL_SECONDS", 10.0)
    external_classifier.plugged_in.cache_clear()
    yield
    external_classifier.plugged_in.cache_clear()


def found(text: str = LEAK) -> SearchResponse:
    return search(text, viewer=None)


class Sure:
    """A classifier of one's own: everything it is asked is code."""

    asked: list[str] = []

    def classify(self, query: Query) -> Classification | None:
        self.asked.append(query.text)
        return Classification(QueryClass.CODE, "my model", 0.9)


class Undecided:
    def classify(self, query: Query) -> Classification | None:
        return None


class Slow:
    def classify(self, query: Query) -> Classification | None:
        time.sleep(3)
        return Classification(QueryClass.CODE, "too late", 0.9)


class Failing:
    def classify(self, query: Query) -> Classification | None:
        raise ConnectionError("http://secret.example is down")


class Nonsense:
    def classify(self, query: Query) -> Any:
        return "code"


class Unmakeable:
    def __init__(self) -> None:
        raise FileNotFoundError("no weights")

    def classify(self, query: Query) -> Classification | None:
        return None


HERE = "tests.postgres.test_query_classifier"
NOTE = "The query classifier did not answer: the question counts as general."


class TestOnesOwn:
    def test_external_classifier_decides_where_no_rule_matches(self, settings: Any) -> None:
        settings.QUERY_CLASSIFIER = f"{HERE}.Sure"
        Sure.asked.clear()
        for _ in range(2):
            response = found()
            assert response.classification == Classification(QueryClass.CODE, "my model", 0.9)
            assert response.notes == ()
        assert found("how does a boiler work").classification.query_class is QueryClass.CONCEPT
        assert Sure.asked == [LEAK]  # once: its answers are kept

    def test_undecided_classifier_means_general_without_a_note(self, settings: Any) -> None:
        settings.QUERY_CLASSIFIER = f"{HERE}.Undecided"
        assert found().classification.query_class is QueryClass.GENERAL
        assert found().notes == ()

    @pytest.mark.parametrize("name", ["Slow", "Failing", "Nonsense", "Unmakeable", "NoSuch"])
    def test_failing_classifier_falls_back_with_a_note(
        self,
        settings: Any,
        name: str,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        settings.QUERY_CLASSIFIER = f"{HERE}.{name}"
        monkeypatch.setattr(external_classifier, "MODEL_SECONDS", 0.05)
        response = found()
        assert response.classification.query_class is QueryClass.GENERAL
        assert NOTE in response.notes
        assert "secret" not in " ".join(response.notes)
        assert f"{HERE}.{name}" in caplog.text
        # Afterwards it rests, so that searches do not all wait for it.
        logged = len(caplog.records)
        assert NOTE in found("another dripping boiler").notes
        assert len(caplog.records) == logged

    def test_classifier_is_asked_again_after_the_pause(
        self, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.QUERY_CLASSIFIER = f"{HERE}.Failing"
        monkeypatch.setattr(external_classifier, "MODEL_PAUSE", 0.0)
        assert NOTE in found().notes
        monkeypatch.setattr(Failing, "classify", Sure.classify)
        monkeypatch.setattr(Failing, "asked", [], raising=False)
        assert found().classification.rule == "my model"

    @pytest.mark.parametrize(
        ("path", "words"),
        [
            ("", ""),
            (f"{HERE}.Sure", ""),
            (f"{HERE}.NoSuch", "cannot be imported"),
            ("no.such.module.Model", "cannot be imported"),
            (f"{HERE}.found", "not a class with a method"),
            (f"{HERE}.Query", "not a class with a method"),
        ],
    )
    def test_a_system_check_reads_the_setting(self, settings: Any, path: str, words: str) -> None:
        settings.QUERY_CLASSIFIER = path
        problems = list(query_classifier())
        assert [problem.check for problem in problems] == ["E014"] * bool(words)
        assert all(words in problem.text for problem in problems)
