"""`manage.py demo`: set up and run a site with real documents."""

from __future__ import annotations

import signal
import socket
import sys
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from ingestion.management import PlainCommand
from kbsite.demo import documents, examples, site
from kbsite.demo.stop import alone
from kbsite.demo.supervisor import Supervisor
from kbsite.layout import MANAGE

FIRST_PORT = 8000
INTERRUPTED = 130  # the exit code of shells for a program ended by Ctrl-C


class Command(PlainCommand):
    help = "Run the whole site on this machine, with Django's documentation and sample files."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="Exit after the example searches.")
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument(
            "--port", type=int, help=f"Or the next free one. Default: {FIRST_PORT}."
        )
        parser.add_argument(
            "--corpus",
            choices=("all", "samples"),
            default="all",
            help="samples: only documents that need no download.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # A closed terminal and `kill` have the effect of Ctrl-C, which background jobs ignore.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)
        try:
            with alone(settings.VAR_DIR / "run"), site.servers_running():
                self._run(options)
        except KeyboardInterrupt:
            self._say("Stopped. The data is kept.")
            if options["once"]:
                sys.exit(INTERRUPTED)

    def _run(self, options: dict[str, Any]) -> None:
        site.migrate(self._say)
        site.collect_static(self._say)
        with self._listener(options["host"], options["port"]) as listener:
            url = _url(options["host"], listener.getsockname()[1])
            self._say("Starting the site")
            with Supervisor(
                site.site_programs(listener, options["host"]),
                run_dir=settings.VAR_DIR / "run",
                url=url,
                write=self._say,
                servers=site.embedded_servers(),
            ) as supervisor:
                self._use(supervisor, url, options)

    def _listener(self, host: str, requested: int | None) -> socket.socket:
        """The socket that the site listens at."""
        first_choice = requested or FIRST_PORT
        listener = site.listen(host, first_choice)
        port = listener.getsockname()[1]
        if port != first_choice:
            self._say(f"Port {first_choice} is taken, so this one is used: {port}")
        return listener

    def _use(self, supervisor: Supervisor, url: str, options: dict[str, Any]) -> None:
        """Load the documents, print the examples, then run until Ctrl-C unless told to exit."""
        # Nobody visits an address before it answers; the programs keep all cores busy meanwhile.
        examples.wait_until_up(url, supervisor.check, self._say)
        self._say(f"The site answers at {url}")
        password = site.make_administrator()
        # Printed now and at the end: after an interrupted first start it would be lost.
        self._show_addresses(url, password)
        received = documents.Uploads()
        documents.receive(documents.SAMPLES, documents.samples(), received)
        if options["corpus"] == "all":
            try:
                docs = documents.django_docs(settings.VAR_DIR / "demo", self._say)
                documents.receive(documents.DJANGO_DOCS, docs, received)
            except documents.DocsUnavailable as error:
                received.problems.append(f"Going on without Django's documentation. {error}")
        documents.wait(received, supervisor.check, self._say)
        examples.load_golden_queries(self._say)
        self._say("Three searches over the API:")
        received.problems += examples.run(url, self._say)
        for problem in received.problems:
            self._say(self.style.ERROR(problem))
        self._show_addresses(url, password)
        if not options["once"]:
            self._say("Ctrl-C ends it and keeps the data.")
            supervisor.wait()
        if received.problems:
            raise CommandError(f"{len(received.problems)} problem(s), named above.")

    def _show_addresses(self, url: str, password: str) -> None:
        password = password or "as shown at the first start"
        for line in (
            "",
            f"  Search   {url}/",
            f"  Admin    {url}/admin/   user {site.ADMINISTRATOR}, password {password}",
            f"           a new one: {MANAGE} changepassword {site.ADMINISTRATOR}",
            f"  API      {url}/api/docs/",
            "",
        ):
            self._say(line)

    def _say(self, line: str) -> None:
        # Print around the progress bar; a closed terminal must not prevent the end.
        with suppress(OSError):
            tqdm.write(line)
            sys.stdout.flush()


def _url(host: str, port: int) -> str:
    """The address to visit; a wildcard host is reached at this machine's own."""
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104 -- compared, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
