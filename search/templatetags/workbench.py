"""Template filters for the figures of the workbench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

from search.tuning.golden.judging import GRADES

register = template.Library()

LABELS = {
    "nDCG@10": "nDCG@10",
    "RR@10": "MRR",
    "R@10": "Recall@10",
    "P@5": "P@5",
    "Success@1": "Hit@1",
}
SEEN = 0.0005  # a smaller difference is shown as none


@register.filter
def measure_label(name: str) -> str:
    """The common name of a measure."""
    return LABELS.get(name, name)


@register.filter
def grade_label(grade: str) -> str:
    """The label of a grade."""
    return str(GRADES[int(grade)])


@register.filter
def signed(number: float) -> str:
    """A difference with its sign, and a typographic minus."""
    if abs(number) < SEEN:
        return "±0"
    return f"{number:+.3f}".replace("-", "−")


@register.filter
def direction(number: float) -> str:
    """The CSS class of a difference: better, worse or the same."""
    if abs(number) < SEEN:
        return "wb-same"
    return "wb-better" if number > 0 else "wb-worse"


@register.filter
def item(held: Mapping[str, Any], name: str) -> Any:
    """The value under the name; an empty string if there is none."""
    return held.get(name, "")
