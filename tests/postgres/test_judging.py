"""Judgements: one a person, undone to the letter, seen by who may see the document; files."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from common.accounts.models import User
from ingestion.models import Collection, Document, Visibility
from search.errors import JudgementError, QueryTooLong
from search.tuning import golden_import_export as exchange
from search.tuning import golden_queries as golden
from search.tuning import judging
from search.tuning.golden_file_formats import FORMATS
from search.tuning.models import GoldenQuery, Judgement
from tests.support.golden_library import QUESTIONS, judge_all

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache")]
FERRY = "When does the ferry leave?"


@pytest.fixture
def documents(harbour: dict[str, Document], db: None) -> dict[str, Document]:
    return harbour


def hide(documents: dict[str, Document]) -> None:
    """Closes the documents' collection to all but superusers."""
    Collection.objects.update(visibility=Visibility.GROUPS)


def grades() -> list[tuple[str, str, int]]:
    rows = Judgement.objects.order_by("query__folded", "judge_name", "title")
    return [(row.query.text, row.judge_name, row.grade) for row in rows.select_related("query")]


class TestJudging:
    def test_each_person_has_a_judgement_of_their_own(
        self, documents: dict[str, Document], reader: User, member: User
    ) -> None:
        judging.judge(FERRY, [], documents["ferry"], 3, acting_user=reader, note="All of it.")
        same = "  when does THE ferry leave? "
        judging.judge(same, [], documents["ferry"], 1, acting_user=member)
        judging.judge(FERRY, [], documents["ferry"], 2, acting_user=reader)
        assert GoldenQuery.objects.count() == 1
        assert grades() == [(FERRY, "member", 1), (FERRY, "reader", 2)]
        assert Judgement.objects.get(judge=reader).note == "All of it."

    def test_a_golden_query_may_be_as_long_as_a_question(
        self, documents: dict[str, Document], reader: User
    ) -> None:
        long = ("水泵 " * 1333).strip()
        for text in (long, f" {long} ", long + "x"):
            judging.judge(text, [], documents["ferry"], 3, acting_user=reader)
        assert sorted(len(query.text) for query in GoldenQuery.objects.all()) == [3998, 3999]
        assert judging.find_query(long) is not None

    def test_the_same_words_in_other_collections_are_another_query(
        self, documents: dict[str, Document], reader: User
    ) -> None:
        judging.judge(FERRY, [], documents["ferry"], 3, acting_user=reader)
        judging.judge(FERRY, ["harbour"], documents["ferry"], 2, acting_user=reader)
        assert GoldenQuery.objects.count() == 2
        held = judging.find_query(FERRY, ["harbour"])
        assert held is not None
        assert held.collections == ["harbour"]
        shelf = Collection.objects.get(slug="harbour")
        shelf.slug = "port"
        shelf.save()
        assert judging.find_query(FERRY, ["port"]) == held  # it follows the new address

    @pytest.mark.parametrize(
        ("question", "grade", "said"),
        [
            (("  ", []), 1, "Enter a question"),
            (("x" * 4001, []), 1, "the limit is 4000"),
            (("ferry", ["nowhere"]), 1, "Unknown collection: nowhere"),
            (("ferry", []), 4, "not one of 0, 1, 2 and 3"),
        ],
    )
    def test_invalid_judgement_names_the_error(
        self, documents: dict[str, Document], reader: User, question: Any, grade: int, said: str
    ) -> None:
        with pytest.raises((JudgementError, QueryTooLong), match=said):
            judging.judge(*question, documents["ferry"], grade, acting_user=reader)
        assert not GoldenQuery.objects.exists()

    def test_unreadable_document_cannot_be_judged(
        self, documents: dict[str, Document], reader: User
    ) -> None:
        hide(documents)
        with pytest.raises(JudgementError, match="no such document"):
            judging.judge(FERRY, [], documents["ferry"], 3, acting_user=reader)
        with pytest.raises(JudgementError, match="no such document"):
            judging.set_must_be_first(FERRY, [], documents["ferry"], acting_user=reader)
        with pytest.raises(JudgementError, match="Unknown collection: harbour"):
            judging.ensure_query(FERRY, ["harbour"], acting_user=reader)

    def test_counts_of_judgements_leave_out_unreadable_documents(
        self, documents: dict[str, Document], administrator: User, reader: User
    ) -> None:
        judging.judge(FERRY, [], documents["ferry"], 3, acting_user=administrator)
        judging.judge("private", ["harbour"], documents["ferry"], 3, acting_user=administrator)
        hide(documents)
        rows: Any = golden.listed(reader)
        assert [(row.text, row.judged, row.spread) for row in rows] == [(FERRY, 0, None)]
        assert golden.listed(administrator).count() == 2
        assert not Judgement.objects.visible_to(reader).exists()

    def test_disagreements_are_listed_in_one_query(
        self,
        documents: dict[str, Document],
        reader: User,
        member: User,
        administrator: User,
        django_assert_num_queries: Any,
    ) -> None:
        for user, grade in ((reader, 3), (member, 1)):
            judging.judge(FERRY, [], documents["ferry"], grade, acting_user=user)
            judging.judge(FERRY, [], documents["tides"], 0, acting_user=user)
        with django_assert_num_queries(1):
            (row,) = golden.listed(administrator)
        assert (row.judged, row.judges, row.spread) == (2, 2, 2)  # type: ignore[attr-defined]


