"""Where files lie: beside the packages in a checkout, inside of `kbsite` in an installed wheel.

Independent of Django: read before the settings, and where they cannot be loaded.
"""

from __future__ import annotations

import os
from pathlib import Path

# The folder of the packages: the checkout, or site-packages.
BASE_DIR = Path(__file__).resolve().parents[1]
# pyproject.toml puts it into the wheel.
_PACKED = BASE_DIR / "kbsite" / "resources"
IS_WHEEL = _PACKED.is_dir()
# Templates, static files, catalogues, and what an exported server takes along.
RESOURCES_DIR = _PACKED if IS_WHEEL else BASE_DIR
# The folder of .env and var/: a wheel's is the caller's, since site-packages belongs to pip.
SITE_DIR = Path.cwd() if IS_WHEEL else BASE_DIR
ENV_FILE = Path(os.environ.get("STEELYARD_ENV_FILE") or SITE_DIR / ".env")
# What a message tells a reader to enter.
MANAGE = "steelyard manage" if IS_WHEEL else ".venv/bin/python manage.py"
STOP = "steelyard stop" if IS_WHEEL else "make stop"


def var_dir() -> Path:
    """The site's folder of data; after the variables of ENV_FILE have been read."""
    return Path(os.environ.get("STEELYARD_VAR") or SITE_DIR / "var").resolve()
