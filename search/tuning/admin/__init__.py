"""Tuning in the admin: profiles, workbench, golden queries, runs, publishing."""

from search.tuning.admin import golden, optimisations, profiles, publications, runs

__all__ = ["golden", "optimisations", "profiles", "publications", "runs"]
