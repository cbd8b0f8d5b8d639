"""W1: search in the admin: profiles, classifier rules, synonyms, pins, the audit."""

from django.contrib import admin

from search.admin import optimisations, workbench
from search.admin.changes import ProfileChangeAdmin
from search.admin.curated import HideAdmin, PinAdmin, SynonymAdmin
from search.admin.events import SearchEventAdmin
from search.admin.experiments import ExperimentAdmin
from search.admin.gaps import GapAdmin
from search.admin.gate import PublicationAdmin, PublishGateAdmin
from search.admin.golden import GoldenQueryAdmin
from search.admin.judgements import JudgementAdmin
from search.admin.profiles import SearchProfileAdmin
from search.admin.rules import ClassRuleAdmin
from search.admin.runs import EvaluationRunAdmin

optimisations.install(admin.site)
workbench.install(admin.site)

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
