"""What an operator sees: metrics, logs, request ids, traces (docs/monitoring.md)."""

from __future__ import annotations

from pathlib import Path

from common.observing import processes
from kbsite.operations.monitoring.logs import logging_of
from kbsite.settings.environment import VAR_DIR, env

# --- metrics ---
# Whoever sends this as a bearer token may read /metrics; empty: nobody, the address does not exist.
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
# The folder of the counts of all processes of this machine: not shared with other machines.
METRICS_DIR = Path(env.str("METRICS_DIR", default=str(VAR_DIR / "metrics"))).resolve()
METRICS_SHARED = processes.keep_in(METRICS_DIR)

# --- logs ---
LOG_LEVEL = env.str("LOG_LEVEL", default="INFO")
# line: for people; json: an object a line, for programs.
LOG_FORMAT = env.str("LOG_FORMAT", default="line")
LOGGING = logging_of(LOG_FORMAT, LOG_LEVEL)

# --- traces and errors ---
# The collector that traces are sent to (OTLP over HTTP); empty: none are made. The SDK reads its
# other standard variables (OTEL_*) itself.
OTEL_ENDPOINT = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", default="")
