"""The part “concepts”: the characteristic phrases of documents as a signal."""


def register() -> None:
    """Register the signal."""
    from search.parts.concepts.signal import CONCEPTS
    from search.signals import registry

    registry.register(CONCEPTS)
