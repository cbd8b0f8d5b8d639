"""W1: search in the admin: classifier rules, synonyms, pins, hides; and what people asked."""

from search.admin.curated import HideAdmin, PinAdmin, SynonymAdmin
from search.admin.events import SearchEventAdmin
from search.admin.rules import ClassRuleAdmin

__all__ = ["ClassRuleAdmin", "HideAdmin", "PinAdmin", "SearchEventAdmin", "SynonymAdmin"]
