"""Where hand edits belong after a document was parsed or cut anew, worked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.documents.hand_edit_matching import Anchor, ChunkPlace, Fit, Misfit, fits, rebased
from ingestion.documents.hand_edit_transfer import text_hash

ROPE = "The rope is ten metres long. It hangs at the second sump. Check it for wear every year."
PUMP = "The bilge pump is greased at noon by whoever has the watch, whatever the weather may be."
SAIL = "The sail is mended in the evening, and the torn one goes to the loft until spring comes."
FOOT = "Printed for the crew."


def places(*texts: str, path: Sequence[str] = ("Manual",)) -> list[ChunkPlace]:
    return [ChunkPlace(n, text, text_hash(text), tuple(path)) for n, text in enumerate(texts)]


def anchored(place: Sequence[ChunkPlace], at: int, **fields: object) -> Anchor:
    """An edit made on one of the places."""
    there = place[at]
    anchor = Anchor(
        text=there.text,
        content_hash=there.content_hash,
        hash_before=place[at - 1].content_hash if at else "",
        hash_after=place[at + 1].content_hash if at + 1 < len(place) else "",
        heading_path=there.heading_path,
        ordinal=there.ordinal,
    )
    return replace(anchor, **fields)  # type: ignore[arg-type]


def outcome(anchor: Anchor, now: Sequence[ChunkPlace]) -> Fit | Misfit:
    return fits([anchor], now)[0]


class TestSameText:
    def test_same_text_is_found_anywhere(self) -> None:
        anchor = anchored(places(ROPE, PUMP, SAIL), 1)
        assert outcome(anchor, places("New.", SAIL, "Newer.", PUMP)) == Fit(3)

    def test_neighbours_decide_among_equal_texts(self) -> None:
        anchor = anchored(places(ROPE, FOOT, PUMP, FOOT, SAIL), 3)
        assert outcome(anchor, places("New.", ROPE, FOOT, PUMP, FOOT, SAIL)) == Fit(4)

    def test_headings_decide_among_equal_texts_without_neighbours(self) -> None:
        anchor = anchored(places("Old.", FOOT, "Older.", path=("Sails",)), 1)
        now = [*places(ROPE, FOOT, PUMP), *places(FOOT, SAIL, path=("Sails",))]
        now = [replace(place, ordinal=n) for n, place in enumerate(now)]
        assert outcome(anchor, now) == Fit(3)

    def test_indistinguishable_texts_do_not_fit(self) -> None:
        anchor = anchored(places(ROPE, FOOT, PUMP), 1)
        now = places("A.", FOOT, "B.", FOOT, "C.")
        assert isinstance(outcome(anchor, now), Misfit)

    def test_ordinal_decides_in_an_unchanged_row_of_equal_texts(self) -> None:
        row = places(FOOT, FOOT, FOOT, FOOT, FOOT)
        assert outcome(anchored(row, 2), row) == Fit(2)


class TestChangedText:
    def test_changed_text_between_the_same_neighbours_is_merged(self) -> None:
        edited = ROPE.replace("ten metres", "twelve metres")
        anchor = anchored(places(PUMP, ROPE, SAIL), 1, edited=edited)
        fresh = ROPE.replace("every year", "every month")
        expected = "The rope is twelve metres long. It hangs at the second sump. " + (
            "Check it for wear every month."
        )
        assert outcome(anchor, places("New.", PUMP, fresh, SAIL)) == Fit(2, expected)

    def test_text_with_other_changes_to_the_edited_words_does_not_fit(self) -> None:
        anchor = anchored(places(PUMP, ROPE, SAIL), 1, edited=ROPE.replace("ten", "twelve"))
        found = outcome(anchor, places(PUMP, ROPE.replace("ten", "thirty"), SAIL))
        assert isinstance(found, Misfit)
        assert "have also changed" in found.reason

    def test_text_that_contains_the_edit_does_not_need_it(self) -> None:
        edited = ROPE.replace("ten", "twelve")
        found = outcome(anchored(places(PUMP, ROPE), 1, edited=edited), places(PUMP, edited))
        assert isinstance(found, Misfit)
        assert "now contains" in found.reason

    def test_different_text_between_the_same_neighbours_does_not_fit(self) -> None:
        anchor = anchored(places(PUMP, ROPE, SAIL), 1, hides=True)
        other = "Nobody has been here since the flood, and the maps are wrong about this place."
        assert isinstance(outcome(anchor, places(PUMP, other, SAIL)), Misfit)

    def test_moved_changed_text_is_found_by_its_words(self) -> None:
        anchor = anchored(places(ROPE, PUMP, SAIL), 0)
        fresh = ROPE.replace("second sump", "third sump")
        assert outcome(anchor, places(SAIL, "New.", fresh)) == Fit(2)

    def test_two_equally_similar_texts_do_not_fit(self) -> None:
        anchor = anchored(places(SAIL, ROPE, PUMP), 1)
        now = places("A.", ROPE.replace("ten", "nine"), "B.", ROPE.replace("ten", "eight"), "C.")
        assert isinstance(outcome(anchor, now), Misfit)


class TestOtherSizes:
    def test_a_larger_chunk_takes_the_change(self) -> None:
        anchor = anchored(places(ROPE, PUMP, SAIL), 1, edited=PUMP.replace("noon", "dawn"))
        whole = "\n\n".join((ROPE, PUMP, SAIL))
        assert outcome(anchor, places(whole)) == Fit(0, whole.replace("noon", "dawn"))

    def test_the_smaller_chunk_that_holds_the_changed_words_takes_it(self) -> None:
        whole = "\n\n".join((ROPE, PUMP, SAIL))
        anchor = anchored(places(whole), 0, edited=whole.replace("noon", "dawn"))
        assert outcome(anchor, places(ROPE, PUMP, SAIL)) == Fit(1, PUMP.replace("noon", "dawn"))

    def test_a_larger_chunk_is_not_hidden_for_a_smaller_one(self) -> None:
        anchor = anchored(places(ROPE, PUMP, SAIL), 1, hides=True)
        assert isinstance(outcome(anchor, places("\n\n".join((ROPE, PUMP, SAIL)))), Misfit)

    def test_two_edits_do_not_take_the_same_chunk(self) -> None:
        before = places(ROPE, PUMP, SAIL)
        anchors = [anchored(before, 1), anchored(before, 2)]
        first, second = fits(anchors, places(ROPE, f"{PUMP} {SAIL}"))
        assert isinstance(first, Fit) != isinstance(second, Fit)


words = st.lists(st.sampled_from(["a", "b", "c", "d", "e", ".", ","]), min_size=1, max_size=12).map(
    " ".join
)


@given(original=words, edited=words, fresh=words)
def test_rebasing_keeps_both_changes(original: str, edited: str, fresh: str) -> None:
    assert rebased(original, edited, original) == edited
    assert rebased(original, original, fresh) == fresh
    before, after = "Something else above. ", " And more below."
    moved = rebased(original, edited, before + original + after)
    assert moved is None or (moved.startswith(before[:9]) and moved.endswith(after[-6:]))


@given(st.lists(words.map(lambda text: f"{text} {ROPE}"), min_size=1, max_size=6), st.data())
def test_an_unchanged_document_keeps_every_edit_where_it_was(
    texts: list[str], data: st.DataObject
) -> None:
    now = places(*texts)
    at = data.draw(st.integers(0, len(texts) - 1))
    assert outcome(anchored(now, at), now) == Fit(at)


@pytest.mark.parametrize(
    ("original", "edited", "fresh", "expected"),
    [
        ("a b c", "a x c", "a b c d", "a x c d"),
        ("a b c", "a b c x", "z a b c y", "z a b c x y"),
        ("a b c", "x a b c", "z a b c y", "z x a b c y"),
        ("a b c", "a x c", "a\nb c", "a\nx c"),
        ("a b c", "a x c", "a d c", None),
        ("a b c", "a c", "c b a", None),
    ],
)
def test_edits_are_rebased_onto_new_text(
    original: str, edited: str, fresh: str, expected: str | None
) -> None:
    assert rebased(original, edited, fresh) == expected
