"""A profile's targets, held against its last measurement: met, missed or not measured (D18).

They inform and decide nothing: the gate compares with the active profile, and a target may be
beyond any weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from search.models import SearchProfile
from search.tuning.evaluation.golden_set import fingerprint
from search.tuning.models import EvaluationRun, ProfileTargets

NAMES = ("p95_ms", "p_at_5", "hit_at_5", "confidence", "confident_share")
# RR@10 of a question whose first answer has rank 5, less what adding floats may lose.
RANK_FIVE = 1 / 5 - 1e-9


@dataclass(frozen=True, slots=True)
class Outcome:
    """One target and its measured value; None if not measured.

    `name` is the target's field, `sentence` the expectation for people.
    """

    name: str
    sentence: str
    target: float
    measured: float | None
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None if not measured."""
        if self.measured is None:
            return None
        if self.at_most:
            return self.measured <= self.target
        return self.measured >= self.target


def of_profile(profile: SearchProfile) -> ProfileTargets:
    """The profile's targets; an unsaved row without any."""
    row = ProfileTargets.objects.filter(profile=profile).first()
    return row or ProfileTargets(profile=profile)


def copy(source: SearchProfile, draft: SearchProfile) -> None:
    """Give the draft the targets of the profile that it starts from."""
    row = of_profile(source)
    if not row._state.adding:
        values = {name: getattr(row, name) for name in NAMES}
        ProfileTargets.objects.create(profile=draft, **values)


def last_run(profile: SearchProfile) -> EvaluationRun | None:
    """The latest finished run over the golden queries that measured the profile as it is now."""
    runs = EvaluationRun.objects.filter(
        state=EvaluationRun.State.DONE,
        profile=profile,
        fingerprint=fingerprint(profile.as_profile()),
    )
    return runs.order_by("-created", "-pk").first()


def outcomes(targets: ProfileTargets, run: EvaluationRun | None) -> list[Outcome]:
    """The outcome of each target that is set; without a run, nothing is measured."""
    results: list[Outcome] = []
    rows: Mapping[str, Mapping[str, Any]] = run.by_query if run else {}
    means: Mapping[str, float] = run.measures if run else {}
    if targets.p95_ms is not None:
        p95 = run.latency_ms.get("p95") if run else None
        text = gettext("95%% of searches take at most %(wanted)d ms") % {"wanted": targets.p95_ms}
        results.append(Outcome("p95_ms", text, targets.p95_ms, p95, at_most=True))
    if targets.p_at_5 is not None:
        text = gettext("Precision@5 is at least %(wanted)s") % {"wanted": f"{targets.p_at_5:g}"}
        results.append(Outcome("p_at_5", text, targets.p_at_5, means.get("P@5")))
    if targets.hit_at_5 is not None:
        text = gettext("Hit@5 is at least %(wanted)s") % {"wanted": f"{targets.hit_at_5:g}"}
        results.append(Outcome("hit_at_5", text, targets.hit_at_5, hit_at_5(rows)))
    level, share = targets.confidence, targets.confident_share
    if level is not None and share is not None:
        text = gettext("%(share)s of the questions have a confidence of %(level)s or more") % {
            "share": f"{share:.0%}",
            "level": f"{level:g}",
        }
        results.append(Outcome("confident_share", text, share, confident_share(rows, level)))
    return results


def hit_at_5(rows: Mapping[str, Mapping[str, Any]]) -> float | None:
    """The share of measured questions whose first answer ranks fifth or better; None for none."""
    measured = [row["measures"]["RR@10"] for row in rows.values() if row.get("measures")]
    return sum(rr >= RANK_FIVE for rr in measured) / len(measured) if measured else None


def confident_share(rows: Mapping[str, Mapping[str, Any]], level: float) -> float | None:
    """The share of questions with at least this confidence; None if no confidence is known.

    Runs before this was recorded know none.
    """
    confidences = [row["confidence"] for row in rows.values() if row.get("confidence") is not None]
    return sum(sure >= level for sure in confidences) / len(confidences) if confidences else None
