"""Tuning in the admin: profiles, workbench, golden queries, runs, publishing, pins, synonyms."""

from search.tuning.admin import audit, curation, gate, golden, profiles, runs, scopes

__all__ = ["audit", "curation", "gate", "golden", "profiles", "runs", "scopes"]
