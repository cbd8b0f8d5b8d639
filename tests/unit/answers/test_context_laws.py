"""Laws of contexts: for all candidates, budgets and neighbours."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from search.answers.context_pieces import Piece
from search.answers.domain import AnswerParameters, Context
from tests.support.pieces import assemble, pieces_of

WORDS = ("pump", "valve", "tide", "harbour", "winch", "lamp", "quay", "rope", "字", "Öl", "1,000")


@st.composite
def libraries(draw: st.DrawFn) -> tuple[dict[int, str], list[Piece], list[Piece]]:
    """The texts of documents, the hits among their chunks, and all of their chunks."""
    texts, chunks = {}, []
    for document in range(1, draw(st.integers(1, 4)) + 1):
        lengths = draw(st.lists(st.integers(1, 40), min_size=1, max_size=8))
        # Few beginnings, so that some sentences occur twice.
        random_words = random.Random(draw(st.integers(0, 3)))
        sentences = [" ".join(random_words.choices(WORDS, k=n)) + "." for n in lengths]
        headings = draw(st.lists(st.sampled_from("AB"), min_size=len(lengths), max_size=8))
        overlap = draw(st.integers(0, 1))
        texts[document], made = pieces_of(
            document, sentences, overlap=overlap, headings=headings if draw(st.booleans()) else ()
        )
        chunks += made
    order = draw(st.permutations(chunks))[: draw(st.integers(1, len(chunks)))]
    hits = [replace(chunk, rank=rank, score=1 / rank) for rank, chunk in enumerate(order, 1)]
    return texts, hits, chunks


parameters = st.builds(
    AnswerParameters,
    context_tokens=st.integers(1, 600),
    min_passages=st.integers(1, 4),
    max_passages=st.integers(4, 8),
    expand=st.booleans(),
)
Library = tuple[dict[int, str], list[Piece], list[Piece]]


def _around(hits: Sequence[Piece], chunks: Sequence[Piece]) -> list[Piece]:
    known = {hit.chunk_id for hit in hits}
    return [chunk for chunk in chunks if chunk.chunk_id not in known]


def _made(library: Library, parameters: AnswerParameters) -> Context:
    _, hits, chunks = library
    return assemble(hits, parameters, _around(hits, chunks))


@given(libraries(), parameters)
def test_the_budget_is_never_exceeded(library: Library, parameters: AnswerParameters) -> None:
    """S5-33."""
    context = _made(library, parameters)

    assert context.tokens == sum(passage.tokens for passage in context.passages)
    assert context.tokens <= context.budget == parameters.context_tokens
    assert len(context.passages) <= parameters.max_passages


@given(libraries(), parameters)
def test_each_chunk_is_in_the_context_once(library: Library, parameters: AnswerParameters) -> None:
    """S5-12."""
    context = _made(library, parameters)

    taken = [chunk for passage in context.passages for chunk in passage.chunk_ids]
    assert len(taken) == len(set(taken))


@given(libraries(), parameters)
def test_a_passage_is_the_text_at_its_offsets(
    library: Library, parameters: AnswerParameters
) -> None:
    """S5-13."""
    texts, _, chunks = library
    by_id = {chunk.chunk_id: chunk for chunk in chunks}

    for passage in _made(library, parameters).passages:
        assert passage.text == texts[passage.document][passage.start : passage.end]
        parts = [by_id[chunk] for chunk in passage.chunk_ids]
        assert passage.start == parts[0].start
        assert passage.end <= parts[-1].end
        assert [part.ordinal for part in parts] == [
            passage.ordinal + step for step in range(len(parts))
        ]
        assert {part.heading_path[: len(passage.heading_path)] for part in parts} == {
            passage.heading_path
        }


@given(libraries(), parameters)
def test_passages_are_numbered_in_reading_order(
    library: Library, parameters: AnswerParameters
) -> None:
    """S5-14."""
    passages = _made(library, parameters).passages

    assert [passage.number for passage in passages] == list(range(1, len(passages) + 1))
    ranks = {hit.chunk_id: hit.rank for hit in library[1]}
    best: dict[int, int] = {}
    for passage in passages:
        own = min(ranks[chunk] for chunk in passage.chunk_ids if chunk in ranks)
        assert passage.rank == own
        best[passage.document] = min(own, best.get(passage.document, own))
    for one, other in pairwise(passages):
        if one.document == other.document:
            assert one.start < other.start
        else:
            assert best[one.document] < best[other.document]


@given(libraries(), parameters, st.integers(1, 600))
def test_a_larger_budget_keeps_the_best_passage(
    library: Library, parameters: AnswerParameters, more: int
) -> None:
    small = _made(library, parameters)
    budget = parameters.context_tokens + more
    large = _made(library, replace(parameters, context_tokens=budget))
    best = next(hit.chunk_id for hit in library[1] if hit.rank == 1)

    def held(context: Context) -> list[str]:
        return [each.text for each in context.passages if best in each.chunk_ids]

    if small.passages:
        assert held(small)
        assert held(large)


@given(libraries(), parameters, st.randoms())
def test_the_order_of_the_input_is_irrelevant(
    library: Library, parameters: AnswerParameters, shuffler: random.Random
) -> None:
    _, hits, chunks = library
    expected = _made(library, parameters)
    mixed, around = list(hits), _around(hits, chunks)
    shuffler.shuffle(mixed)
    shuffler.shuffle(around)

    assert assemble(mixed, parameters, around) == expected
