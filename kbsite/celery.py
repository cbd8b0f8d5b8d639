"""The Celery application. Tasks live in each app's tasks.py.

Celery's own Django fixup closes the database connections and pools that a worker process
inherits from its parent, and those of each task when it ends.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import beat_init, celeryd_init

from kbsite import broker

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
broker.install()

app = Celery("steelyard")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@celeryd_init.connect
@beat_init.connect
def start_servers(**_signal: Any) -> None:
    """Starts the embedded servers before a worker or beat first asks for its broker."""
    from kbsite.servers import ensure_servers

    ensure_servers()
