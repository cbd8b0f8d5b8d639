"""The passages of an answer: copies once, neighbours joined, sections around them, the budget."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock

import pytest

from ingestion.domain import BlockKind, SectionPlace
from search.answers.context_pieces import Piece, Run, estimated_tokens, passage_tokens
from search.answers.domain import AnswerParameters, Citation, Context
from search.answers.making.searching import merged
from search.domain import Hit
from tests.support.pieces import assemble, piece, pieces_of

SENTENCES = [f"Sentence {name} of the manual is here." for name in "ABCDEFGH"]
HANDOVER = (
    "Whoever leaves walks the line with whoever comes, names each machine that was stopped, and "
    "says what was done about it. Both sign the book. Valid from {date}, and nobody leaves while "
    "the alarm of the furnace is on, not even for a minute, and nobody answers the telephone."
)


def chunks(context: Context) -> list[tuple[int, ...]]:
    return [passage.chunk_ids for passage in context.passages]


def parameters(
    budget: int = 5000, least: int = 1, most: int = 8, *, expand: bool = False
) -> AnswerParameters:
    return AnswerParameters(
        context_tokens=budget, min_passages=least, max_passages=most, expand=expand
    )


def cost(*pieces: Piece) -> int:
    return sum(passage_tokens(each.title, each.heading_path, each.text) for each in pieces)


def test_context_has_at_most_eight_passages_by_rank() -> None:
    """S5-14, S5-15."""
    context = assemble([piece(n) for n in range(1, 21)], parameters())

    assert [passage.rank for passage in context.passages] == list(range(1, 9))


def test_passages_are_ordered_by_document_and_then_by_place() -> None:
    """D16."""
    _, manual = pieces_of(1, SENTENCES, ranks=[9, 3, 9, 9, 2, 9, 9, 9])
    hits = [manual[1], manual[4], piece(3, rank=1), piece(4, rank=4)]
    context = assemble(hits, parameters())

    assert chunks(context) == [(3,), (101,), (104,), (4,)]
    assert [passage.number for passage in context.passages] == [1, 2, 3, 4]


def test_an_exact_copy_is_taken_once() -> None:
    """S5-12."""
    context = assemble([piece(1, "The same."), piece(2, "The same."), piece(3)], parameters())

    assert chunks(context) == [(1,), (3,)]


def test_a_short_text_under_another_heading_is_no_copy() -> None:
    fields = {"text": "Default: 5.", "document": 1, "version": 1}
    hits = [
        piece(1, heading_path=("Retries",), **fields),
        piece(2, heading_path=("Timeout",), **fields),
    ]
    assert chunks(assemble(hits, parameters())) == [(1,), (2,)]

    long = {**fields, "text": HANDOVER}
    hits = [
        piece(1, heading_path=("Retries",), **long),
        piece(2, heading_path=("Timeout",), **long),
    ]
    assert chunks(assemble(hits, parameters())) == [(1,)]


def test_a_near_duplicate_of_another_document_is_taken_once() -> None:
    """S5-12."""
    editions = [piece(n, HANDOVER.format(date=f"{n} March 2024")) for n in (1, 2)]

    assert chunks(assemble(editions, parameters())) == [(1,)]
    # Two tables of one document may differ only in their numbers.
    same = [piece(n, each.text, document=7) for n, each in enumerate(editions, 1)]
    assert chunks(assemble(same, parameters())) == [(1,), (2,)]


@pytest.mark.parametrize("fields", [{"form": "d41"}, {"is_pinned": True}])
def test_a_near_duplicate_with_an_identifier_or_a_pin_stays(fields: dict[str, object]) -> None:
    """As in the groups of results: two reports from one form differ only in their number."""
    first = piece(1, HANDOVER.format(date="1 March 2024"), form="d40")
    context = assemble(
        [first, piece(2, HANDOVER.format(date="2 March 2024"), **fields)], parameters()
    )

    assert chunks(context) == [(1,), (2,)]


def test_neighbours_join_to_one_passage_without_their_overlap() -> None:
    """S5-13."""
    text, manual = pieces_of(1, SENTENCES, ranks=[5, 2, 1, 9, 9, 9, 9, 9], overlap=1)
    context = assemble(manual[:3], parameters())

    (passage,) = context.passages
    assert passage.chunk_ids == (100, 101, 102)
    assert passage.text == " ".join(SENTENCES[:3]) == text[passage.start : passage.end]
    assert (passage.rank, passage.score) == (1, manual[2].score)


def test_chunks_of_different_sections_stay_apart() -> None:
    """S5-13: so that a citation names the section that it means."""
    _, manual = pieces_of(1, SENTENCES[:2], ranks=[1, 2], headings=["Pool", "Timeouts"])

    passages = assemble(manual, parameters()).passages
    assert [passage.heading_path for passage in passages] == [("Pool",), ("Timeouts",)]


def test_chunk_joins_the_chunk_where_its_section_begins() -> None:
    """A file's lines that two chunks share are one passage, though the first has two sections."""
    _, (first, second) = pieces_of(1, SENTENCES[:2], ranks=[1, 2], headings=["Pool", "Pool"])
    both = (SectionPlace(0, 2, "Size", "size"), SectionPlace(5, 2, "Unit", "unit"))
    first = replace(first, sections=both)
    second = replace(
        second, heading_path=("Pool", "Unit"), sections=(SectionPlace(0, 2, "Unit", "unit"),)
    )
    assert chunks(assemble([first, second], parameters())) == [(100, 101)]
    other = replace(second, heading_path=("Pool", "Size"), sections=both[:1])
    assert chunks(assemble([first, other], parameters())) == [(100,), (101,)]


