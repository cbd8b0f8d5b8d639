"""The figures of the workbench as people read them."""

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
SEEN = 0.0005  # less is written as no difference


@register.filter
def measure_label(name: str) -> str:
    """A measure by the name that people know it by."""
    return LABELS.get(name, name)


@register.filter
def grade_label(grade: str) -> str:
    """What a grade means, in two words."""
    return str(GRADES[int(grade)])


@register.filter
def signed(number: float) -> str:
    """A difference with its sign, and a true minus."""
    if abs(number) < SEEN:
        return "±0"
    return f"{number:+.3f}".replace("-", "−")


@register.filter
def direction(number: float) -> str:
    """The class of a difference: better, worse or the same."""
    if abs(number) < SEEN:
        return "wb-same"
    return "wb-better" if number > 0 else "wb-worse"


@register.filter
def item(held: Mapping[str, Any], name: str) -> Any:
    """What stands under the name; nothing where there is none."""
    return held.get(name, "")
