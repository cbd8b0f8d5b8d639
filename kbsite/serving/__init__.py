"""The ASGI layer: admission control, body limits, and responses during overload and outages."""
