"""Steelyard's command line: `manage.py COMMAND` in a checkout, `steelyard` of a wheel."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from kbsite.layout import SITE_DIR

# These must work on a machine whose servers are down.
WITHOUT_SERVERS = {
    "services",
    "check",
    "doctor",
    "makemigrations",
    "collectstatic",
    "spectacular",
    "help",
}
# This one starts them itself: it stops at its end what did not run before.
WITHOUT_SERVERS |= {"demo"}
USAGE = f"""\
steelyard demo [--once]        the whole site with documents in it, at http://127.0.0.1:8000
steelyard gate FILE            ask a site the golden queries of a file; 1 if it ranks worse
steelyard stop                 stop the demo and the embedded servers; the data stays
steelyard manage COMMAND       any command of Steelyard or Django; `manage help` lists them

Settings are read from .env, and data is kept in var/, of the folder in which it is started
(now {SITE_DIR}); STEELYARD_ENV_FILE and STEELYARD_VAR name others.
"""


def main() -> None:
    """Run `steelyard` with the arguments of this process."""
    match sys.argv[1:]:
        case ["demo", *rest]:
            manage(["steelyard", "demo", *rest])
        case ["manage", *rest]:
            manage(["steelyard manage", *rest])
        case ["gate", *rest]:
            manage(["steelyard", "evaluate", "--gate", *rest])
        case ["stop"]:
            from kbsite.demo.stop import main as stop

            stop()
        case [] | ["help" | "--help" | "-h"]:
            sys.stdout.write(USAGE)
        case _:
            sys.exit(USAGE)


def manage(arguments: Sequence[str]) -> None:
    """Run a command of Django's; the first argument is the name of the program."""
    from django.core.exceptions import ImproperlyConfigured
    from django.db import ProgrammingError

    try:
        _execute(list(arguments))
        sys.stdout.flush()
    except ImproperlyConfigured as error:
        sys.exit(f"Steelyard cannot start: {error}")
    except ProgrammingError as error:
        from kbsite.operations.probes.database import lacks_vector

        if not lacks_vector(error):
            raise
        # Only trying it tells: providers let other roles than superusers add it.
        sys.exit(f"{error}\nConnect to this database as a superuser: CREATE EXTENSION vector")
    except KeyboardInterrupt:
        sys.exit(130)  # as a shell reports a program that Ctrl-C ended
    except BrokenPipeError:
        # `manage.py X | head`: nobody reads on. What is still buffered must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)  # as a shell reports a program that SIGPIPE ended


def _execute(arguments: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
    from django.core.management import execute_from_command_line

    command = arguments[1] if len(arguments) > 1 else "help"
    elsewhere = any(each.partition("=")[0] == "--site" for each in arguments)
    if command not in WITHOUT_SERVERS and "--help" not in arguments and not elsewhere:
        from kbsite.embedded import ensure_servers

        ensure_servers()
    execute_from_command_line(arguments)