def test_joined_passage_counts_as_one() -> None:
    _, manual = pieces_of(1, SENTENCES[:3], ranks=[1, 3, 2])

    context = assemble([*manual, piece(4), piece(5)], parameters(most=2))
    assert chunks(context) == [(100, 101, 102), (4,)]


def test_a_table_goes_on_line_by_line_and_without_its_repeated_header() -> None:
    rows = "name | size\nA | 1\nB | 2"
    first = piece(1, rows, kind=BlockKind.TABLE)
    second = piece(
        2, "name | size\nC | 3", document=1, version=1, ordinal=1, kind=BlockKind.TABLE,
        start=len(rows) + 1, end=len(rows) + 6,
    )  # fmt: skip

    (passage,) = assemble([first, second], parameters()).passages
    assert passage.text == "name | size\nA | 1\nB | 2\nC | 3"


def test_a_part_of_a_row_with_names_of_its_own_is_a_table() -> None:
    first = piece(1, "name | size\nA | 1 |", kind=BlockKind.TABLE)
    second = piece(
        2, "A: weight\n7", document=1, version=1, ordinal=1, kind=BlockKind.TABLE,
        start=len(first.text) + 1, end=len(first.text) + 2,
    )  # fmt: skip

    (passage,) = assemble([first, second], parameters()).passages
    assert passage.text == "name | size\nA | 1 |\n\nA: weight\n7"
    assert [at for at, _ in passage.layout] == [0, passage.text.index("A: weight")]


def test_paragraphs_of_a_passage_stay_separate() -> None:
    first = piece(1, "One.", end=4)
    second = piece(2, "Two.", document=1, version=1, ordinal=1, start=6, end=10)

    assert assemble([first, second], parameters()).passages[0].text == "One.\n\nTwo."


def test_passage_has_the_text_edited_by_hand() -> None:
    _, manual = pieces_of(1, SENTENCES[:2], ranks=[1, 2], overlap=1)
    edited = piece(
        101, "Written anew.", document=1, version=1, ordinal=1, start=0, end=manual[1].end,
        original=manual[1].text,
    )  # fmt: skip

    assert (
        assemble([manual[0], edited], parameters()).passages[0].text.endswith("here. Written anew.")
    )


def test_passage_grows_within_its_section_and_the_budget() -> None:
    """S5-33."""
    headings = ["Pool", "Pool", "Pool", "Timeouts"]
    _, manual = pieces_of(1, SENTENCES[:4], headings=headings)
    hit = piece(9, SENTENCES[1], document=1, version=1, ordinal=1, heading_path=("Pool",),
                start=manual[1].start, end=manual[1].end, rank=1)  # fmt: skip

    assert chunks(assemble([hit], parameters(expand=True), manual)) == [(100, 9, 102)]
    assert chunks(assemble([hit], parameters(), manual)) == [(9,)]
    short = parameters(cost(hit) + estimated_tokens(SENTENCES[2]), expand=True)
    assert chunks(assemble([hit], short, manual)) == [(9, 102)]


