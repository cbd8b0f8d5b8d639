"""Template filters for the figures of the workbench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

from search.presentation.labels import measure_label
from search.tuning.golden.judging import GRADES

register = template.Library()
register.filter(measure_label)

SEEN = 0.0005  # a smaller difference is shown as none


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
