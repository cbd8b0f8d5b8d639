"""Expressions in the database: refused when entered, if RE2 does not support them."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from ingestion.models import IdentifierPattern
from search.models.profiles import check_boosts

pytestmark = pytest.mark.django_db
LOOKS_BEHIND = r"(?<!x)ZZ[0-9]{2}"


def test_unsupported_expressions_are_refused() -> None:
    pattern = IdentifierPattern(
        name="New", regex=LOOKS_BEHIND, normaliser="lower", examples=["ZZ12"]
    )
    with pytest.raises(ValidationError, match="Looking ahead or behind"):
        pattern.full_clean()
    with pytest.raises(ValidationError, match="Looking ahead or behind"):
        check_boosts([{"name": "b", "amount": 1.5, "anchor": LOOKS_BEHIND}])
