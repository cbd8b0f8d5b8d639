"""Tuning in the admin: profiles, workbench, golden queries, runs, publishing, pins, synonyms."""

from search.tuning.admin import gate_and_audit, golden, pins_synonyms_and_rules, profiles, runs

__all__ = ["gate_and_audit", "golden", "pins_synonyms_and_rules", "profiles", "runs"]
