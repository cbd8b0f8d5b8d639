"""What ships of the classifier reaches earlier installations, edited rules unharmed."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from search import presets
from search.models import ClassRule
from search.query.rules import RULES

pytestmark = pytest.mark.django_db

# Rows as the first migration's time shipped them.
DEFINITION = {
    "name": "asks for a definition",
    "position": 60,
    "pattern": r"^(define|definition of|meaning of)\b",
    "query_class": "lookup",
    "confidence": 0.8,
}


def shipped_rows() -> list[tuple[str, int]]:
    return list(ClassRule.objects.values_list("name", "position"))


def test_are_installed_in_their_order() -> None:
    assert [name for name, _ in shipped_rows()] == [rule.name for rule in RULES]
    for row in ClassRule.objects.all():
        row.full_clean()


def test_an_earlier_rule_that_nobody_edited_gives_way() -> None:
    before = shipped_rows()
    ClassRule.objects.create(**DEFINITION)
    presets.install()
    assert shipped_rows() == before


@pytest.mark.parametrize(
    "edited",
    [{"confidence": 0.7}, {"position": 5}, {"query_class": "concept"}, {"enabled": False}],
    ids=lambda edited: next(iter(edited)),
)
def test_an_earlier_rule_that_was_edited_stays(edited: dict[str, object]) -> None:
    ClassRule.objects.create(**{**DEFINITION, **edited})
    presets.install()
    row = ClassRule.objects.get(name=DEFINITION["name"])
    assert {name: getattr(row, name) for name in edited} == edited


def test_installing_again_changes_no_row() -> None:
    ClassRule.objects.filter(position=10).update(confidence=0.5)
    before = list(ClassRule.objects.values())
    presets.install()
    assert list(ClassRule.objects.values()) == before


@pytest.mark.parametrize("fields", [{}, {"pattern": "x", "predicate": "is_name"}])
def test_the_database_wants_a_pattern_or_a_predicate(fields: dict[str, str]) -> None:
    with pytest.raises(IntegrityError, match="rule_pattern_or_predicate"), transaction.atomic():
        ClassRule.objects.create(name="x", query_class="code", **fields)
