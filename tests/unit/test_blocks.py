"""The parts of a passage: as they were parsed, whatever the words marked and the overlap."""

from __future__ import annotations

from typing import Any

import pytest

from ingestion.chunking import ChunkingOptions, chunk_blocks
from ingestion.domain import BLOCK_SEPARATOR, Block, BlockKind, ChunkDraft
from search.presentation.passage_blocks import NamedSection, matched_section, parts_in
from search.presentation.snippets import MARK_END, MARK_START
from tests.unit.test_chunking import Words

H, P, C, L = BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.CODE, BlockKind.LIST_ITEM
BLOCKS = [
    Block(H, "Weighing", level=1),
    Block(P, "Call it like this:"),
    Block(C, "weigh(beam)\n\nweigh(hook)"),
    Block(P, "It answers in grams"),
    Block(L, "the beam", level=0),
    Block(L, "its long arm", level=1),
    Block.table([["part", "grams"], ["hook", "12"]], has_header=True),
    Block(L, "1. the mark", level=0),
]
SHOWN = [
    "heading Weighing", "text Call it like this:", "code weigh(beam)\n\nweigh(hook)",
    "text It answers in grams", "item the beam", "item its long arm", "table ",
    "numbered 1. the mark",
]  # fmt: skip


def row(draft: ChunkDraft, **fields: Any) -> dict[str, Any]:
    return {
        "marked": draft.text, "heading_path": list(draft.heading_path), "kind": draft.kind,
        "layout": [list(place) for place in draft.layout],
        "sections": [list(place) for place in draft.sections], "original": "", **fields,
    }  # fmt: skip


def drafts(blocks: list[Block], tokens: int = 200) -> list[ChunkDraft]:
    options = ChunkingOptions(target_tokens=tokens, overlap_tokens=0)
    return list(chunk_blocks(blocks, options, Words()))


def shown(row: dict[str, Any], overlap: int = 0) -> list[str]:
    return [f"{part.kind} {part.html}" for part in parts_in(row, overlap)]


def test_prose_stays_prose_and_code_stays_code_in_one_passage() -> None:
    (draft,) = drafts(BLOCKS)
    assert shown(row(draft)) == SHOWN
    # Without a layout the kinds are guessed: those of older passages, and of edited ones.
    assert shown(row(draft, original="another text")) != SHOWN


def test_marks_do_not_change_the_blocks() -> None:
    (draft,) = drafts(BLOCKS)
    text = draft.text.replace("weigh", f"{MARK_START}weigh{MARK_END}")
    text = text.replace("grams\n", f"{MARK_START}grams{MARK_END}\n", 1)
    found = shown(row(draft, marked=text))
    assert found[2] == "code <mark>weigh</mark>(beam)\n\n<mark>weigh</mark>(hook)"
    assert found[3] == "text It answers in <mark>grams</mark>"
    assert [part.split()[0] for part in found] == [part.split()[0] for part in SHOWN]


@pytest.mark.parametrize("blocks_above", range(1, 5))
def test_blocks_shown_by_the_previous_passage_are_left_out(blocks_above: int) -> None:
    (draft,) = drafts(BLOCKS)
    above = sum(len(block.text) + len(BLOCK_SEPARATOR) for block in BLOCKS[:blocks_above])
    assert shown(row(draft), above) == SHOWN[blocks_above:]
    # In the middle of a block, its rest is of the same kind.
    inside = shown(row(draft), above + 3)
    assert inside[0].split()[0] == SHOWN[blocks_above].split()[0]
    assert inside[1:] == SHOWN[blocks_above + 1 :]


def test_each_passage_of_a_cut_document_knows_its_blocks() -> None:
    prose = Block(P, " ".join(f"Sentence {n} says a little more than that." for n in range(30)))
    listing = Block(C, "\n".join(f"line_{n} = weigh({n})" for n in range(60)))
    found = drafts([BLOCKS[0], prose, listing, BLOCKS[3]], tokens=48)
    assert len(found) > 5
    for draft in found:
        parts = [(part.kind, str(part.html)) for part in parts_in(row(draft), 0)]
        assert all("line_" not in text for kind, text in parts if kind == "text")
        assert all("Sentence" not in text for kind, text in parts if kind == "code")
        assert draft.layout[0].start == 0


