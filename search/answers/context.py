"""Candidates -> Context: the passages in reading order, under a budget of tokens. Pure.

    pieces -> select -> Selection -> grown -> context
              by rank                the sections around, while the budget lasts

docs/adr/0045-context-of-an-answer.md has the rule and its reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ingestion.chunking.sections import SECTION_TOKENS
from search.answers.checking.conflicts import conflicts
from search.answers.context_pieces import Piece, Run, estimated_tokens
from search.answers.domain import AnswerParameters, Context


@dataclass(frozen=True, slots=True)
class Selection:
    """The runs chosen from the candidates. `candidates` have no copies.

    Candidates are taken by rank, each text once: a candidate that continues a passage joins it,
    another one begins a passage while there are fewer than `max_passages`. One that exceeds the
    remaining budget is left out; only the best of all is cut. Documents are in the order of their
    best passage, the passages of one in document order.
    """

    parameters: AnswerParameters
    runs: tuple[Run, ...]
    candidates: tuple[Piece, ...] = ()
    is_cut: bool = False

    @property
    def tokens(self) -> int:
        return sum(run.tokens for run in self.runs)

    @property
    def may_grow(self) -> bool:
        """Whether passages may grow: there are at least `min_passages`, or no more candidates."""
        if self.is_cut or not self.parameters.expand or not self.runs:
            return False
        used = {piece.chunk_id for run in self.runs for piece in run.pieces}
        is_all = used.issuperset(piece.chunk_id for piece in self.candidates)
        return is_all or len(self.runs) >= self.parameters.min_passages

    def grown(self, around: Iterable[Piece]) -> Selection:
        """The selection with its passages, best first, grown by their neighbours while the budget
        lasts. Where two have grown together, the next candidate begins a passage.
        """
        if not self.may_grow:
            return self
        filling = _Filling(self.parameters.context_tokens, self.runs)
        near = {piece.place: piece for piece in (*around, *self.candidates)}
        for run in sorted(self.runs, key=_by_rank):
            filling.grow(run.best, near, _longest(self.parameters))
        filling.fill(self.candidates, self.parameters.max_passages)
        return Selection(self.parameters, tuple(filling.runs), self.candidates)

    def context(self) -> Context:
        best: dict[int, tuple[int, int]] = {}
        for run in sorted(self.runs, key=_by_rank):
            best.setdefault(run.first.document, _by_rank(run))
        ordered = sorted(self.runs, key=lambda run: (best[run.first.document], run.first.place))
        passages = tuple(run.passage(number) for number, run in enumerate(ordered, start=1))
        return Context(
            passages=passages,
            tokens=self.tokens,
            budget=self.parameters.context_tokens,
            conflicts=conflicts(passages),
        )


def select(pieces: Iterable[Piece], parameters: AnswerParameters) -> Selection:
    """Select the candidates that fit the budget, joined to runs of neighbours."""
    ranked = sorted(set(pieces), key=lambda piece: (piece.rank, piece.chunk_id))
    candidates = tuple(_without_copies(ranked))
    if candidates and Run(candidates[:1]).tokens > parameters.context_tokens:
        cut = Run(candidates[:1]).cut(parameters.context_tokens)
        return Selection(parameters, (cut,) if cut else (), candidates, is_cut=True)
    filling = _Filling(parameters.context_tokens)
    filling.fill(candidates, parameters.max_passages)
    return Selection(parameters, tuple(filling.runs), candidates)


class _Filling:
    """Runs of pieces that never exceed a budget of tokens."""

    def __init__(self, budget: int, runs: Sequence[Run] = ()) -> None:
        self._budget = budget
        self.runs = list(runs)

    def fill(self, ranked: Sequence[Piece], most: int) -> None:
        """Add the pieces that are not in a run yet, as far as the budget and `most` runs allow."""
        used = {piece.chunk_id for piece in self._pieces()}
        for piece in ranked:
            if piece.chunk_id not in used:
                self._put(piece, may_begin=len(self.runs) < most)

    def _put(self, piece: Piece, *, may_begin: bool) -> bool:
        """Add a piece if the budget allows it, joined to the runs that it touches."""
        before = [run for run in self.runs if piece.continues(run.last)]
        after = [run for run in self.runs if run.first.continues(piece)]
        if not (before or after or may_begin):
            return False
        joined = (*before, Run((piece,)), *after)
        run = Run(tuple(each for part in joined for each in part.pieces))
        others = [each for each in self.runs if each not in joined]
        if run.tokens + sum(each.tokens for each in others) > self._budget:
            return False
        self.runs = [*others, run]
        return True

    def grow(self, best: Piece, near: dict[tuple[int, int], Piece], longest: int) -> None:
        """Grow the run of piece `best` by its neighbours, in turn the following and the preceding
        one, as long as it is at most `longest` tokens.
        """
        directions = [1, -1]
        while directions:
            for step in tuple(directions):
                if not self._grown(best, near, longest, step):
                    directions.remove(step)

    def _grown(
        self, best: Piece, near: dict[tuple[int, int], Piece], longest: int, step: int
    ) -> bool:
        run = next(run for run in self.runs if best in run.pieces)
        edge = run.last if step > 0 else run.first
        piece = near.get((edge.version, edge.ordinal + step))
        if piece is None:
            return False
        continues = piece.continues(edge) if step > 0 else edge.continues(piece)
        fits = run.tokens + estimated_tokens(piece.text) <= longest
        if not (continues and fits) or any(map(piece.repeats, self._pieces())):
            return False
        return self._put(piece, may_begin=False)

    def _pieces(self) -> Iterator[Piece]:
        return (piece for run in self.runs for piece in run.pieces)


def _without_copies(ranked: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces that do not repeat a better one."""
    originals: list[Piece] = []
    for piece in ranked:
        if not any(map(piece.repeats, originals)):
            originals.append(piece)
            yield piece


def _by_rank(run: Run) -> tuple[int, int]:
    return run.best.rank, run.best.chunk_id


def _longest(parameters: AnswerParameters) -> int:
    """The most tokens to which a passage grows: those of a section, or its share of the budget."""
    return max(SECTION_TOKENS, parameters.context_tokens // max(1, parameters.max_passages))
