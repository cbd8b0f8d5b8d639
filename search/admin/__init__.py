"""The admin of search: rules, synonyms, pins, hides, scopes; and the recorded searches."""

from search.admin.curated import ClassRuleAdmin, HideAdmin, PinAdmin, SynonymAdmin
from search.admin.scopes import ScopeProfileAdmin
from search.admin.searches import SearchEventAdmin

__all__ = [
    "ClassRuleAdmin",
    "HideAdmin",
    "PinAdmin",
    "ScopeProfileAdmin",
    "SearchEventAdmin",
    "SynonymAdmin",
]
