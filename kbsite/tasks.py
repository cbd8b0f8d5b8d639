"""Background tasks of accounts and the audit trail. Idempotent."""

from __future__ import annotations

from celery import shared_task
from django.contrib.sessions.backends.db import SessionStore

from common.accounts import app_grants, claims, quotas
from common.audit import trail


@shared_task
def refresh_sign_on() -> None:
    """Ask sign-on providers again about the people whose claims are due."""
    claims.refresh_all()


@shared_task
def forget_usage() -> None:
    """Delete what people used in earlier months, and OAuth's tokens that have expired."""
    quotas.forget()
    app_grants.forget()


@shared_task
def forget_sessions() -> None:
    """Delete the sessions that have expired; nobody can sign in with them anyway."""
    SessionStore.clear_expired()


@shared_task
def forget_events() -> None:
    """Delete audit events older than AUDIT_DAYS."""
    trail.forget()
