"""What an operator sees (docs/monitoring.md): wires the site to `common.observing`.

logs       the configuration of logging: lines or JSON, with the ids of the work
requests   ids, metrics and spans of requests
tasks      the same of background tasks, which continue what enqueued them
endpoint   /metrics: what all processes counted, and the gauges of the probes
traces     the OpenTelemetry SDK, where it is installed and set up
"""
