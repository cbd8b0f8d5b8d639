"""The gate of the site: its settings, who may pass it, and its decision on a run's figures.

The rules of the decision are in `gate`, which is pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from django.utils import translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.accounts.models import User
from ingestion.models import Collection, Visibility
from search.errors import NotPermitted
from search.tuning import gate
from search.tuning.evaluation.golden_set import golden_set
from search.tuning.gate import Decision, Finding, First, Measured, Rules
from search.tuning.models import EvaluationRun, GoldenQuery, PublishGate

PUBLISH, OVERRIDE = "search.publish_searchprofile", "search.override_gate"


def permissions(*, override: bool) -> tuple[str, ...]:
    """The permissions that publishing a profile needs; more against the gate."""
    return (PUBLISH, OVERRIDE) if override else (PUBLISH,)


def check_permitted(user: User | None, refusal: str, *, override: bool = False) -> None:
    """Raise NotPermitted with `refusal` unless the user may do this. None, the system, may."""
    if user is None or user.has_perms(permissions(override=override)):
        return
    text = gettext("You do not have permission to override the gate.") if override else refusal
    raise NotPermitted(text)


NOTHING_MEASURED = _("There are no golden queries, so nothing was measured.")
SWITCHED_OFF = _("The gate is switched off, so nothing was measured.")
RESTRICTED = "a query of a restricted collection"


def gate_row() -> PublishGate:
    """The gate's settings, created with defaults if missing."""
    return PublishGate.objects.get_or_create(pk=1)[0]


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """The measurement that publishing requires: how many queries, and whether in the background.

    All `queries` are searched. `unanswered` of them have no document that answers: they have no
    measure, and count at most for their must-be-first document.
    """

    enabled: bool
    queries: int
    measured: int
    unanswered: int
    background: bool
    measure: str


def preview() -> MeasurementPlan:
    """The measurement that publishing a profile now would require."""
    settings = gate_row()
    goldens = golden_set() if settings.enabled else ()
    count, measured = len(goldens), sum(golden.is_measured for golden in goldens)
    background = count > settings.background_above
    return MeasurementPlan(
        settings.enabled, count, measured, count - measured, background, settings.measure
    )


def unmeasured() -> Decision:
    """The decision where nothing is measured: no golden queries, or the gate is off."""
    return Decision((Finding(str(NOTHING_MEASURED if gate_row().enabled else SWITCHED_OFF)),))


def verdict(run: EvaluationRun) -> Decision:
    """The gate's decision on a finished run compared with its baseline."""
    settings = gate_row()
    return gate.decide(_rules(settings), _measured(run), translation)


def _rules(settings: PublishGate) -> Rules:
    return Rules(**{each.name: getattr(settings, each.name) for each in fields(Rules)})


def _measured(run: EvaluationRun) -> Measured:
    """The gate's inputs from a finished run: its queries that still exist."""
    names = _names(list(GoldenQuery.objects.filter(pk__in=[int(key) for key in run.by_query])))
    counted = {key: row for key, row in run.by_query.items() if key in names}
    compared = run.baseline_id is not None
    values = {key: row["measures"] for key, row in counted.items() if row["measures"]}
    return Measured(
        values=values,
        before={key: counted[key]["was"] for key in values} if compared else None,
        firsts={
            key: First(
                is_first=row["first"] == row["must"],
                was_first=row["was_first"] == row["must"] if compared else None,
            )
            for key, row in counted.items()
            if row["must"]
        },
        p95=run.latency_ms.get("p95"),
        p95_before=run.latency_ms.get("baseline_p95"),
        names=names,
    )


def _names(queries: Sequence[GoldenQuery]) -> dict[str, str]:
    """The queries' texts by key, without those of restricted collections: the audit is shared."""
    closed = set(
        Collection.objects.filter(visibility=Visibility.GROUPS).values_list("slug", flat=True)
    )
    return {
        str(query.pk): RESTRICTED if closed.intersection(query.collections) else query.text
        for query in queries
    }
