"""Golden queries of headings and first sentences: telling ones, marked, and gone in one action."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections, transaction

from common.accounts.models import User
from ingestion.identifiers import DEFAULT_PATTERNS
from ingestion.models import Visibility
from search.errors import JudgementError, NotPermitted
from search.tuning.golden import judging, synthetic
from search.tuning.golden.synthetic import as_query, is_informative, shortened
from search.tuning.models import GoldenQuery, Judgement
from tests.support.admin_client import staff
from tests.support.factories import make_collection, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]

Origin = GoldenQuery.Origin
INTRODUCTION = "## Safety of the site\n\nRead all of this before you begin with the work.\n\n"


@pytest.fixture(scope="module")
def library(django_db_setup: None, django_db_blocker: Any) -> Iterator[SimpleNamespace]:
    with django_db_blocker.unblock(), transaction.atomic():
        mill = make_collection("Mill")
        secret = make_collection("Vault", visibility=Visibility.GROUPS, groups=["keepers"])
        texts = {
            "stones": "# Stones\n\n## Dressing the upper stone\n\nThe furrows are cut in spring.",
            "sails": f"# Sails\n\n{INTRODUCTION}## Reefing in a gale\n\nTake the sails in at once.",
            "gears": f"# Gears\n\n{INTRODUCTION}## Greasing the great spur\n\nTallow, never oil.",
        }
        for name, text in texts.items():
            make_document(mill, text, file_name=f"{name}.md")
        vault = make_document(
            secret, "# Keys\n\n## Opening the iron door\n\nTurn it twice.", file_name="keys.md"
        )
        yield SimpleNamespace(mill=mill, vault=vault)
        transaction.set_rollback(True)
    with django_db_blocker.unblock():
        connections.close_all()


def texts() -> set[str]:
    return set(GoldenQuery.objects.values_list("text", flat=True))


class TestMaking:
    def test_each_document_is_asked_for_by_words_of_its_own(
        self, library: SimpleNamespace, administrator: User
    ) -> None:
        made = synthetic.make(10, acting_user=administrator)
        assert made == synthetic.Made(queries=4, already=0)
        assert all(query.origin == Origin.SYNTHETIC for query in GoldenQuery.objects.all())
        answers = {(j.query.text, j.title, j.grade, j.judge_name) for j in Judgement.objects.all()}
        assert len({title for _, title, _, _ in answers}) == 4
        assert {(grade, judge) for _, _, grade, judge in answers} == {(2, "synthetic")}
        # What two documents hold asks for neither.
        assert not texts() & {"Safety of the site", "Read all of this before you begin"}

    def test_the_same_seed_makes_the_same_ones(
        self, library: SimpleNamespace, administrator: User
    ) -> None:
        seeds = {}
        for seed in (1, 1, 2, 3, 4):
            synthetic.make(3, seed=seed, acting_user=administrator)
            held = seeds.setdefault(seed, texts())
            assert held == texts()
            synthetic.remove(acting_user=administrator)
        assert len({frozenset(each) for each in seeds.values()}) > 1

    def test_a_closed_collection_keeps_its_words(
        self, library: SimpleNamespace, administrator: User
    ) -> None:
        outsider = staff("outsider", "add_goldenquery")
        synthetic.make(10, acting_user=administrator)
        closed = GoldenQuery.objects.get(judgements__document=library.vault)
        assert closed.collections == [library.vault.collection.slug]
        assert closed not in GoldenQuery.objects.visible_to(outsider)
        synthetic.remove(acting_user=administrator)
        assert synthetic.make(10, acting_user=outsider).queries == 3

    def test_what_people_asked_stays_theirs(
        self, library: SimpleNamespace, administrator: User
    ) -> None:
        synthetic.make(10, acting_user=administrator)
        theirs = GoldenQuery.objects.order_by("text").first()
        assert theirs is not None
        judging.judge(theirs.text, theirs.collections, library.vault, 1, acting_user=administrator)
        assert synthetic.make(10, acting_user=administrator) == synthetic.Made(0, 4)
        assert synthetic.remove(acting_user=administrator) == 3
        theirs.refresh_from_db()
        assert theirs.origin == Origin.PERSON
        assert [each.judge for each in theirs.judgements.all()] == [administrator]

    def test_asks_for_permission_and_a_number(self, administrator: User, reader: User) -> None:
        with pytest.raises(NotPermitted):
            synthetic.make(10, acting_user=reader)
        with pytest.raises(NotPermitted):
            synthetic.remove(acting_user=reader)
        with pytest.raises(JudgementError, match="1 to 500"):
            synthetic.make(501, acting_user=administrator)

    def test_the_command(
        self, library: SimpleNamespace, capsys: pytest.CaptureFixture[str]
    ) -> None:
        call_command("judgements", "synthetic", count=2)
        assert capsys.readouterr().out == ("2 synthetic queries are new; 0 existed.\n")
        call_command("judgements", "synthetic", remove=True)
        assert not GoldenQuery.objects.exists()


class TestTexts:
    @pytest.mark.parametrize(
        ("heading", "telling"),
        [
            ("Dressing the upper stone", True),
            ("Introduction", False),
            ("Table of Contents", False),
            ("Chapter 12", False),
            ("接続プールの設定", True),
            ("3.1", False),
        ],
    )
    def test_a_telling_heading(self, heading: str, telling: bool) -> None:
        assert is_informative(heading) is telling

    def test_a_long_sentence_is_cut_and_keeps_its_identifiers(self) -> None:
        sentence = (
            "The pump in the lower gallery must be greased each week by whoever is on watch, "
            "as 30 CFR 75.1725 has it."
        )
        assert shortened(sentence, DEFAULT_PATTERNS) == (
            "The pump in the lower gallery must be greased each week by 30 CFR 75.1725"
        )
        assert shortened("See below.", DEFAULT_PATTERNS) == ""

    def test_nothing_that_the_query_language_reads_otherwise(self) -> None:
        assert as_query('Step 2: "open" -the (iron) door') == "Step 2 open the iron door"
        assert as_query("rclcpp::Node in ROS 2") == "rclcpp::Node in ROS 2"
