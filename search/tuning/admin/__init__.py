"""Tuning in the admin: profiles, workbench, golden queries, runs, publishing, pins, synonyms."""

from search.tuning.admin import curation, gate, golden, profiles, runs

__all__ = ["curation", "gate", "golden", "profiles", "runs"]
