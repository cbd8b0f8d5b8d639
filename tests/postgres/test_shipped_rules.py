"""The classifier's shipped rules are installed in order; rules that were edited stay."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from search.models import ClassRule
from search.query.shipped_rules import RULES

pytestmark = pytest.mark.django_db


def shipped_rows() -> list[tuple[str, int]]:
    return list(ClassRule.objects.values_list("name", "position"))


def test_are_installed_in_their_order() -> None:
    assert [name for name, _ in shipped_rows()] == [rule.name for rule in RULES]
    for row in ClassRule.objects.all():
        row.full_clean()


@pytest.mark.parametrize("fields", [{}, {"pattern": "x", "predicate": "is_name"}])
def test_the_database_wants_a_pattern_or_a_predicate(fields: dict[str, str]) -> None:
    with pytest.raises(IntegrityError, match="rule_pattern_or_predicate"), transaction.atomic():
        ClassRule.objects.create(name="x", query_class="code", **fields)
