#!/usr/bin/env python
"""Steelyard's command line."""

from __future__ import annotations

import os
import sys

# These must work on a machine whose servers are down.
WITHOUT_SERVERS = {
    "services",
    "check",
    "doctor",
    "metrics",
    "makemigrations",
    "collectstatic",
    "spectacular",
    "help",
}
# This one starts them itself: it stops at its end what did not run before.
WITHOUT_SERVERS |= {"demo"}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kbsite.settings")
    from django.core.management import execute_from_command_line

    command = sys.argv[1] if len(sys.argv) > 1 else "help"
    if command not in WITHOUT_SERVERS and "--help" not in sys.argv:
        from kbsite.embedded import ensure_servers

        ensure_servers()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    from django.core.exceptions import ImproperlyConfigured
    from django.db import ProgrammingError

    try:
        main()
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
