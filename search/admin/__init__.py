"""W1: search in the admin: profiles with their weights, classifier rules, the audit."""

from search.admin.changes import ProfileChangeAdmin
from search.admin.profiles import SearchProfileAdmin
from search.admin.rules import ClassRuleAdmin

__all__ = ["ClassRuleAdmin", "ProfileChangeAdmin", "SearchProfileAdmin"]
