"""Scheduled quality runs and their alerts."""
