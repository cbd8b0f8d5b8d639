"""`make stop`: stop the demo and the embedded servers, without the settings.

A value in .env that keeps the site from starting must not keep it from stopping.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import environ

from kbsite.embedded import EmbeddedServers
from kbsite.supervisor import stop_running

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Stop what runs in the var directory of the environment or of .env."""
    environ.Env.read_env(os.environ.get("STEELYARD_ENV_FILE", ROOT / ".env"))
    var = Path(os.environ.get("STEELYARD_VAR") or ROOT / "var").resolve()
    if stop_running(var / "run"):
        sys.stdout.write("The demo is stopped.\n")
    EmbeddedServers(var).stop()
    sys.stdout.write("Nothing runs any more. The data is kept.\n")


if __name__ == "__main__":
    main()
