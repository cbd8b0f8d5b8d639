"""The functions of processes that load a corpus. A module of their own: it imports no models.

A spawned process imports the module of its initializer before Django is set up.
"""

from __future__ import annotations

import multiprocessing
import os
import threading


def start() -> None:
    """Set up Django, once a process, and exit with the parent."""
    import django

    threading.Thread(target=_end_with_parent, daemon=True).start()
    django.setup()


def advance(version: int) -> None:
    """Run every processing step of a version."""
    from ingestion.documents import steps

    steps.advance(version)


def _end_with_parent() -> None:
    # A pool's processes would wait for work for ever if the command is killed.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
