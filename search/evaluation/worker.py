"""What a process of `loading` runs. Importable before Django is set up, as a new process is."""

from __future__ import annotations

import multiprocessing
import os
import threading


def start() -> None:
    """Sets up Django, once a process, and sees to it that none outlives the command."""
    import django

    threading.Thread(target=_end_with_parent, daemon=True).start()
    django.setup()


def advance(version: int) -> None:
    """Brings a version as far as it goes."""
    from ingestion import steps

    steps.advance(version)


def _end_with_parent() -> None:
    # A pool's processes wait for work for ever when the command is killed.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
