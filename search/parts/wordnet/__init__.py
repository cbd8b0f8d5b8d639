"""The part “wordnet”: synonyms and broader terms of a question's English words as a signal."""


def register() -> None:
    """Register the signal, and the adjustment of its weight."""
    from search.engine import adjust
    from search.parts.wordnet.signal import WORDNET, widen
    from search.signals import registry

    registry.register(WORDNET)
    adjust.register(widen, before=adjust.mark_foreign)
