"""The ASGI layer: admission control, body limits, refusals, and responses during an outage."""