SETTINGS = [
    Block(H, "Sessions", level=2), Block(H, "AGE", level=3), Block(P, "Seconds of a cookie."),
    Block(H, "DOMAIN", level=3), Block(P, "Where a cookie goes."),
    Block(L, "path: Under it.", terms=("path",)),
]  # fmt: skip


def test_the_part_that_begins_a_section_has_its_anchor() -> None:
    (draft,) = drafts(SETTINGS)
    anchors = [part.anchor for part in parts_in(row(draft), 0)]
    assert anchors == ["", "age", "", "domain", "", "path"]


def test_heading_keeps_its_document_level_in_a_joined_passage() -> None:
    headings = [Block(H, name, level=level) for name, level in (("A", 1), ("B", 2), ("C", 1))]
    (draft,) = drafts([part for heading in headings for part in (heading, Block(P, "Few."))])
    levels = [part.level for part in parts_in(row(draft), 0) if part.kind == "heading"]
    assert (draft.heading_path, levels) == ((), [1, 2, 1])


@pytest.mark.parametrize(
    ("marks", "stems", "heading", "fragment"),
    [
        (("Seconds",), (), "AGE", "age"), (("cookie", "Where"), (), "DOMAIN", "domain"),
        (("cookie",), (), "AGE", "age"), (("path",), (), "path", "path"),
        (("DOMAIN", "Seconds", "cookie"), (), "DOMAIN", "domain"),
        ((), (), "Sessions", "sessions"), ((), ("domain",), "DOMAIN", "domain"),
    ],
)  # fmt: skip
def test_section_with_most_marked_words_is_the_matched_one(
    marks: tuple[str, ...], stems: tuple[str, ...], heading: str, fragment: str
) -> None:
    (draft,) = drafts(SETTINGS)
    text = draft.text
    for mark in marks:
        text = text.replace(mark, f"{MARK_START}{mark}{MARK_END}")
    found = matched_section(text, draft.heading_path, draft.sections, stems)
    assert found is not None
    assert (found.heading, found.anchor) == (heading, fragment)
    assert (found.path[0], found.path[-1]) == ("Sessions", heading)


@pytest.mark.parametrize(
    ("title", "heading"),
    [("", "Travel 2023"), ("Travel 2023", "Mileage"), ("2023.docx", "Mileage")],
)
def test_words_of_the_title_tell_no_section(title: str, heading: str) -> None:
    """In a file of Word the title is a heading of the first level, beside the others."""
    text = "Travel <2023>\n\nValid from <2023>.\n\n<Mileage>\n\n38 cents."
    marked = text.replace("<", MARK_START).replace(">", MARK_END)
    sections = [(0, 1, "Travel 2023", "travel"), (31, 1, "Mileage", "mileage")]
    found = matched_section(marked, (), sections, ("mileag", "2023"), title=title)
    assert found is not None
    assert found.heading == heading


def test_what_stands_above_the_first_heading_is_in_no_section() -> None:
    marked = f"Ref {MARK_START}KD-7{MARK_END}\n\nOffer\n\nWe offer."
    assert matched_section(marked, (), [(10, 1, "Offer", "offer")], ("kd-7",)) is None
    plain = matched_section(marked, (), [(10, 1, "Offer", "offer")], ("offer",))
    assert plain is None or plain.heading == ""


def test_a_passage_of_the_old_shape_has_the_headings_above_it() -> None:
    found = matched_section(f"{MARK_START}x{MARK_END}", ("A", "B"), ())
    assert found == NamedSection("B", "", ("A", "B"))
    assert matched_section("x", (), ()) is None
