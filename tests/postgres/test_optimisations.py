"""The search for better weights on a small library: finds, drafts, cancels, is taken up again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from common.accounts.models import User
from common.jobs import Lease
from search import tasks
from search.domain import QueryClass, Weights
from search.errors import NotPermitted, RunConflict
from search.models import SearchProfile
from search.tuning import candidate_pools as pools
from search.tuning import drafts, optimisations, weight_search
from search.tuning.models import GoldenQuery, Judgement, Optimisation, ProfileChange
from tests.support.admin_client import signed_in
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

pytestmark = pytest.mark.django_db

State = Optimisation.State
COUNT = 12
FRUITS = (
    "apple", "banana", "cherry", "damson", "elder", "fig", "grape", "hazel",
    "imbe", "jujube", "kiwi", "lemon",
)  # fmt: skip


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    """Questions whose answer has the words in its text; another has them in its title."""
    with lasting(django_db_blocker):
        shelf = make_collection("Orchard")
        for fruit in FRUITS:
            good = make_document(
                shelf,
                f"The harvest of the {fruit} begins when the {fruit} is ripe: the {fruit} harvest.",
                file_name=f"a-{fruit}.md",
                title=f"Notes {FRUITS.index(fruit)}",
            )
            make_document(
                shelf,
                f"Nothing is known of this one, a page about the weather of day {fruit}.",
                file_name=f"b-{fruit}.md",
                title=f"{fruit.title()} harvest",
            )
            query = GoldenQuery.objects.create(text=f"{fruit} harvest")
            Judgement.objects.create(
                query=query, document=good, reference=good.public_id, grade=3, judge_name="judge"
            )
        yield SimpleNamespace(shelf=shelf)


@pytest.fixture(autouse=True)
def nothing_kept(library: SimpleNamespace, clean_cache: None) -> None:
    pools._pools.clear()
    pools._whatifs.clear()


@pytest.fixture(autouse=True)
def few_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts, and the present lean alone, for speed."""
    monkeypatch.setattr(weight_search, "FOLDS", 2)
    monkeypatch.setattr(weight_search, "LEANS", ())


@pytest.fixture
def misled(administrator: User) -> SearchProfile:
    """A profile that follows titles by its weights alone: the wrong ones come first."""
    active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
    draft = drafts.draft_from(active, acting_user=administrator)
    weights = dict.fromkeys(QueryClass, Weights(0, 0, 1))
    fields = {"feedback": 0.0, "confidence_threshold": 0.0, "short_lean": 0.0}
    return drafts.edit(draft, fields, weights, acting_user=administrator).profile


def started(profile: SearchProfile, user: User | None) -> Optimisation:
    return optimisations.start(profile, acting_user=user)


def finished(row: Optimisation) -> Optimisation:
    tasks.run_optimisation(row.pk)
    return Optimisation.objects.get(pk=row.pk)


class TestFinding:
    def test_better_weights_become_a_draft(
        self, misled: SearchProfile, administrator: User
    ) -> None:
        row = finished(started(misled, administrator))
        found = row.found
        assert (row.state, row.progress) == (State.DONE, 1.0)
        assert found["reliable"]
        assert found["verdict"].startswith("+0.")
        assert found["queries"] == COUNT
        assert found["gain"]["low"] > 0.05
        assert found["fitted"] > found["measured"]
        draft = row.draft
        assert draft is not None
        assert draft.is_draft
        assert draft.pk != misled.pk
        assert found["verdict"] in draft.description
        changes = ProfileChange.objects.filter(profile=draft).order_by("pk")
        assert [change.action for change in changes] == ["created", "edited"]
        assert all(change.user == administrator for change in changes)
        assert found["verdict"] in changes[1].reason
        after = Weights(**found["weights"]["after"])
        assert draft.as_profile().weights == dict.fromkeys(QueryClass, after)
        assert after.title < 1
        assert misled.as_profile().weights[QueryClass.LOOKUP].title == 1
        page = signed_in(administrator).get(f"/admin/tuning/optimisation/{row.pk}/change/")
        text = page.content.decode()
        assert found["verdict"] in text
        assert re.search(r"Title</th>\s*<td[^>]*>100%</td>", text)

    def test_the_page_says_that_weights_by_class_become_one_set(
        self, misled: SearchProfile, administrator: User
    ) -> None:
        weights = {QueryClass.CONCEPT: Weights(0, 0.1, 0.9)}
        drafts.edit(misled, {}, weights, acting_user=administrator)
        row = finished(started(misled, administrator))
        assert row.draft is not None
        assert len(set(row.draft.as_profile().weights.values())) == 1
        admin, address = signed_in(administrator), f"/admin/tuning/optimisation/{row.pk}/change/"
        page = admin.get(address).content.decode()
        assert "classes of questions have weights of their own" in page

        # As 0.3 wrote it: of weights by class the page shows the verdict alone.
        del row.found["weights"], row.found["by_class"]
        row.save()
        page = admin.get(address).content.decode()
        assert row.found["verdict"] in page
        assert "The weights stay as they are." not in page

    def test_too_few_judgements_fail_with_advice(
        self, misled: SearchProfile, administrator: User
    ) -> None:
        GoldenQuery.objects.exclude(text__lt="d").update(enabled=False)
        row = finished(started(misled, administrator))
        assert row.state == State.FAILED
        assert "golden queries with an answer are needed" in row.error
        assert row.draft is None

    def test_no_draft_is_made_without_a_gain(
        self, misled: SearchProfile, administrator: User
    ) -> None:
        weights = dict.fromkeys(QueryClass, Weights(0.1, 0.9, 0))
        drafts.edit(misled, {}, weights, acting_user=administrator)
        row = finished(started(misled, administrator))
        assert row.found["verdict"].startswith("No reliable gain")
        assert row.draft is None

    def test_a_profile_edited_meanwhile_gets_no_draft(
        self, misled: SearchProfile, administrator: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        optimise = optimisations.optimise

        def after_an_edit(*args: Any, **options: Any) -> Any:
            drafts.edit(misled, {"depth": 77}, {}, acting_user=administrator)
            return optimise(*args, **options)

        monkeypatch.setattr(optimisations, "optimise", after_an_edit)
        row = finished(started(misled, administrator))
        assert (row.state, row.draft) == (State.DONE, None)
        assert "edited since" in row.error


class TestGoingOn:
    def test_only_one_optimisation_runs_at_a_time(
        self, misled: SearchProfile, administrator: User
    ) -> None:
        row = started(misled, administrator)
        with pytest.raises(RunConflict, match="is already running"):
            started(misled, administrator)
        optimisations.cancel(row)
        assert started(misled, administrator).state == State.QUEUED

    def test_cancelled_optimisation_ends_at_its_next_progress_report(
        self, misled: SearchProfile, administrator: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row = started(misled, administrator)
        heard: list[float] = []

        def tell(self: Lease[Any], share: float) -> None:
            if self.row != row:
                return
            heard.append(share)
            if len(heard) == 3:
                optimisations.cancel(row)
            self.update(progress=share)

        monkeypatch.setattr(Lease, "report", tell)
        assert tasks.run_optimisation(row.pk) == State.CANCELLED
        assert len(heard) == 3
        row.refresh_from_db()
        assert row.finished is not None
        assert row.found == {}
        with pytest.raises(RunConflict, match="already ended"):
            optimisations.cancel(row)


class TestAsking:
    def test_optimisation_needs_the_right_to_change_profiles(
        self, misled: SearchProfile, reader: User
    ) -> None:
        with pytest.raises(NotPermitted):
            started(misled, reader)
