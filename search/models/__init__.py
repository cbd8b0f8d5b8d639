"""W5: what administrators decide about ranking, and what was measured of it."""

from search.analytics.models.events import Interaction, SearchEvent
from search.analytics.models.gaps import Gap, GapSign, GapStep, GapWording, Sign
from search.models.curated import Calibration, Hide, Pin, Synonym
from search.models.labels import QUERY_CLASSES
from search.models.profiles import ClassWeights, ConfigurationStamp, SearchProfile
from search.models.rules import ClassRule
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
    "QUERY_CLASSES",
    "Alert",
    "Calibration",
    "CandidatePool",
    "ClassRule",
    "ClassWeights",
    "ConfigurationStamp",
    "EvaluationRun",
    "Experiment",
    "Gap",
    "GapSign",
    "GapStep",
    "GapWording",
    "GoldenQuery",
    "Hide",
    "Interaction",
    "Judgement",
    "JudgementAction",
    "Night",
    "Optimisation",
    "Pin",
    "PoolBuild",
    "ProfileChange",
    "Publication",
    "PublishGate",
    "SearchEvent",
    "SearchProfile",
    "Sign",
    "Synonym",
]
