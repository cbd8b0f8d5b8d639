"""S4-31, S5-32: the learned classifier in searches, and a classifier of one's own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import IntegrityError, transaction
from django.db.models.signals import pre_save

from common.accounts.models import User
from kbsite.operations.probes.settings import query_classifier
from search.domain import Classification, Query, QueryClass
from search.engine import classifying, configuration
from search.errors import NotPermitted, ProfileError, RunConflict
from search.models import ClassRule, LearnedClassifier
from search.pipeline import SearchResponse, search
from search.query.rule_classifier import FALLBACK_RULE
from search.tuning.evaluation.asking import class_by_our_rules
from search.tuning.golden import learning
from search.tuning.models import GoldenQuery
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "empty_pause")]

THINGS = (
    "pump",
    "valve",
    "tank",
    "pipe",
    "boiler",
    "filter",
    "hose",
    "gauge",
    "motor",
    "fan",
    "cap",
)
LEAK = "dripping boiler at night"


@pytest.fixture
def empty_pause() -> Iterator[None]:
    """Each test has plugged-in models of its own."""
    classifying.plugged_in.cache_clear()
    yield
    classifying.plugged_in.cache_clear()


def label(*, debug: int = len(THINGS), code: int = len(THINGS)) -> None:
    """Golden queries of two classes that no shipped rule matches."""
    rows = [(f"dripping {thing} at night", "debug") for thing in THINGS[:debug]]
    rows += [(f"{thing} listing please", "code") for thing in THINGS[:code]]
    GoldenQuery.objects.bulk_create(
        GoldenQuery(text=text, folded=text, query_class=query_class) for text, query_class in rows
    )


def found(text: str = LEAK) -> SearchResponse:
    return search(text, viewer=None)


class TestTraining:
    def test_is_refused_under_the_least_number_of_a_class(self) -> None:
        for counts, words in (
            ({"debug": 0, "code": 0}, "at least 10 of each of two classes"),
            ({"code": 0}, "at least 10 of each of two classes"),
            ({"debug": 9}, "at least 10 golden queries: debug has 9."),
        ):
            GoldenQuery.objects.all().delete()
            label(**counts)
            with pytest.raises(ProfileError, match=words):
                learning.learn(acting_user=None)
        assert not LearnedClassifier.objects.exists()

    def test_only_enabled_queries_with_a_class_count(self) -> None:
        label()
        GoldenQuery.objects.create(text="no class at all")
        GoldenQuery.objects.create(text="dripping again", query_class="debug", enabled=False)
        GoldenQuery.objects.create(text="dripping type:poem", query_class="debug")  # refused
        counts = learning.counts_by_class(learning.labelled_queries())
        assert counts == {QueryClass.CODE: 11, QueryClass.DEBUG: 11}

    def test_keeps_versions_with_their_figures(self, administrator: User) -> None:
        label()
        GoldenQuery.objects.create(text="INC-2024-0042", query_class="lookup")
        GoldenQuery.objects.update(enabled=True)
        GoldenQuery.objects.filter(query_class="lookup").update(query_class="debug")
        first = learning.learn(acting_user=administrator)
        assert (first.version, first.queries, first.in_use) == (1, 23, False)
        figures = first.measures
        assert figures["queries"] == 23
        assert figures["unmatched"] == 22
        # A rule calls the identifier a lookup, whatever its label says; the others are general.
        assert figures["rules"] == 0
        assert figures["majority"] == 12
        assert figures["commonest"] == "debug"
        assert figures["confusion"]["debug"]["lookup"] == 1
        assert sum(sum(row.values()) for row in figures["confusion"].values()) == 23
        at_half = figures["thresholds"][0]
        assert at_half["decided"] == at_half["right"] == 22
        assert at_half["before"] == 0
        second = learning.learn(acting_user=administrator, threshold=0.55)
        assert second.version == 2
        assert [each["threshold"] for each in second.measures["thresholds"]][:2] == [0.5, 0.55]
        first.refresh_from_db()
        assert first.measures == figures
        entries = LogEntry.objects.filter(user=administrator)
        assert [entry.change_message for entry in entries] == ["Trained on 23 golden queries"] * 2

    def test_two_at_a_time_end_with_one_version_and_an_error(self) -> None:
        label()

        def overtake(sender: Any, instance: LearnedClassifier, **_: Any) -> None:
            """The other training's row, after this one has chosen its version."""
            values = {"version": instance.version, "threshold": 0.5, "queries": 22}
            LearnedClassifier.objects.bulk_create(
                [LearnedClassifier(model=instance.model, measures=instance.measures, **values)]
            )

        pre_save.connect(overtake, sender=LearnedClassifier)
        try:
            with pytest.raises(RunConflict, match="Try again"):
                learning.learn(acting_user=None)
        finally:
            pre_save.disconnect(overtake, sender=LearnedClassifier)
        assert learning.learn(acting_user=None).version == 1

    def test_needs_the_permission(self, reader: User) -> None:
        label()
        with pytest.raises(NotPermitted):
            learning.learn(acting_user=reader)
        row = learning.learn(acting_user=None)
        for act in (learning.use, learning.stop):
            with pytest.raises(NotPermitted):
                act(row, acting_user=reader)


