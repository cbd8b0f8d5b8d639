"""What goes wrong with the embedded servers, in words for whoever runs Steelyard."""


class EmbeddedServersError(Exception):
    """An embedded server cannot run here; the message says why and what to do."""
