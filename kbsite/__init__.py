"""Wiring: settings, servers, URLs, Celery."""

from kbsite.celery import app as celery_app

__all__ = ["celery_app"]
