"""Q1-Q2: string -> Query -> Classification."""

from search.query.classify import ClassifierRule, classify
from search.query.parse import MAX_QUERY_CHARS, parse

__all__ = ["MAX_QUERY_CHARS", "ClassifierRule", "classify", "parse"]