def test_best_passage_grows_first_up_to_a_limit() -> None:
    long = [f"{name} {'word ' * 145}end." for name in "ABCDEFGHIJ"]
    _, one = pieces_of(1, long)
    _, other = pieces_of(2, long[::-1])
    hits = [piece(n, f"Hit {n} is of its own.", document=n, version=n, ordinal=10, rank=n,
                  start=one[-1].end + 1, end=one[-1].end + 24) for n in (1, 2)]  # fmt: skip
    around = [*one, *other]

    context = assemble(hits, parameters(1400, expand=True), around)
    sizes = {passage.document: len(passage.chunk_ids) for passage in context.passages}
    assert sizes == {1: 6, 2: 4}
    assert all(passage.tokens <= 800 for passage in context.passages)


def test_passages_do_not_grow_before_there_are_enough() -> None:
    """S5-15: the budget is first for six passages."""
    _, manual = pieces_of(1, ["Short.", "Also short."], ranks=[1, 0])
    hits = [manual[0], piece(2, "word " * 100), piece(3, "other " * 100)]
    around = manual[1:]

    enough = parameters(cost(*hits[:2]) + 20, least=2, expand=True)
    too_few = parameters(cost(*hits[:2]) + 20, least=3, expand=True)
    assert chunks(assemble(hits, enough, around)) == [(100, 101), (2,)]
    assert chunks(assemble(hits, too_few, around)) == [(100,), (2,)]


def test_joined_passages_make_room_for_the_next_candidate() -> None:
    _, manual = pieces_of(1, SENTENCES[:3], ranks=[1, 0, 2])
    hits = [manual[0], manual[2], piece(3)]

    context = assemble(hits, parameters(least=1, most=2, expand=True), [manual[1]])
    assert chunks(context) == [(100, 101, 102), (3,)]


def test_a_passage_that_does_not_fit_is_left_out_for_a_smaller_one() -> None:
    """S5-33."""
    hits = [piece(1), piece(2, "word " * 300), piece(3)]
    context = assemble(hits, parameters(200))

    assert chunks(context) == [(1,), (3,)]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("The first sentence. " * 200, "The first sentence. The first"),
        ("word " * 500, "word word"),
        ("字" * 500, "字字"),
    ],
    ids=["sentences", "words", "unspaced"],
)
def test_the_best_passage_is_cut_if_it_exceeds_the_budget(text: str, start: str) -> None:
    hits = [piece(1, text), piece(2, "Short.")]
    context = assemble(hits, parameters(100, expand=True))

    (passage,) = context.passages
    assert passage.text.startswith(start)
    assert text.startswith(passage.text)
    assert 80 < passage.tokens <= 100
    assert passage.end == len(passage.text)
    if "." in text:
        assert passage.text.endswith(".")


def ranking(*chunks: int) -> list[Hit]:
    return [Hit(chunk, chunk, rank, Mock(), 0) for rank, chunk in enumerate(chunks, 1)]


@pytest.mark.parametrize(
    ("rankings", "expected"),
    [
        ([], []),
        ([[3, 1, 2]], [3, 1, 2]),
        ([[1, 2, 3], [4, 5]], [1, 4, 2, 5, 3]),
        # 5 is second in two rankings, 2 in one; 9 is third in all, and after both.
        ([[1, 2, 9], [3, 5, 9], [4, 5, 9]], [1, 3, 4, 5, 2, 9]),
        ([[1, 2], [2, 1]], [1, 2]),
    ],
)
def test_several_rankings_are_merged_by_the_best_rank(
    rankings: list[list[int]], expected: list[int]
) -> None:
    """S4-13: the first of each before the second of any."""
    places = merged([ranking(*chunks) for chunks in rankings])

    assert list(places) == expected
    assert [place.rank for place in places.values()] == list(range(1, len(expected) + 1))


@pytest.mark.parametrize(
    ("text", "expected"), [("", 0), ("cat", 1), ("字字字", 3), ("2024", 2), ("Ein Satz.", 3)]
)
def test_tokens_are_estimated_like_this(text: str, expected: int) -> None:
    assert estimated_tokens(text) == expected


def test_a_citation_names_the_section_that_it_quotes() -> None:
    text = "Sessions\n\nAGE\n\nSeconds.\n\nDOMAIN\n\nWhere to."
    places = (SectionPlace(0, 1, "Sessions", "sessions"), SectionPlace(10, 2, "AGE", "age"))
    places = (*places, SectionPlace(25, 2, "DOMAIN", "domain"))
    run = Run((piece(1, text, heading_path=("Sessions",), sections=places),))
    context = Context((run.passage(1), run.passage(2)))
    start = text.index("Where")
    named = context.named_by([Citation(1), Citation(1, start, start + 5), Citation(1, 0, 3)])
    assert [each.heading_path for each in named.passages] == [("Sessions", "DOMAIN"), ("Sessions",)]
