"""A1: results -> the passages that an answer may stand on, under a token budget.

`context_of` reads the hits' chunks as the viewer; `assemble`, which is pure, makes the context.
"""

from search.answers.context.assembly import assemble
from search.answers.context.pieces import Piece
from search.answers.context.reading import context_of, context_of_all

__all__ = ["Piece", "assemble", "context_of", "context_of_all"]
