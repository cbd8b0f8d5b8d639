"""Titles of editions: what they share, and which is the newer one."""

from __future__ import annotations

import pytest

from ingestion.edition_titles import edition_title


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Rental terms 2023", "Rental terms 2026"),
        ("Rental terms (old)", "Rental terms"),
        ("Rental terms", "Rental Terms, final"),
        ("rental_terms_v1", "Rental terms v2"),
        ("Rental terms", "Rental terms, version 2"),
        ("Rental terms 1.9", "Rental terms 1.10"),
        ("Handbook, 2nd edition", "Handbook, 3rd edition"),
        ("Preisliste 2025 (Entwurf)", "Preisliste 2025"),
    ],
)
def test_editions_share_a_stem_and_are_ordered(older: str, newer: str) -> None:
    one, other = edition_title(older), edition_title(newer)
    assert one.stem == other.stem != ()
    assert (other.is_newer(one), one.is_newer(other)) == (True, False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Rental terms 2023", "Rental prices 2023"),
        ("INC-2024-0042", "INC-2024-0043"),
        ("Minutes 2026-03-12", "Minutes 2026-04-09"),
        ("Old town map", "Town map of Bergen"),
    ],
)
def test_other_titles_differ(one: str, other: str) -> None:
    assert edition_title(one).stem != edition_title(other).stem


def test_titles_that_do_not_tell() -> None:
    plain, dated = edition_title("Rental terms"), edition_title("Rental terms 2026")
    assert plain.stem == dated.stem
    assert plain.is_newer(dated) is None
    assert plain.is_newer(plain) is None
    assert edition_title("2026").stem == ()