class TestMeasured:
    def test_by_hand(self) -> None:
        """Two of four are matched by a rule; of the others one is surer than .7, and right."""
        by_rule = Classification(QueryClass.DEBUG, "a rule", 0.9)
        none = Classification(QueryClass.GENERAL, FALLBACK_RULE, 0.5)
        query = Query(text="x", identifiers=())
        labelled = [
            learning.Labelled(query, QueryClass.DEBUG, by_rule),
            learning.Labelled(query, QueryClass.CODE, by_rule),
            learning.Labelled(query, QueryClass.DEBUG, none),
            learning.Labelled(query, QueryClass.GENERAL, none),
        ]
        given = [
            (QueryClass.CODE, 0.99), (QueryClass.CODE, 0.99),
            (QueryClass.DEBUG, 0.75), (QueryClass.DEBUG, 0.65),
        ]  # fmt: skip
        figures = learning.measured(labelled, given, 0.7)
        assert learning.verdict(figures).startswith("It gives 1 more right class than the rules")
        assert "leave it out of use" in learning.verdict(learning.measured(labelled, given, 0.8))
        assert (figures["rules"], figures["learned"], figures["both"]) == (2, 2, 3)
        assert (figures["majority"], figures["unmatched"]) == (2, 2)
        at = {each["threshold"]: each for each in figures["thresholds"]}
        assert at[0.7] == {"threshold": 0.7, "decided": 1, "right": 1, "before": 0}
        assert at[0.6] == {"threshold": 0.6, "decided": 2, "right": 1, "before": 1}
        assert figures["confusion"] == {
            "debug": {"debug": 2}, "code": {"debug": 1}, "general": {"general": 1},
        }  # fmt: skip


class TestUse:
    def test_acts_on_the_next_search_and_stops(
        self, administrator: User, django_assert_num_queries: Any
    ) -> None:
        make_document(make_collection(), "# Boiler\n\nA dripping boiler at night.")
        label()
        row = learning.learn(acting_user=administrator)
        assert found().classification.rule == FALLBACK_RULE

        learning.use(row, acting_user=administrator)
        response = found()
        assert response.classification.query_class is QueryClass.DEBUG
        assert response.classification.rule.startswith("learned from 22 golden queries: p = 0.")
        assert response.weights == response.profile.weights[QueryClass.DEBUG]
        assert class_by_our_rules(response) is QueryClass.DEBUG
        with django_assert_num_queries(3):  # the stamp, the candidates, the page
            found()
        assert found("how does a boiler work").classification.query_class is QueryClass.CONCEPT
        assert found("zzz").classification.query_class is QueryClass.GENERAL

        learning.stop(row, acting_user=administrator)
        assert found().classification.rule == FALLBACK_RULE
        messages = LogEntry.objects.filter(user=administrator).order_by("pk")
        assert [m.change_message for m in messages][1:] == ["Put in use", "Taken out of use"]

    def test_one_at_a_time(self) -> None:
        label()
        first, second = (learning.learn(acting_user=None) for _ in range(2))
        learning.use(first, acting_user=None)
        with pytest.raises(RunConflict, match="in use already"):
            learning.use(first, acting_user=None)
        learning.use(second, acting_user=None)
        assert LearnedClassifier.objects.get(in_use=True) == second
        with pytest.raises(RunConflict, match="is not in use"):
            learning.stop(first, acting_user=None)
        with pytest.raises(IntegrityError), transaction.atomic():
            LearnedClassifier.objects.update(in_use=True)

    def test_a_row_that_holds_no_model_is_left_out(self) -> None:
        LearnedClassifier.objects.create(version=1, model={}, queries=1, in_use=True)
        configuration.bump()
        assert found().classification.rule == FALLBACK_RULE


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
        time.sleep(0.5)
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


