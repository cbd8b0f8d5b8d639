"""W1: search in the admin: profiles, classifier rules, synonyms, pins, the audit."""

from search.admin.changes import ProfileChangeAdmin
from search.admin.curated import PinAdmin, SynonymAdmin
from search.admin.profiles import SearchProfileAdmin
from search.admin.rules import ClassRuleAdmin

__all__ = [
    "ClassRuleAdmin",
    "PinAdmin",
    "ProfileChangeAdmin",
    "SearchProfileAdmin",
    "SynonymAdmin",
]
