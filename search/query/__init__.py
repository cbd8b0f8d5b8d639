"""String -> Query -> Classification."""

from search.query.parse import MAX_QUERY_CHARS, parse
from search.query.rule_classifier import classify
