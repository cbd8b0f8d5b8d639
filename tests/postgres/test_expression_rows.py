"""Expressions in the database: refused when entered, and named by `check` if they were before."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command

from ingestion.models import IdentifierPattern
from search.models import ClassRule, SearchProfile
from search.models.profiles import check_boosts

pytestmark = pytest.mark.django_db
LOOKS_BEHIND = r"(?<!x)ZZ[0-9]{2}"


def test_rows_with_unsupported_expressions_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("check", "--database", "default")
    assert "steelyard.W022" not in capsys.readouterr().err
    IdentifierPattern.objects.create(
        name="Before", regex=LOOKS_BEHIND, normaliser="lower", examples=["ZZ12"]
    )
    rule = ClassRule.objects.exclude(pattern="").first()
    assert rule is not None
    ClassRule.objects.filter(pk=rule.pk).update(pattern=r"(a)\1")
    SearchProfile.objects.update(
        bypass="a++", boosts=[{"name": "b", "amount": 1.5, "anchor": LOOKS_BEHIND}]
    )
    call_command("check", "--database", "default")
    printed = capsys.readouterr().err
    for words in ("identifier pattern “Before”", "classifier rule", "bypass of", "boost “b” of"):
        assert words in printed
    assert "Looking ahead or behind" in printed


def test_unsupported_expressions_are_refused() -> None:
    pattern = IdentifierPattern(
        name="New", regex=LOOKS_BEHIND, normaliser="lower", examples=["ZZ12"]
    )
    with pytest.raises(ValidationError, match="Looking ahead or behind"):
        pattern.full_clean()
    with pytest.raises(ValidationError, match="Looking ahead or behind"):
        check_boosts([{"name": "b", "amount": 1.5, "anchor": LOOKS_BEHIND}])
