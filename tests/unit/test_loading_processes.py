"""What a process of the site loads; what is loaded is no garbage."""

from __future__ import annotations

import gc
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

import django
import pytest


def models_ready() -> bool:
    from django.apps import apps

    return apps.models_ready


def collects_garbage_but_of_what_was_loaded() -> bool:
    return gc.isenabled() and gc.get_freeze_count() > 10_000


@pytest.mark.forks
def test_a_spawned_process_sets_up_django() -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=django.setup) as pool:
        assert pool.submit(models_ready).result()
        assert pool.submit(collects_garbage_but_of_what_was_loaded).result()
        assert pool.submit(loaded_with_views_and_tasks).result() & {"openai", "scipy"} == set()


def loaded_with_views_and_tasks() -> set[str]:
    """What a process of the web server and one of a worker have loaded when they begin.

    The openai package and SciPy take half a second each, and are needed by few of them.
    """
    import kbsite.urls  # noqa: F401
    from kbsite.celery import app

    app.loader.import_default_modules()
    return set(sys.modules)
