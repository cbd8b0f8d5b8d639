"""Tuning in the admin: profiles, workbench, golden queries, runs, publishing."""

from search.tuning.admin import golden, profiles, publications, runs

__all__ = ["golden", "profiles", "publications", "runs"]
