"""The score of an explanation, recomputed from its parts."""

from __future__ import annotations

import math
from typing import Any

from search.domain import Hit, Operation


def recomputed(hit: Hit) -> float:
    """The sum of the contributions (weight x normalised), and then each adjustment in its order."""
    score = math.fsum(part.weight * part.normalised for part in hit.explanation.contributions)
    for operation, part in hit.explanation.adjustments:
        score = score + part.value if operation is Operation.SUM else score * part.value
    return score


def recomputed_json(result: dict[str, Any]) -> float:
    """The same for a result of the API, from its compact form; for additive profiles."""
    score = math.fsum(result["contributions"].values())
    for each in result["adjustments"]:
        score = score + each["value"] if each["operation"] == "sum" else score * each["value"]
    return score
