"""The admin of search: classifier rules, synonyms, pins, hides; and the recorded searches."""

from search.admin.curated import HideAdmin, PinAdmin, SynonymAdmin
from search.admin.events import SearchEventAdmin
from search.admin.rules import ClassRuleAdmin

__all__ = ["ClassRuleAdmin", "HideAdmin", "PinAdmin", "SearchEventAdmin", "SynonymAdmin"]
