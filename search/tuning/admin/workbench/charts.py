"""The workbench's charts, each with its figures as a table."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext, gettext_lazy

from common.admin.charts import ACCENT, PLAIN, Chart, Series, points
from search.domain import Profile, QueryClass, Signal
from search.tuning.evaluation.whatif import WhatIfResult
from search.tuning.models import EvaluationRun
from search.tuning.workbench.comparing import LEADING, ProfileComparison, distribution

LEGEND = {"active": gettext_lazy("Active"), "draft": gettext_lazy("Draft")}
COLOURS = {"active": PLAIN, "draft": ACCENT}
RUNS_SHOWN = 8


def weight_curve(
    curve: Sequence[tuple[float, float]],
    active: Profile,
    draft: Profile,
    query_class: QueryClass,
) -> Chart | None:
    """The leading measure against the vector's weight; None without golden queries of the class."""
    if not curve:
        return None
    values = [value for _, value in curve]
    best, most = max(curve, key=lambda point: point[1])
    # Never so narrow that noise looks steep.
    pad = max((max(values) - min(values)) * 0.1, 0.01)
    low, high = max(0.0, min(values) - pad), min(1.0, max(values) + pad)
    marks = []
    for (name, colour), profile in zip(COLOURS.items(), (active, draft), strict=True):
        share = profile.weights[query_class].of(Signal.VECTOR)
        places = points([(share, low), (share, high)])
        marks.append(Series(f"{LEGEND[name]} {share:.0%}", places, colour, is_dashed=True))
    return Chart(
        gettext("%(measure)s by the weight of meaning") % {"measure": LEADING},
        (Series(gettext("Draft, other weights in proportion"), points(curve)), *marks),
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
        x_title=gettext("Weight of meaning"),
        y_axis={"min": low, "max": high},
    )


def recall_curve(comparison: ProfileComparison) -> Chart | None:
    """Precision against recall at the measured depths, under both profiles."""
    if not comparison.queries:
        return None
    lines = []
    for (name, colour), curve in zip(COLOURS.items(), comparison.curves, strict=True):
        places = [(recall, precision) for precision, recall in curve.values()]
        lines.append(Series(str(LEGEND[name]), points(places), colour))
    before, after = comparison.curves
    return Chart(
        gettext("Precision and recall"),
        tuple(lines),
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
        x_title=gettext("Recall"),
        y_axis={"min": 0, "max": 1},
    )


def score_chart(outcome: WhatIfResult) -> Chart | None:
    """The score distributions of relevant and other results, among the first ten."""
    relevant, others, top = distribution(outcome)
    if not sum(relevant) + sum(others):
        return None
    shares = [[count / max(1, sum(counts)) for count in counts] for counts in (relevant, others)]
    width = top / len(relevant)
    curves = [points(((i + 0.5) * width, share) for i, share in enumerate(row)) for row in shares]
    return Chart(
        gettext("Scores of relevant and other results"),
        (
            Series(gettext("Judged 1 or better"), curves[0]),
            Series(gettext("Others"), curves[1], PLAIN),
        ),
        gettext(
            "Among the first ten results of all queries, %(relevant)d are relevant; %(others)d are "
            "not, or not judged. The further apart the curves, the better a threshold separates "
            "them."
        )
        % {"relevant": sum(relevant), "others": sum(others)},
        (gettext("Score from"), gettext("Relevant"), gettext("Others")),
        tuple((f"{i * width:.3f}", str(count), str(others[i])) for i, count in enumerate(relevant)),
        x_title=gettext("Score"),
        y_axis={"beginAtZero": True},
    )


def latest_runs() -> list[EvaluationRun]:
    """The latest live runs of the golden set, with their search latencies."""
    rows = EvaluationRun.objects.filter(
        kind=EvaluationRun.Kind.GOLDEN, state=EvaluationRun.State.DONE
    )
    return list(rows.select_related("profile").defer("by_query")[:RUNS_SHOWN])
