"""W: what is judged, measured, published and tried out, and the audit of it."""

from search.tuning.models.evaluation import Alert, EvaluationRun, Night
from search.tuning.models.experiments import Experiment, Optimisation
from search.tuning.models.golden import (
    CandidatePool,
    GoldenQuery,
    Judgement,
    JudgementAction,
    PoolBuild,
)
from search.tuning.models.publishing import ProfileChange, Publication, PublishGate

__all__ = [
    "Alert",
    "CandidatePool",
    "EvaluationRun",
    "Experiment",
    "GoldenQuery",
    "Judgement",
    "JudgementAction",
    "Night",
    "Optimisation",
    "PoolBuild",
    "ProfileChange",
    "Publication",
    "PublishGate",
]
