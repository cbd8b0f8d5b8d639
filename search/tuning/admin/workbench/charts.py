"""The workbench's charts, drawn on the server, each with its figures as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_lazy

from common.admin.charts import WIDTH, Axis, points
from search.domain import Profile, QueryClass, Signal
from search.tuning.evaluation.whatif import WhatIfResult
from search.tuning.models import EvaluationRun
from search.tuning.workbench.comparing import LEADING, ProfileComparison, distribution

HEIGHT = 220.0
LEGEND = {"active": gettext_lazy("Active"), "draft": gettext_lazy("Draft")}
RUNS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve by its name and colour (`active`, `draft`, `answers`, `others`), as SVG points."""

    name: str
    label: str
    points: str


@dataclass(frozen=True, slots=True)
class AxisMark:
    """A named position on the x axis, drawn as a vertical line."""

    name: str
    label: str
    x: float


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart of curves. `table` has a row for each x, under `heads`."""

    title: str
    lines: tuple[Curve, ...]
    top: str
    bottom: str
    left: str
    right: str
    summary: str
    heads: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    marks: tuple[AxisMark, ...] = ()


def weight_curve(
    curve: Sequence[tuple[float, float]],
    active: Profile,
    draft: Profile,
    query_class: QueryClass,
) -> Plot | None:
    """The leading measure against the vector's weight; None without golden queries of the class."""
    if not curve:
        return None
    values = [value for _, value in curve]
    axis = _axis_around(values)
    best, most = max(curve, key=lambda point: point[1])
    weights = {
        name: profile.weights[query_class].of(Signal.VECTOR)
        for name, profile in (("active", active), ("draft", draft))
    }
    return Plot(
        gettext("%(measure)s by the weight of meaning") % {"measure": LEADING},
        (Curve("draft", gettext("Draft, other weights in proportion"), _line(curve, axis)),),
        f"{axis.high:.3f}",
        f"{axis.low:.3f}",
        "0%",
        "100%",
        gettext(
            "%(measure)s from %(without).3f without meaning to %(alone).3f with meaning only; "
            "highest at %(best)s: %(most).3f."
        )
        % {
            "measure": LEADING,
            "without": values[0],
            "alone": values[-1],
            "best": f"{best:.0%}",
            "most": most,
        },
        (gettext("Weight of meaning"), LEADING),
        tuple((f"{share:.0%}", f"{value:.4f}") for share, value in curve),
        tuple(
            AxisMark(name, f"{LEGEND[name]} {share:.0%}", share * WIDTH)
            for name, share in weights.items()
        ),
    )


def recall_curve(found: ProfileComparison) -> Plot | None:
    """Precision against recall at the measured depths, under both profiles."""
    if not found.queries:
        return None
    lines = []
    for (name, label), curve in zip(LEGEND.items(), found.curves, strict=True):
        places = [(recall, precision) for precision, recall in curve.values()]
        lines.append(Curve(name, str(label), _line(places, Axis(0.0, 1.0, HEIGHT))))
    before, after = found.curves
    return Plot(
        gettext("Precision and recall"),
        tuple(lines),
        "1",
        "0",
        gettext("recall 0"),
        "1",
        gettext(
            "Recall in the first 10 results: %(draft)s with the draft, %(active)s with the active "
            "profile."
        )
        % {"draft": f"{after[10][1]:.0%}", "active": f"{before[10][1]:.0%}"},
        (
            gettext("Results"),
            gettext("Precision, active"),
            gettext("Precision, draft"),
            gettext("Recall, active"),
            gettext("Recall, draft"),
        ),
        tuple(
            (
                str(depth),
                f"{before[depth][0]:.3f}",
                f"{after[depth][0]:.3f}",
                f"{before[depth][1]:.3f}",
                f"{after[depth][1]:.3f}",
            )
            for depth in before
        ),
    )


def score_chart(outcome: WhatIfResult) -> Plot | None:
    """The score distributions of relevant and other results, among the first ten."""
    relevant, others, top = distribution(outcome)
    if not sum(relevant) + sum(others):
        return None
    shares = [[count / max(1, sum(counts)) for count in counts] for counts in (relevant, others)]
    axis = Axis(0.0, max(map(max, shares)), HEIGHT)
    width = top / len(relevant)
    curves = [[((i + 0.5) * width, share) for i, share in enumerate(counts)] for counts in shares]
    return Plot(
        gettext("Scores of relevant and other results"),
        (
            Curve("answers", gettext("Judged 1 or better"), _line(curves[0], axis, top)),
            Curve("others", gettext("Others"), _line(curves[1], axis, top)),
        ),
        f"{axis.high:.0%}",
        "0%",
        gettext("score 0"),
        f"{top:.2f}",
        gettext(
            "Among the first ten results of all queries, %(relevant)d are relevant; %(others)d are "
            "not, or not judged. The further apart the curves, the better a threshold separates "
            "them."
        )
        % {"relevant": sum(relevant), "others": sum(others)},
        (gettext("Score from"), gettext("Relevant"), gettext("Others")),
        tuple((f"{i * width:.3f}", str(count), str(others[i])) for i, count in enumerate(relevant)),
    )


def latest_runs() -> list[EvaluationRun]:
    """The latest live runs of the golden set, with their search latencies."""
    rows = EvaluationRun.objects.filter(
        kind=EvaluationRun.Kind.GOLDEN, state=EvaluationRun.State.DONE
    )
    return list(rows.select_related("profile").defer("by_query")[:RUNS_SHOWN])


def _axis_around(values: Sequence[float]) -> Axis:
    """An axis a tenth beyond the values, and never so narrow that noise looks steep."""
    low, high = min(values), max(values)
    pad = max((high - low) * 0.1, 0.01)
    return Axis(max(0.0, low - pad), min(1.0, high + pad), HEIGHT)


def _line(places: Sequence[tuple[float, float]], axis: Axis, right: float = 1.0) -> str:
    """A curve of values over 0 to `right`."""
    return points((x / right * WIDTH, axis.y(value)) for x, value in places)
