"""W1: search in the admin: profiles, classifier rules, synonyms, pins, the audit."""

from search.admin.curated import HideAdmin, PinAdmin, SynonymAdmin
from search.admin.rules import ClassRuleAdmin
from search.analytics.admin.events import SearchEventAdmin
from search.analytics.admin.gaps import GapAdmin
from search.tuning.admin.changes import ProfileChangeAdmin
from search.tuning.admin.experiments import ExperimentAdmin
from search.tuning.admin.gate import PublicationAdmin, PublishGateAdmin
from search.tuning.admin.golden import GoldenQueryAdmin
from search.tuning.admin.golden_pages import JudgementAdmin
from search.tuning.admin.profiles import SearchProfileAdmin
from search.tuning.admin.runs import EvaluationRunAdmin

__all__ = [
    "ClassRuleAdmin",
    "EvaluationRunAdmin",
    "ExperimentAdmin",
    "GapAdmin",
    "GoldenQueryAdmin",
    "HideAdmin",
    "JudgementAdmin",
    "PinAdmin",
    "ProfileChangeAdmin",
    "PublicationAdmin",
    "PublishGateAdmin",
    "SearchEventAdmin",
    "SearchProfileAdmin",
    "SynonymAdmin",
]
