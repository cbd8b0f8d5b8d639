"""A4: each sentence of an answer against the passages that it cites. Pure.

`split` and `completed` find the sentences, `check` gives each its verdict, and
`product_confidence` says what the answer is worth.
"""

from search.answers.checking.splitting import completed, split
from search.answers.checking.verdicts import (
    check,
    field_factor,
    product_confidence,
    snippet_found,
    source_credit,
)

__all__ = [
    "check",
    "completed",
    "field_factor",
    "product_confidence",
    "snippet_found",
    "source_credit",
    "split",
]