def test_steps_that_the_release_before_recorded_go_with_their_query(reader: User) -> None:
    query = GoldenQuery.objects.create(text=FERRY)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO tuning_judgementaction (query_id, kind, made_query, user_id, at)"
            " VALUES (%s, 'grade', false, %s, now())",
            (query.pk, reader.pk),
        )
        query.delete()
        cursor.execute("SELECT count(*) FROM tuning_judgementaction")
        assert cursor.fetchone() == (0,)


class TestFiles:
    @pytest.mark.parametrize("name", FORMATS)
    def test_exported_judgements_can_be_imported_again(
        self, documents: dict[str, Document], administrator: User, name: str
    ) -> None:
        judge_all(documents, administrator)
        text = next(iter(QUESTIONS))
        judging.judge(text, [], documents["river"], 1, acting_user=administrator)
        _, made = exchange.export(name, viewer=administrator)
        before = sorted((text, grade) for text, _, grade in grades())
        GoldenQuery.objects.all().delete()

        done = exchange.import_file(name, made, acting_user=administrator)
        assert (done.judgements, done.queries, done.problems) == (4, 3, [])
        assert sorted((text, grade) for text, _, grade in grades()) == before
        assert exchange.export(name, viewer=administrator)[1] == made

        again = exchange.import_file(name, made, acting_user=administrator)
        assert (again.judgements, again.queries, again.unchanged) == (0, 0, 4)

    def test_plain_csv_keeps_each_judge_and_what_must_be_first(
        self, documents: dict[str, Document], reader: User, member: User, administrator: User
    ) -> None:
        judging.judge(FERRY, ["harbour"], documents["ferry"], 3, acting_user=reader, note="Yes.")
        judging.judge(FERRY, ["harbour"], documents["ferry"], 1, acting_user=member)
        judging.set_must_be_first(FERRY, ["harbour"], documents["tides"], acting_user=member)
        _, made = exchange.export("csv", viewer=administrator)
        GoldenQuery.objects.all().delete()
        exchange.import_file("csv", made, acting_user=administrator)
        query = GoldenQuery.objects.get()
        assert (query.collections, query.must_be_first) == (["harbour"], documents["tides"])
        assert grades() == [(FERRY, "member", 1), (FERRY, "reader", 3)]
        # A file may speak in a person's name, but it is not that person.
        assert set(Judgement.objects.values_list("judge", flat=True)) == {None}
        judging.judge(FERRY, ["harbour"], documents["ferry"], 2, acting_user=reader)
        assert Judgement.objects.get(judge=reader).grade == 2
        assert exchange.export("csv", viewer=administrator)[1] != made

    def test_import_finds_documents_by_any_name_and_reports_bad_lines(
        self, documents: dict[str, Document], administrator: User
    ) -> None:
        Document.objects.filter(pk=documents["tides"].pk).update(source="/srv/tides.md")
        Document.objects.filter(pk=documents["inn"].pk).update(title="Baking")
        data = (
            f"query,document,grade\na,{documents['bread'].public_id},1\nb,/srv/tides.md,2\n"
            "c,ferry.md,3\nd,River,0\ne,Baking,1\nf,nothing,1\ng,River,9\na,bread.md,2\n"
        )
        done = exchange.import_file("csv", data.encode(), acting_user=administrator)
        assert (done.judgements, done.queries) == (4, 4)
        assert [str(problem) for problem in done.problems] == [
            "Line 6: more than one document is called 'Baking'. Use its id.",
            "Line 7: no document has the id, source, file name or title 'nothing'.",
            "Line 8: the grade 9 is not one of 0, 1, 2 and 3.",
            "Line 9: imported has already graded this document 1, not 2; that grade was kept.",
        ]
        assert Judgement.objects.get(query__text="a").grade == 1

    def test_export_and_import_leave_out_unreadable_documents(
        self, documents: dict[str, Document], administrator: User, reader: User
    ) -> None:
        judge_all(documents, administrator)
        _, made = exchange.export("csv", viewer=administrator)
        hide(documents)
        assert b"Crossing" not in exchange.export("csv", viewer=reader)[1]
        GoldenQuery.objects.all().delete()
        done = exchange.import_file("csv", made, acting_user=reader)
        assert (done.judgements, len(done.problems)) == (0, 3)
