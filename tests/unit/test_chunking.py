"""Chunking by example. One word is one token here, so that the sums can be done by hand."""

from __future__ import annotations

import re
import tracemalloc
from dataclasses import replace

import pytest

from ingestion.chunking import ChunkingOptions, chunk_blocks, embedding_text
from ingestion.chunking.sections import moved, paths
from ingestion.chunking.text_splitting import sentence_spans
from ingestion.domain import Block, BlockKind, ChunkDraft, extracted_text


class Words:
    def count(self, text: str) -> int:
        return len(self.spans(text))

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\S+", text)]


SMALL = ChunkingOptions(target_tokens=40, overlap_tokens=0, max_tokens=64)  # tiny: below 10


def heading(text: str, level: int = 2) -> Block:
    return Block(BlockKind.HEADING, text, level=level)


def sentence(words: int, name: str) -> str:
    return " ".join([name.capitalize(), *[name] * (words - 2), "end."])


def prose(words: int, name: str = "word", page: int | None = None) -> Block:
    """A paragraph of sentences of ten words."""
    text = " ".join(sentence(10, name) for _ in range(words // 10))
    rest = f" {sentence(words % 10, name)}" if words % 10 else ""
    return Block(BlockKind.PARAGRAPH, (text + rest).strip(), page=page)


def cut(*blocks: Block, options: ChunkingOptions = SMALL, title: str = "") -> list[ChunkDraft]:
    return list(chunk_blocks(blocks, options, Words(), title=title))


def test_an_empty_document_has_no_chunks() -> None:
    assert cut() == []
    assert cut(Block(BlockKind.PARAGRAPH, ""), Block(BlockKind.CODE, " \n ")) == []


def test_passage_without_letter_or_digit_is_left_out() -> None:
    brackets = Block(BlockKind.PARAGRAPH, "[ " * 500)
    chunks = cut(prose(40), brackets, heading("Doors"), prose(40, "door"))
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert all(re.search(r"\w", chunk.text) for chunk in chunks)
    assert {"Word", "Doors"} <= {chunk.text.split()[0] for chunk in chunks}
    assert cut(brackets) == []


def test_a_heading_goes_with_what_follows_and_is_in_text_and_path() -> None:
    (chunk,) = cut(heading("Guide", 1), heading("Install"), prose(20))
    assert chunk.text.startswith("Guide\n\nInstall\n\nWord word")
    assert chunk.heading_path == ("Guide", "Install")
    assert (chunk.kind, chunk.start, chunk.tokens) == (BlockKind.PARAGRAPH, 0, 22)


@pytest.mark.parametrize("level", [1, 2])
def test_no_chunk_crosses_a_heading_that_bounds_a_section(level: int) -> None:
    chunks = cut(heading("A", level), prose(15, "a"), heading("B", level), prose(15, "b"))
    assert [chunk.heading_path for chunk in chunks] == [("A",), ("B",)]
    assert [chunk.text.split()[0] for chunk in chunks] == ["A", "B"]


def test_two_tiny_sections_share_a_chunk_under_their_common_path() -> None:
    chunks = cut(
        heading("Terms", 1),
        *(heading("SLAM"), prose(5, "slam")),
        *(heading("EKF"), prose(5, "ekf")),
        *(heading("FK"), prose(5, "fk")),
        *(heading("Long"), prose(30, "long")),
    )
    # 7 + 6 tokens join and are no longer tiny; FK is tiny, but its neighbours are not.
    assert [chunk.heading_path for chunk in chunks] == [
        ("Terms",),
        ("Terms", "FK"),
        ("Terms", "Long"),
    ]
    assert "SLAM" in chunks[0].text
    assert "EKF" in chunks[0].text


def test_a_tiny_section_is_not_joined_to_part_of_a_long_one() -> None:
    chunks = cut(heading("A"), prose(4, "a"), heading("B"), prose(75, "b"))
    assert [chunk.heading_path for chunk in chunks] == [("A",), ("B",), ("B",)]


def test_a_subsection_opens_a_chunk_only_when_the_last_is_half_full() -> None:
    parts = [heading("S"), heading("x", 3), prose(10, "x"), heading("y", 3), prose(12, "y")]
    (chunk,) = cut(*parts)
    assert chunk.heading_path == ("S",)
    assert "\n\ny\n\nY" in chunk.text
    fuller = cut(heading("S"), heading("x", 3), prose(25, "x"), heading("y", 3), prose(12, "y"))
    assert [chunk.heading_path for chunk in fuller] == [("S", "x"), ("S", "y")]


def test_subsection_that_would_be_split_starts_its_own_chunk() -> None:
    chunks = cut(heading("S"), prose(14, "s"), heading("y", 3), prose(30, "y"))
    assert [chunk.heading_path for chunk in chunks] == [("S",), ("S", "y")]
    assert chunks[1].text.startswith("y\n\nY")


def test_headings_alone_at_the_end_are_kept() -> None:
    chunks = cut(heading("A"), prose(20), heading("B"), heading("C", 3))
    assert chunks[1].text == "B\n\nC"
    assert (chunks[1].kind, chunks[1].heading_path) == (BlockKind.HEADING, ("B", "C"))


def test_long_heading_is_prose() -> None:
    (chunk,) = cut(heading("A"), heading(" ".join(["word"] * 30), 2))
    assert chunk.heading_path == ("A",)
    assert chunk.kind is BlockKind.PARAGRAPH


def test_paragraphs_stay_whole_where_chunks_fill_well() -> None:
    chunks = cut(prose(20, "a"), prose(15, "b"), prose(20, "c"))
    assert [chunk.text.split()[0] for chunk in chunks] == ["A", "C"]


def test_a_long_paragraph_is_cut_at_sentence_ends() -> None:
    chunks = cut(prose(100))
    assert [chunk.tokens for chunk in chunks] == [40, 40, 20]
    assert all(chunk.text.endswith("end.") for chunk in chunks)


def test_short_rest_stays_in_its_passage() -> None:
    assert [chunk.tokens for chunk in cut(prose(45))] == [45]


def test_a_sentence_over_the_limit_is_cut_between_words_and_a_word_between_characters() -> None:
    chunks = cut(Block(BlockKind.PARAGRAPH, " ".join(f"w{n}" for n in range(150))))
    assert all(chunk.tokens <= 60 for chunk in chunks)
    assert " ".join(chunk.text for chunk in chunks).split() == [f"w{n}" for n in range(150)]
    giant = cut(Block(BlockKind.PARAGRAPH, "z" * 5000))
    assert "".join(chunk.text for chunk in giant) == "z" * 5000
    assert max(len(chunk.text) for chunk in giant) <= 64 * 16


def test_overlap_repeats_whole_sentences_of_the_same_section() -> None:
    options = ChunkingOptions(target_tokens=40, overlap_tokens=10, max_tokens=64)
    first, second, third, other = cut(
        heading("A"), prose(95, "a"), heading("B"), prose(20, "b"), options=options
    )
    whole = extracted_text([heading("A"), prose(95, "a"), heading("B"), prose(20, "b")])
    assert first.end - second.start == len(sentence(10, "a"))
    assert second.text == whole[second.start : second.end]
    assert second.text.startswith("A a")
    assert third.start < second.end
    assert other.start > third.end
    assert other.text.startswith("B\n\nB b")


def test_tables_and_code_are_whole_up_to_the_limit() -> None:
    code = Block(BlockKind.CODE, "\n".join(f"a = {n}" for n in range(18)))  # 54 tokens
    chunks = cut(prose(30), code, prose(30, "z"))
    assert [chunk.kind for chunk in chunks] == ["paragraph", "code", "paragraph"]
    assert chunks[1].text == code.text


def test_lead_in_stays_with_its_list_or_code() -> None:
    lead_in = Block(BlockKind.PARAGRAPH, "For example, do this:")
    code = Block(BlockKind.CODE, "\n".join(f"a = {n}" for n in range(9)))
    chunks = cut(prose(25), lead_in, code)
    assert chunks[1].text == f"{lead_in.text}\n\n{code.text}"


def test_long_code_is_cut_at_empty_lines_and_keeps_its_indentation() -> None:
    functions = [f"def f{n}():\n" + "\n".join(["    a = 1"] * 7) for n in range(4)]  # 23 tokens
    code = Block(BlockKind.CODE, "\n\n".join(functions))
    chunks = cut(code)
    assert [chunk.text for chunk in chunks] == functions
    assert chunks[1].start == code.text.index("def f1")


def test_a_long_table_is_cut_between_rows_under_its_header() -> None:
    rows = [("Code", "Meaning"), *[(f"E{n}", "one two three") for n in range(25)]]
    block = Block.table(rows, has_header=True, page=3)
    chunks = cut(heading("Errors"), block)
    assert chunks[0].text.startswith("Errors\n\nCode | Meaning\nE0 | one")
    for chunk in chunks[1:]:
        header, *lines = chunk.text.split("\n")
        assert header == "Code | Meaning"
        assert all(re.fullmatch(r"E\d+ \| one two three", line) for line in lines)
        whole = extracted_text([heading("Errors"), block])
        assert whole[chunk.start : chunk.end] == "\n".join(lines)
        assert (chunk.page, chunk.heading_path) == (3, ("Errors",))
    assert sum(chunk.text.count("E") for chunk in chunks) == 25 + 1  # and "Errors"


def test_a_row_over_the_limit_is_cut_between_cells_under_their_own_names() -> None:
    names = [f"name{n}" for n in range(30)]
    values = [f"v{n} " * 3 for n in range(30)]
    chunks = cut(Block.table([names, values], has_header=True))
    parts = [chunk for chunk in chunks if "v" in chunk.text]
    for chunk in parts:
        header, line = chunk.text.split("\n", 1)[-2:]
        columns = re.findall(r"name(\d+)", header)
        assert columns == list(dict.fromkeys(re.findall(r"v(\d+)", line)))
    assert "name29" in parts[-1].text


def test_each_piece_of_a_row_names_the_row() -> None:
    names, values = [f"name{n}" for n in range(30)], [f"v{n} " * 3 for n in range(1, 30)]
    wide = [chunk.text for chunk in cut(Block.table([names, ["Malta", *values]], has_header=True))]
    firsts = [int(re.findall(r"name(\d+)", text)[0]) for text in wide[2:]]
    assert wide[1].split("\n")[1].startswith("Malta | ")
    assert [text.split(" | ")[0] for text in wide[2:]] == [f"Malta: name{n}" for n in firsts]
    plain = cut(Block.table([names, ["", *values]], has_header=True))
    wide_head = [chunk.text for chunk in cut(Block.table([names * 4, names * 4], has_header=True))]
    assert not any(":" in text for text in [*wide_head[:2], *(chunk.text for chunk in plain)])
    rows = [("Case", "Story"), ("INC-7", " ".join(f"Word {n}." for n in range(90)))]
    stories = [chunk.text for chunk in cut(Block.table(rows, has_header=True))][2:]
    assert len(stories) > 2
    assert all(text.startswith("INC-7: Story\nWord ") for text in stories)


def test_list_items_stay_whole() -> None:
    items = [Block(BlockKind.LIST_ITEM, prose(15, f"i{n}").text) for n in range(6)]
    chunks = cut(*items)
    assert [chunk.text.count("I") for chunk in chunks] == [4, 4, 4]  # two sentences an item
    assert {chunk.kind for chunk in chunks} == {BlockKind.LIST_ITEM}


def test_no_chunk_has_text_of_two_slides() -> None:
    def slide(block: Block, page: int) -> Block:
        return replace(block, page=page)

    blocks = [
        slide(heading("Deck", 1), 1),
        slide(heading("Agenda"), 2), prose(10, "a", page=2),
        prose(10, "b", page=3),
        slide(heading("Only a title"), 4),
        slide(heading("End"), 5), prose(70, "e", page=5),
    ]  # fmt: skip
    chunks = list(chunk_blocks(blocks, SMALL, Words(), by_page=True))
    assert [chunk.page for chunk in chunks] == [1, 2, 3, 4, *[5] * (len(chunks) - 4)]
    texts = [chunk.text.split()[0] for chunk in chunks[:5]]
    assert texts == ["Deck", "Agenda", "B", "Only", "End"]
    assert [chunk.heading_path for chunk in chunks[2:4]] == [
        ("Deck", "Agenda"), ("Deck", "Only a title"),
    ]  # fmt: skip
    assert len(list(chunk_blocks(blocks, SMALL, Words()))) < len(chunks)


def test_a_chunk_has_the_page_it_starts_on() -> None:
    chunks = cut(prose(30, "a", page=1), prose(30, "b", page=2), prose(30, "c", page=3))
    assert [(chunk.ordinal, chunk.page) for chunk in chunks] == [(0, 1), (1, 2), (2, 3)]


def test_blank_blocks_are_skipped_and_long_gaps_end_a_chunk() -> None:
    blank = Block(BlockKind.PARAGRAPH, "  ")
    (chunk,) = cut(prose(10), blank, prose(10))
    assert chunk.text == extracted_text([prose(10), blank, prose(10)])
    gap = Block(BlockKind.PARAGRAPH, "\n" * 5000)
    assert [len(chunk.text.split()) for chunk in cut(prose(10), gap, prose(10))] == [10, 10]


def test_the_prefix_names_title_and_path_once() -> None:
    def embedded(title: str, path: tuple[str, ...]) -> str:
        return embedding_text(title, path, "x", Words(), SMALL)

    assert embedded("Guide", ("Guide", "Install")) == "Guide > Install\nx"
    assert embedded("Manual", ("Guide",)) == "Manual > Guide\nx"
    assert embedded("", ()) == "x"


def test_long_prefix_is_shortened_in_the_middle_first() -> None:
    path = ("one " * 8, "two " * 8, "three " * 8)
    text = embedding_text("Title", path, "x", Words(), SMALL)  # 25 of the 64 tokens
    assert text == f"Title > {'one ' * 8}> … > three three three three three three three three\nx"
    long = embedding_text("a " * 90, ("b " * 90,), "x", Words(), SMALL)
    assert Words().count(long) <= 26
    assert long.startswith("a a")
    assert long.endswith("b b\nx")


def test_a_long_prefix_leaves_less_room_for_text() -> None:
    chunks = cut(heading("h " * 19), prose(200), title="t " * 30)
    for chunk in chunks:
        whole = embedding_text("t " * 30, chunk.heading_path, chunk.text, Words(), SMALL)
        assert Words().count(whole) <= 62
    assert max(chunk.tokens for chunk in chunks) >= 0.4 * 64


def test_a_block_of_many_megabytes_is_read_in_little_memory() -> None:
    block = Block(BlockKind.PARAGRAPH, "A short sentence stands here. " * 12_000)  # 0.4 MB
    tracemalloc.start()
    count = sum(1 for _ in chunk_blocks([block], ChunkingOptions(), Words()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count > 250
    assert peak < 3_000_000  # a copy or two of the block, not the 6 MB of its offsets


def test_a_megabyte_of_dots_takes_linear_time() -> None:
    assert len(list(sentence_spans("." * 1_000_000 + "a"))) == 1


def term(name: str, words: int) -> Block:
    return Block(BlockKind.LIST_ITEM, f"{name}: {sentence(words, 'word')}", terms=(name,))


def names(chunk: ChunkDraft) -> list[tuple[str, ...]]:
    """The paths of a chunk's sections."""
    return list(paths(chunk.heading_path, chunk.sections))


def test_small_sections_in_one_chunk_keep_their_names() -> None:
    (chunk,) = cut(
        heading("Settings", 1), heading("Sessions"), heading("AGE", 3), prose(8),
        heading("DOMAIN", 3), prose(8),
    )  # fmt: skip
    above = ("Settings", "Sessions")
    assert chunk.heading_path == above
    assert names(chunk) == [above[:1], above, (*above, "AGE"), (*above, "DOMAIN")]


def test_continued_section_keeps_its_name_in_the_next_chunk() -> None:
    first, second = cut(heading("A", 1), heading("B", 3), prose(50), heading("C", 3), prose(8))
    assert (first.heading_path, names(first)) == (("A", "B"), [("A",), ("A", "B")])
    assert (second.heading_path, names(second)) == (("A",), [("A", "B"), ("A", "C")])
    assert [each.anchor for each in second.sections] == ["b", "c"]


def test_terms_are_sections_and_stay_with_their_definitions() -> None:
    more = Block(BlockKind.PARAGRAPH, sentence(9, "more"), terms=("three",))
    first, second = cut(
        heading("Glossary", 1), term("one", 12), term("two", 10), term("three", 10), more, prose(9)
    )
    assert names(first) == [("Glossary",), ("Glossary", "one"), ("Glossary", "two")]
    assert names(second) == [("Glossary", "three"), ("Glossary",)]
    assert second.text.startswith("three: ")
    assert second.text[second.sections[1].start :].startswith("Word")


def test_a_long_definition_is_all_under_its_term() -> None:
    more = Block(BlockKind.PARAGRAPH, prose(90).text, terms=("name",))
    chunks = cut(heading("API", 1), Block(BlockKind.PARAGRAPH, "name(x)", terms=("name",)), more)
    assert len(chunks) == 3
    assert all(chunk.heading_path == ("API", "name") for chunk in chunks)
    assert chunks[0].text.startswith("API\n\nname(x)\n\nWord")


def test_a_term_that_its_heading_names_is_no_section_of_its_own() -> None:
    signature = Block(BlockKind.PARAGRAPH, "Rename(old)", terms=("rename()",))
    (chunk,) = cut(heading("Rename"), signature, prose(10))
    assert names(chunk) == [("Rename",)]


def test_anchors_are_unique_in_a_document() -> None:
    blocks = [heading("Examples"), prose(5), heading("Examples 2"), prose(5), heading("EXAMPLES!")]
    anchors = [each.anchor for chunk in cut(*blocks) for each in chunk.sections]
    assert anchors == ["examples", "examples-2", "examples-3"]


def test_sections_follow_a_text_edited_by_hand() -> None:
    places = [[0, 1, "A", "a"], [10, 2, "B", "b"], [20, 2, "C", "c"]]
    edited = list(moved(places, "A. Longer text.\n\nC. Ends."))
    assert edited == [(0, 1, "A", "a"), (10, 2, "B", "b"), (17, 2, "C", "c")]
