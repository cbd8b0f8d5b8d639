"""System checks of settings, machine, database, people and production: each has an id and a hint."""

from kbsite.checks import database, deployment, machine, models, people

__all__ = ["database", "deployment", "machine", "models", "people"]
