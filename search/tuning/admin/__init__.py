"""Tuning in the admin: profiles, workbench, golden queries, runs, publishing."""

from search.tuning.admin.golden import GoldenQueryAdmin
from search.tuning.admin.golden_pages import JudgementAdmin
from search.tuning.admin.profiles import ScopeProfileAdmin, SearchProfileAdmin
from search.tuning.admin.publications import ProfileChangeAdmin, PublicationAdmin, PublishGateAdmin
from search.tuning.admin.runs import EvaluationRunAdmin

__all__ = [
    "EvaluationRunAdmin",
    "GoldenQueryAdmin",
    "JudgementAdmin",
    "ProfileChangeAdmin",
    "PublicationAdmin",
    "PublishGateAdmin",
    "ScopeProfileAdmin",
    "SearchProfileAdmin",
]
