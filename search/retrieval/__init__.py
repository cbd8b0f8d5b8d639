"""Q3: Query -> {Signal: raw scores} over the union of the signals' candidates, in one statement."""

from search.retrieval.backends import retrieve
from search.retrieval.filters import Filters, Scope
from search.retrieval.statement import RetrievalOptions

__all__ = ["Filters", "RetrievalOptions", "Scope", "retrieve"]