HERE = "tests.postgres.test_learned_classifier"
NOTE = "The query classifier did not answer; the question was classified without."


class TestOnesOwn:
    def test_decides_where_no_rule_matches(self, settings: Any) -> None:
        settings.QUERY_CLASSIFIER = f"{HERE}.Sure"
        Sure.asked.clear()
        for _ in range(2):
            response = found()
            assert response.classification == Classification(QueryClass.CODE, "my model", 0.9)
            assert response.notes == ()
        assert found("how does a boiler work").classification.query_class is QueryClass.CONCEPT
        assert Sure.asked == [LEAK]  # once: its answers are kept

    def test_undecided_is_general_without_a_note(self, settings: Any) -> None:
        settings.QUERY_CLASSIFIER = f"{HERE}.Undecided"
        assert found().classification.query_class is QueryClass.GENERAL
        assert found().notes == ()

    @pytest.mark.parametrize("name", ["Slow", "Failing", "Nonsense", "Unmakeable", "NoSuch"])
    def test_a_failure_falls_back_aloud(
        self, settings: Any, name: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        settings.QUERY_CLASSIFIER = f"{HERE}.{name}"
        settings.QUERY_CLASSIFIER_TIMEOUT = 0.05
        started = time.monotonic()
        response = found()
        assert response.classification.query_class is QueryClass.GENERAL
        assert NOTE in response.notes
        assert "secret" not in " ".join(response.notes)
        assert f"{HERE}.{name}" in caplog.text
        # Afterwards it rests, so that searches do not all wait for it.
        logged = len(caplog.records)
        assert NOTE in found("another dripping boiler").notes
        assert len(caplog.records) == logged
        assert time.monotonic() - started < 10

    def test_the_limit_is_kept(self, settings: Any) -> None:
        settings.QUERY_CLASSIFIER_TIMEOUT = 0.05
        model = classifying.plugged_in(f"{HERE}.Slow")
        started = time.monotonic()
        with pytest.raises(classifying.ModelFailed):
            model.classify(Query(text="x", identifiers=()))
        assert time.monotonic() - started < 0.4

    def test_after_the_pause_it_is_asked_again(
        self, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.QUERY_CLASSIFIER = f"{HERE}.Failing"
        monkeypatch.setattr(classifying, "PAUSE_SECONDS", 0.0)
        assert NOTE in found().notes
        monkeypatch.setattr(Failing, "classify", Sure.classify)
        monkeypatch.setattr(Failing, "asked", [], raising=False)
        assert found().classification.rule == "my model"

    def test_the_learned_classifier_stands_in(self, settings: Any) -> None:
        label()
        learning.use(learning.learn(acting_user=None), acting_user=None)
        settings.QUERY_CLASSIFIER = f"{HERE}.Failing"
        response = found()
        assert response.classification.rule.startswith("learned from 22")
        assert NOTE in response.notes

    @pytest.mark.parametrize(
        ("path", "words"),
        [
            ("", ""),
            (f"{HERE}.Sure", ""),
            (f"{HERE}.NoSuch", "cannot be imported"),
            ("no.such.module.Model", "cannot be imported"),
            (f"{HERE}.label", "not a class with a method"),
            (f"{HERE}.User", "not a class with a method"),
        ],
    )
    def test_a_system_check_reads_the_setting(self, settings: Any, path: str, words: str) -> None:
        settings.QUERY_CLASSIFIER = path
        problems = list(query_classifier())
        assert [problem.check for problem in problems] == ["E014"] * bool(words)
        assert all(words in problem.text for problem in problems)


def test_a_new_rule_comes_before_it() -> None:
    label()
    learning.use(learning.learn(acting_user=None), acting_user=None)
    ClassRule.objects.create(name="drips", pattern=r"\bdripping\b", query_class="concept")
    assert found().classification.rule == "drips"
