"""`manage.py metrics`: the metrics of this machine, where no web server runs."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from prometheus_client import CollectorRegistry, start_http_server

from kbsite.operations.endpoints import SharedProcesses, exposition


class Command(BaseCommand):
    help = (
        "Print the metrics of all processes of this machine, or serve those that they count to "
        "Prometheus. The gauges of the whole site come from the web server's /metrics alone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--listen",
            metavar="ADDRESS:PORT",
            help="Serve until Ctrl-C, such as on 127.0.0.1:9108. There is no token: choose an "
            "address that only Prometheus reaches.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["listen"]:
            self.stdout.write(exposition().decode(), ending="")
            return
        address, _, port = options["listen"].rpartition(":")
        if not address or not port.isdigit():
            raise CommandError("--listen takes an address and a port: 127.0.0.1:9108")
        registry = CollectorRegistry()
        registry.register(SharedProcesses())
        _, thread = start_http_server(int(port), address.strip("[]"), registry=registry)
        self.stdout.write(f"Metrics at http://{address}:{port}/metrics; Ctrl-C ends.")
        thread.join()
