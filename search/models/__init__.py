"""W5: what administrators decide about ranking, and what was measured of it."""

from search.models.curated import Calibration, Pin, Synonym
from search.models.events import Interaction, SearchEvent
from search.models.golden import GoldenQuery, Judgement
from search.models.labels import QUERY_CLASSES
from search.models.measured import ConfigurationStamp, EvaluationRun
from search.models.profiles import ClassWeights, ProfileChange, SearchProfile
from search.models.rules import ClassRule

__all__ = [
    "QUERY_CLASSES",
    "Calibration",
    "ClassRule",
    "ClassWeights",
    "ConfigurationStamp",
    "EvaluationRun",
    "GoldenQuery",
    "Interaction",
    "Judgement",
    "Pin",
    "ProfileChange",
    "SearchEvent",
    "SearchProfile",
    "Synonym",
]
