"""The tables that configure ranking: profiles, classifier rules, synonyms, pins, hides."""

from search.models.curated import Calibration, Hide, Pin, Synonym
from search.models.profiles import ClassWeights, ConfigurationStamp, SearchProfile
from search.models.rules import QUERY_CLASSES, ClassRule

__all__ = [
    "QUERY_CLASSES",
    "Calibration",
    "ClassRule",
    "ClassWeights",
    "ConfigurationStamp",
    "Hide",
    "Pin",
    "SearchProfile",
    "Synonym",
]
