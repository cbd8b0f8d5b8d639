"""The part “wordnet”: synonyms and broader terms of a question's English words as a signal."""


def register() -> None:
    """Register the signal."""
    from search.parts.wordnet.signal import WORDNET
    from search.signals import registry

    registry.register(WORDNET)
