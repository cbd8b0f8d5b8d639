"""What an operator sees (docs/monitoring.md): wires the site to `common.observing`.

logs              the configuration of logging: lines or JSON, with the ids of the work
instrumentation   ids, metrics and spans of requests and of background tasks; OpenTelemetry
endpoints         /health/, and /metrics: what all processes counted, the gauges of the probes
"""
