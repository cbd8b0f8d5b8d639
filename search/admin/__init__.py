"""The admin of search: rules, synonyms, pins, hides; and the recorded searches."""

from search.admin.curated import ClassRuleAdmin, HideAdmin, PinAdmin, SynonymAdmin
from search.admin.searches import SearchEventAdmin

__all__ = [
    "ClassRuleAdmin",
    "HideAdmin",
    "PinAdmin",
    "SearchEventAdmin",
    "SynonymAdmin",
]
