"""W1: tuning in the admin: profiles, the workbench, golden queries, runs, the gate, the audit."""

from django.contrib import admin

from search.tuning.admin import optimisations
from search.tuning.admin.changes import ProfileChangeAdmin
from search.tuning.admin.experiments import ExperimentAdmin
from search.tuning.admin.gate import PublicationAdmin, PublishGateAdmin
from search.tuning.admin.golden import GoldenQueryAdmin
from search.tuning.admin.golden_pages import JudgementAdmin
from search.tuning.admin.profiles import SearchProfileAdmin
from search.tuning.admin.runs import EvaluationRunAdmin
from search.tuning.admin.workbench import pages as workbench

optimisations.install(admin.site)
workbench.install(admin.site)

__all__ = [
    "EvaluationRunAdmin",
    "ExperimentAdmin",
    "GoldenQueryAdmin",
    "JudgementAdmin",
    "ProfileChangeAdmin",
    "PublicationAdmin",
    "PublishGateAdmin",
    "SearchProfileAdmin",
]
