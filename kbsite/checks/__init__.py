"""System checks of settings, machine, database, people and production, each with id and hint."""

from kbsite.checks import database, deployment, machine, models, people

__all__ = ["database", "deployment", "machine", "models", "people"]
