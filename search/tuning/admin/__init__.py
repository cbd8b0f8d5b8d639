"""Tuning in the admin: profiles, workbench, golden queries, runs, publishing."""

from search.tuning.admin import gate_and_audit, golden, profiles, runs

__all__ = ["golden", "profiles", "publications", "runs"]
