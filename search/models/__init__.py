"""W5: what administrators decide about ranking, and what was measured of it."""

from search.models.changes import ProfileChange
from search.models.curated import Calibration, Hide, Pin, Synonym
from search.models.events import Interaction, SearchEvent
from search.models.experiments import Experiment, Optimisation
from search.models.gaps import Gap, GapSign, GapStep, GapWording, Sign
from search.models.golden import GoldenQuery, Judgement, JudgementAction
from search.models.labels import QUERY_CLASSES
from search.models.measured import ConfigurationStamp, EvaluationRun
from search.models.nights import Alert, Night
from search.models.pools import CandidatePool
from search.models.profiles import ClassWeights, SearchProfile
from search.models.publishing import Publication, PublishGate
from search.models.rules import ClassRule

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
    "ProfileChange",
    "Publication",
    "PublishGate",
    "SearchEvent",
    "SearchProfile",
    "Sign",
    "Synonym",
]
