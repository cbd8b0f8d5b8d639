"""Loaded before the settings: the tests run on servers and files of their own, never on yours."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

# Nothing of what is imported and collected is garbage; see pytest_collection_finish.
gc.disable()
# An environment may forbid bytecode, as images of containers often do. The tests start Python
# many times, and pytest rewrites the assertions of every file: half of the time of the collection.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_OWN = Path(tempfile.mkdtemp(prefix="steelyard-tests-"))
_MODELS = Path(__file__).resolve().parent.parent / "var" / "models"

for name in ("DATABASE_URL", "REDIS_URL", "OPENAI_API_KEY", "EMBEDDER", "HTTPS", "DEBUG"):
    os.environ.pop(name, None)
os.environ.setdefault("MIGRATED_DATABASE", str(_OWN / "migrated.sql"))  # workers inherit it
os.environ |= {
    "STEELYARD_ENV_FILE": os.devnull,  # not the checkout's .env, here and in child processes
    "STEELYARD_VAR": str(_OWN),
    # The model is a build product of pinned packages: made once, kept with the project's own.
    "MODELS_DIR": os.environ.get("MODELS_DIR", str(_MODELS)),
    "DATABASE_POOL": "0",
    "DJANGO_ALLOW_ASYNC_UNSAFE": "true",
    "THROTTLE": ",".join(
        f"{name}=100000/min"
        for name in ("anonymous", "user", "answers_anonymous", "answers_user", "suggestions")
    ),
    "SIGN_IN_FAILURES": "100000",
    # A machine that runs several tests at once may load the model for longer than readers wait.
    "QUERY_EMBEDDING_TIMEOUT": "60",
}


def pytest_configure() -> None:
    from django.conf import settings

    # Real hashing takes a tenth of a second on purpose; the tests log in hundreds of times.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # Addresses of static files without the manifest that `collectstatic` writes on a server. Not by
    # a fixture: a request of a closed page that ends between two tests would bring it back.
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}
    # WhiteNoise looks into it when a live server starts, before any test does.
    Path(settings.STATIC_ROOT).mkdir(exist_ok=True)


# The longest files by --durations: begun first, so that none still runs when all else is done. Some
# after the first need no test database while its worker makes it for all: two in a run of all, the
# unit tests where only those of tests/unit and tests/postgres run.
SLOW = (
    "tests/web/test_visibility.py", "tests/upgrades/test_upgrade.py", "tests/faults/test_demo.py",
    "tests/postgres/test_export_server.py", "tests/unit/test_house.py", "tests/unit/parsing",
    "tests/faults/test_killed.py",
    "tests/faults/test_space_change.py", "tests/web/test_api_fuzz.py", "tests/faults",
    "tests/relevance", "tests/postgres/test_optional_parts.py", "tests/web/test_admin_analytics.py",
    "tests/postgres/test_seed_cases.py",
    "tests/web/browser/test_admin_browser.py", "tests/web/browser/test_axe_browser.py",
    "tests/web/browser/test_search_browser.py", "tests/web/browser/test_tutorial_browser.py",
    "tests/web/browser/test_results_browser.py", "tests/web/browser/test_readers_browser.py",
    "tests/web/browser/test_workbench_browser.py",
)  # fmt: skip


def _place(item: pytest.Item) -> tuple[bool, int]:
    """Whether the item has a browser, and where its file stands in SLOW or after all of them.

    Those with a browser come last: Playwright leaves an event loop running in this thread, beside
    which `asyncio.run` and `async_to_sync` refuse to work.
    """
    name = item.nodeid
    place = next((i for i, path in enumerate(SLOW) if name.startswith(path)), len(SLOW))
    return name.startswith("tests/web/browser"), place


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_place)


def pytest_runtest_setup(item: pytest.Item) -> None:
    from tests.support.programs import require

    for mark in item.iter_markers("needs"):
        require(*mark.args)


def pytest_collection_finish() -> None:
    # What was imported lives as long as the tests: to look through it again and again for garbage
    # took a tenth of their time.
    gc.freeze()
    gc.set_threshold(100_000, 10, 20)
    gc.enable()


def pytest_sessionfinish() -> None:
    from kbsite.embedded import EmbeddedServers

    EmbeddedServers(_OWN).stop()
    shutil.rmtree(_OWN, ignore_errors=True)
