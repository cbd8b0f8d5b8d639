"""The processes that load a judged collection."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from search.tuning.evaluation.processes import start


def models_ready() -> bool:
    from django.apps import apps

    return apps.models_ready


@pytest.mark.forks
def test_a_spawned_process_sets_up_django() -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=start) as pool:
        assert pool.submit(models_ready).result()
